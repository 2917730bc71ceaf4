#pragma once
// Exchanges by a message for each pair of ranks, which both of them take part in.

#include <memory>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

std::unique_ptr<Communicator> send_receive(Communicator& base);

}  // namespace lemma::plans
