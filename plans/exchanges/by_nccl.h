#pragma once
// Exchanges of ranks with NVIDIA devices, by NCCL. Tensors of devices stay there; others are copied to the device and back.
// Not run with several devices.

#include <filesystem>
#include <memory>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

/// All ranks call it. An error (`unsupported`): there is no module, no device, or NCCL refuses.
Result<std::unique_ptr<Communicator>> by_nccl(Communicator& base,
                                              const std::filesystem::path& module);

}  // namespace lemma::plans
