#pragma once
// The ways in which ranks exchange tensors, over the ranks that a launcher or threads have made. All give the same bytes.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

enum class ExchangeKind {
  collectives,   // of MPI, or meetings of threads
  one_sided,     // tensors are put into registered memory, with a flag behind them
  send_receive,  // a message for each pair of ranks
  remote_calls,  // tensors are serialized, and asked for by calls over sockets
  nccl,          // by NCCL, between NVIDIA devices
};

/// Names for the command line, in the order of the kinds.
const std::vector<std::string>& exchange_names();
std::optional<ExchangeKind> exchange_of_name(std::string_view name);

/// All ranks call it. The base lives longer; calls go to what is returned, or all to the base where there is nothing.
/// `nccl_module`: the shared library for that kind.
Result<std::unique_ptr<Communicator>> exchanging_by(ExchangeKind kind, Communicator& base,
                                                    const std::filesystem::path& nccl_module = {});

}  // namespace lemma::plans
