// Each function of ptx.cuh on a device: a line for each, "passed NAME" or "FAILED NAME: why". Exit code 0 if all passed, 1 if
// not, 2 if a call fails.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "device_calls.cuh"
#include "run_time.cuh"

namespace {

constexpr unsigned blocks = 8, threads = 64, rounds = 1000;

struct Message {
  std::uint64_t number;
  std::uint32_t contents[threads];
};

/// Block 0 writes a message in each round, the others read it, and it waits for them before the next one. A reader that
/// sees an older element than the number says counts a fault.
__global__ void pass_messages(Message* message, std::uint64_t* answers, std::uint64_t* faults) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    if (blockIdx.x == 0) {
      message->contents[threadIdx.x] = static_cast<std::uint32_t>(round * 7 + threadIdx.x);
      __syncthreads();
      if (threadIdx.x == 0) {
        ptx::add_release(&message->number, 1);
        while (ptx::load_acquire(answers) < round * (blocks - 1)) ptx::pause();
      }
      __syncthreads();
    } else {
      wait_for(&message->number, round);
      if (message->contents[threads - 1 - threadIdx.x] != round * 7 + threads - 1 - threadIdx.x)
        ptx::add_release(faults, 1);
      __syncthreads();
      if (threadIdx.x == 0) ptx::add_release(answers, 1);
    }
  }
}

/// What each lane gets from its partner, for all distances.
template <typename T>
__global__ void exchange(T* results) {
  for (unsigned distance = 1, i = 0; distance < warp_size; distance *= 2, ++i)
    results[i * threads + threadIdx.x] =
        ptx::from_lane_xor(static_cast<T>(threadIdx.x + 1), distance);
}

__global__ void write_shared(std::uint64_t* results, unsigned bytes) {
  unsigned char* const memory = ptx::shared_memory();
  if (threadIdx.x == 0) results[0] = reinterpret_cast<std::uintptr_t>(memory) % 128;
  for (unsigned i = threadIdx.x; i < bytes; i += threads)
    memory[i] = static_cast<unsigned char>(i * 31);
  __syncthreads();
  std::uint64_t wrong = 0;
  for (unsigned i = 0; i < bytes; ++i) wrong += memory[i] != static_cast<unsigned char>(i * 31);
  results[1 + threadIdx.x] = wrong;
}

template <typename T>
struct DeviceArray {
  explicit DeviceArray(std::size_t size) : count(size) {
    check(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(T)), "cudaMalloc");
    check(cudaMemset(data, 0, count * sizeof(T)), "cudaMemset");
  }
  std::vector<T> on_host() const {
    std::vector<T> result(count);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check(cudaMemcpy(result.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return result;
  }
  T* data = nullptr;
  std::size_t count;
};

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), unsigned grid, unsigned shared_bytes,
            Arguments... arguments) {
  void* parameters[] = {&arguments...};
  check(cudaLaunchCooperativeKernel(kernel, dim3(grid), dim3(threads), parameters, shared_bytes,
                                    nullptr),
        "cudaLaunchCooperativeKernel");
}

bool all_passed = true;
void report(const char* name, const std::string& fault) {
  if (fault.empty())
    std::printf("passed %s\n", name);
  else
    std::printf("FAILED %s: %s\n", name, fault.c_str());
  all_passed = all_passed && fault.empty();
}

void check_messages() {
  const DeviceArray<Message> message(1);
  const DeviceArray<std::uint64_t> answers(1), faults(1);
  launch(pass_messages, blocks, 0, message.data, answers.data, faults.data);
  const std::uint64_t found = faults.on_host()[0], answered = answers.on_host()[0];
  const std::string order =
      found == 0 ? "" : std::to_string(found) + " elements were older than their number";
  report("load_acquire", order);
  report("add_release",
         answered == std::uint64_t{rounds} * (blocks - 1) ? order : "answers were lost");
  report("pause", "");  // the rounds have ended
}

template <typename T>
std::string exchange_fault() {
  constexpr unsigned distances = 5;
  const DeviceArray<T> results(distances * threads);
  launch(exchange<T>, 1, 0, results.data);
  const std::vector<T> found = results.on_host();
  for (unsigned i = 0; i < distances; ++i)
    for (unsigned lane = 0; lane < threads; ++lane)
      if (found[i * threads + lane] != static_cast<T>((lane ^ (1U << i)) + 1))
        return std::to_string(sizeof(T)) + " bytes, lane " + std::to_string(lane) + ", distance " +
               std::to_string(1U << i);
  return "";
}

void check_exchange() {
  std::string fault;
  for (const std::string& each : {exchange_fault<std::uint8_t>(), exchange_fault<std::int16_t>(),
                                  exchange_fault<std::int32_t>(), exchange_fault<float>(),
                                  exchange_fault<std::int64_t>(), exchange_fault<double>()})
    if (fault.empty()) fault = each;
  report("from_lane_xor", fault);
}

void check_shared_memory() {
  constexpr unsigned bytes = 40000;
  const DeviceArray<std::uint64_t> results(1 + threads);
  launch(write_shared, 1, bytes, results.data, bytes);
  std::string fault;
  const std::vector<std::uint64_t> found = results.on_host();
  if (found[0] != 0) fault = "it is not aligned";
  for (unsigned i = 1; i <= threads; ++i)
    if (found[i] != 0) fault = "bytes are not what was written";
  report("shared_memory", fault);
}

}  // namespace

int main() {
  check_messages();
  check_exchange();
  check_shared_memory();
  return all_passed ? 0 : 1;
}
