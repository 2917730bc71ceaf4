// The module by which ranks with NVIDIA devices exchange tensors through NCCL. It has not been run with several devices.

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "plans/exchanges/nccl/interface.h"

namespace {

namespace nccl = lemma::plans::nccl;

static_assert(nccl::id_bytes == NCCL_UNIQUE_ID_BYTES);

struct State {
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
};

int say(const char* reason, char* text, std::size_t size) {
  std::snprintf(text, size, "%s", reason);
  return 1;
}
int checked(cudaError_t code, char* text, std::size_t size) {
  return code == cudaSuccess ? 0 : say(cudaGetErrorString(code), text, size);
}
int checked(ncclResult_t code, char* text, std::size_t size) {
  return code == ncclSuccess ? 0 : say(ncclGetErrorString(code), text, size);
}

bool is_on_device(const void* memory) {
  cudaPointerAttributes attributes{};
  return cudaPointerGetAttributes(&attributes, memory) == cudaSuccess &&
         attributes.type == cudaMemoryTypeDevice;
}

/// Memory of the device for bytes that lie there already, or are on the host.
class OnDevice {
 public:
  OnDevice(const std::byte* memory, std::size_t bytes) : given_(memory), bytes_(bytes) {
    if (bytes == 0 || is_on_device(memory)) return;
    if (cudaMalloc(&own_, bytes) != cudaSuccess) own_ = nullptr;
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  OnDevice(OnDevice&& other) noexcept
      : given_(other.given_), own_(other.own_), bytes_(other.bytes_) {
    other.own_ = nullptr;
  }
  ~OnDevice() {
    if (own_ != nullptr) cudaFree(own_);
  }

  void* memory() const { return own_ != nullptr ? own_ : const_cast<std::byte*>(given_); }
  cudaError_t fill(cudaStream_t stream) const {
    return own_ == nullptr ? cudaSuccess
                           : cudaMemcpyAsync(own_, given_, bytes_, cudaMemcpyHostToDevice, stream);
  }
  cudaError_t fetch(std::byte* into, cudaStream_t stream) const {
    return own_ == nullptr ? cudaSuccess
                           : cudaMemcpyAsync(into, own_, bytes_, cudaMemcpyDeviceToHost, stream);
  }

 private:
  const std::byte* given_;
  void* own_ = nullptr;
  std::size_t bytes_;
};

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names that are looked up.
extern "C" __attribute__((visibility("default"))) int lemma_nccl_make_id(char* id, char* reason,
                                                                         std::size_t size) {
  ncclUniqueId made;
  if (checked(ncclGetUniqueId(&made), reason, size) != 0) return 1;
  std::memcpy(id, made.internal, sizeof made.internal);
  return 0;
}

extern "C" __attribute__((visibility("default"))) int lemma_nccl_connect(const char* id, int rank,
                                                                         int ranks, void** state,
                                                                         char* reason,
                                                                         std::size_t size) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    return say("no CUDA device was found", reason, size);
  ncclUniqueId given;
  std::memcpy(given.internal, id, sizeof given.internal);
  auto* const made = new State;
  *state = made;
  if (checked(cudaSetDevice(rank % devices), reason, size) != 0) return 1;
  if (checked(cudaStreamCreate(&made->stream), reason, size) != 0) return 1;
  return checked(ncclCommInitRank(&made->communicator, ranks, given, rank), reason, size);
}

extern "C" __attribute__((visibility("default"))) int lemma_nccl_exchange(
    void* state, const nccl::Transfer* transfers, std::size_t count, char* reason,
    std::size_t size) {
  const State& own = *static_cast<State*>(state);
  std::vector<OnDevice> sent, received;
  for (std::size_t i = 0; i < count; ++i) {
    sent.emplace_back(transfers[i].sent, transfers[i].sent_bytes);
    received.emplace_back(transfers[i].received, transfers[i].received_bytes);
    if (checked(sent.back().fill(own.stream), reason, size) != 0) return 1;
  }
  ncclGroupStart();
  ncclResult_t code = ncclSuccess;
  for (std::size_t i = 0; i < count && code == ncclSuccess; ++i) {
    const nccl::Transfer& transfer = transfers[i];
    if (transfer.sent_bytes > 0)
      code = ncclSend(sent[i].memory(), transfer.sent_bytes, ncclInt8, transfer.rank,
                      own.communicator, own.stream);
    if (transfer.received_bytes > 0 && code == ncclSuccess)
      code = ncclRecv(received[i].memory(), transfer.received_bytes, ncclInt8, transfer.rank,
                      own.communicator, own.stream);
  }
  const ncclResult_t ended = ncclGroupEnd();
  if (checked(code != ncclSuccess ? code : ended, reason, size) != 0) return 1;
  for (std::size_t i = 0; i < count; ++i)
    if (checked(received[i].fetch(transfers[i].received, own.stream), reason, size) != 0) return 1;
  return checked(cudaStreamSynchronize(own.stream), reason, size);
}

extern "C" __attribute__((visibility("default"))) void lemma_nccl_end(void* state) {
  auto* const own = static_cast<State*>(state);
  if (own->communicator != nullptr) ncclCommDestroy(own->communicator);
  if (own->stream != nullptr) cudaStreamDestroy(own->stream);
  delete own;
}
// NOLINTEND(readability-identifier-naming)
