#pragma once
// Exchanges by remote calls, as parameter servers have them: the receiver asks for a tensor over a socket, and the sender answers
// with a serialized message (protobuf's TensorProto). What the other ways are compared with.

#include <memory>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// All ranks call it. An error: they cannot connect.
Result<std::unique_ptr<Communicator>> remote_calls(Communicator& base);

}  // namespace lemma::plans
