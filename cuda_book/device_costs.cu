// What steps of a schedule cost on a device, for its description: device_costs [MEGABYTES] [ROUNDS]
// A line for each figure, "NAME SECONDS", and for each copy "copy PLACE BYTES_OF_A_LOAD THREADS BYTES_PER_SECOND". Seconds of a
// round are the difference between many rounds and half as many, so that starting a launch does not count. Exit code 2 if a call
// fails, or where the clock of the host is too coarse.

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "device_calls.cuh"
#include "run_time.cuh"

namespace {

constexpr unsigned repetitions = 5;
constexpr std::size_t words_of_counter = 16;  // as far from each other as those of a schedule
constexpr unsigned floats_of_line = 32;       // a line of the cache that all multiprocessors share

__global__ void do_nothing() {}

/// Two blocks answer each other: two hops a round.
__global__ void exchange_signals(std::uint64_t* counters, unsigned rounds) {
  if (threadIdx.x != 0) return;
  std::uint64_t* const own = counters + words_of_counter * blockIdx.x;
  std::uint64_t* const other = counters + words_of_counter * (1 - blockIdx.x);
  for (unsigned round = 1; round <= rounds; ++round) {
    if (blockIdx.x == 0) ptx::add_release(other, 1);
    wait_for(own, round);
    if (blockIdx.x == 1) ptx::add_release(other, 1);
  }
}

/// The same, where each block has read lines that the other one wrote, and written its own, before it answers.
__global__ void exchange_lines(std::uint64_t* counters, float* lines, unsigned count,
                               unsigned rounds) {
  std::uint64_t* const own = counters + words_of_counter * blockIdx.x;
  std::uint64_t* const other = counters + words_of_counter * (1 - blockIdx.x);
  float* const to = lines + std::size_t{blockIdx.x} * count * floats_of_line;
  const float* const from = lines + std::size_t{1 - blockIdx.x} * count * floats_of_line;
  for (unsigned round = 1; round <= rounds; ++round) {
    if (threadIdx.x == 0) {
      if (blockIdx.x == 0) ptx::add_release(other, 1);
      wait_for(own, round);
    }
    __syncthreads();
    for (unsigned line = 0; line < count; ++line) {
      const std::size_t place = std::size_t{line} * floats_of_line + threadIdx.x;
      to[place] = from[place] + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0 && blockIdx.x == 1) ptx::add_release(other, 1);
  }
}

/// All blocks wait for each other.
__global__ void meet(std::uint64_t* counter, unsigned rounds, unsigned blocks) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::add_release(counter, 1);
      wait_for(counter, round * blocks);
    }
    __syncthreads();
  }
}

/// What a step of a schedule does around its task: addresses in shared memory, barriers, a signal that nobody waits for.
__global__ void do_empty_steps(std::uint64_t* counters, const std::uint64_t* addresses,
                               unsigned rounds) {
  auto* const shared = reinterpret_cast<std::uint64_t*>(ptx::shared_memory());
  for (unsigned round = 0; round < rounds; ++round) {
    if (threadIdx.x < 4) shared[threadIdx.x] = addresses[(round + threadIdx.x) % words_of_counter];
    __syncthreads();
    if (shared[round % 4] == ~std::uint64_t{0}) ptx::trap();
    __syncthreads();
    if (threadIdx.x == 0) ptx::add_release(counters + words_of_counter * blockIdx.x, 1);
  }
}

/// So many elements side by side, four loads on their way.
template <unsigned width>
__global__ void copy_words(const float* from, float* to, std::size_t count, unsigned all_threads,
                           unsigned threads, unsigned rounds) {
  constexpr unsigned loads = 4;
  const std::size_t first = std::size_t{blockIdx.x} * threads + threadIdx.x;
  for (unsigned round = 0; round < rounds; ++round)
    for (std::size_t i = first; i < count / width; i += std::size_t{loads} * all_threads) {
      ptx::Together<float, width> words[loads];
      for (unsigned load = 0; load < loads; ++load)
        if (i + std::size_t{load} * all_threads < count / width)
          words[load] =
              ptx::load_together<width>(from + width * (i + std::size_t{load} * all_threads));
      for (unsigned load = 0; load < loads; ++load)
        if (i + std::size_t{load} * all_threads < count / width)
          ptx::store_together(to + width * (i + std::size_t{load} * all_threads), words[load]);
    }
}

/// The least time of a launch with so many rounds, as the host sees it.
template <typename Launch>
double least_seconds(const Launch& launch, unsigned rounds) {
  double least = HUGE_VAL;
  for (unsigned i = 0; i <= repetitions; ++i) {
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const auto begin = std::chrono::steady_clock::now();
    launch(rounds);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    if (i > 0) least = std::min(least, taken.count());  // the first launch loads the kernel
  }
  return least;
}

/// Of one round.
template <typename Launch>
double seconds_of_round(const char* what, const Launch& launch, unsigned rounds) {
  const unsigned half = std::max(1U, rounds / 2);
  for (unsigned tries = 0; tries < 3; ++tries) {
    const double seconds = (least_seconds(launch, 2 * half) - least_seconds(launch, half)) / half;
    if (seconds > 0) return seconds;
  }
  give_up(std::string(what) + ": more rounds take no longer");
}

void print(const char* name, double seconds) {
  std::printf("%s %.4g\n", name, seconds);
  std::fflush(stdout);
}

unsigned char* allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes), "cudaMalloc");
  check(cudaMemset(memory, 0, bytes), "cudaMemset");
  return static_cast<unsigned char*>(memory);
}

struct Device {
  unsigned multiprocessors;
  std::uint64_t* counters;  // one for each multiprocessor, and one more
};

/// A cooperative launch, whose counters begin at 0.
template <typename Kernel>
void launch_together(const Device& device, Kernel* kernel, unsigned blocks, unsigned threads,
                     void** parameters) {
  check(cudaMemset(device.counters, 0,
                   (device.multiprocessors + 1) * words_of_counter * sizeof(std::uint64_t)),
        "cudaMemset");
  check(cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(threads), parameters, 256, nullptr),
        "cudaLaunchCooperativeKernel");
}

void measure_launches(const Device& device, unsigned rounds) {
  void* none[] = {nullptr};
  print("launch", seconds_of_round(
                      "launch",
                      [&](unsigned count) {
                        for (unsigned i = 0; i < count; ++i)
                          check(cudaLaunchKernel(do_nothing, dim3(1), dim3(32), none, 0, nullptr),
                                "cudaLaunchKernel");
                      },
                      rounds));
  print("cooperative_launch",
        seconds_of_round(
            "cooperative_launch",
            [&](unsigned count) {
              for (unsigned i = 0; i < count; ++i)
                check(cudaLaunchCooperativeKernel(do_nothing, dim3(device.multiprocessors),
                                                  dim3(32), none, 0, nullptr),
                      "cudaLaunchCooperativeKernel");
            },
            rounds));
}

/// A line that one multiprocessor wrote and another one reads: what a hop with many of them takes longer than one without.
void measure_lines(const Device& device, unsigned rounds, double hop) {
  unsigned lines = 512;
  auto* memory =
      reinterpret_cast<float*>(allocate(std::size_t{2} * lines * floats_of_line * sizeof(float)));
  const double seconds =
      seconds_of_round(
          "line",
          [&](unsigned count) {
            std::uint64_t* counters = device.counters;
            void* parameters[] = {&counters, &memory, &lines, &count};
            launch_together(device, exchange_lines, 2, floats_of_line, parameters);
          },
          rounds) /
      2;
  if (seconds <= hop) give_up("line: a hop with lines takes no longer than one without");
  print("line", (seconds - hop) / lines);
  check(cudaFree(memory), "cudaFree");
}

void measure_steps(const Device& device, unsigned rounds, unsigned threads) {
  const double hop = seconds_of_round(
                         "hop",
                         [&](unsigned count) {
                           std::uint64_t* counters = device.counters;
                           void* parameters[] = {&counters, &count};
                           launch_together(device, exchange_signals, 2, 32, parameters);
                         },
                         rounds) /
                     2;
  print("hop", hop);
  measure_lines(device, rounds, hop);
  print("meeting", seconds_of_round(
                       "meeting",
                       [&](unsigned count) {
                         std::uint64_t* counters = device.counters;
                         unsigned blocks = device.multiprocessors;
                         void* parameters[] = {&counters, &count, &blocks};
                         launch_together(device, meet, blocks, threads, parameters);
                       },
                       rounds));
  print("step", seconds_of_round(
                    "step",
                    [&](unsigned count) {
                      std::uint64_t* counters = device.counters;
                      const std::uint64_t* addresses = counters;
                      void* parameters[] = {&counters, &addresses, &count};
                      launch_together(device, do_empty_steps, device.multiprocessors, threads,
                                      parameters);
                    },
                    rounds));
}

template <unsigned width>
void measure_copy(const Device& device, const char* place, const float* from, float* to,
                  std::size_t bytes, unsigned threads, unsigned rounds) {
  std::size_t count = bytes / sizeof(float);
  unsigned all_threads = device.multiprocessors * threads;
  const double seconds = seconds_of_round(
      place,
      [&](unsigned times) {
        void* parameters[] = {&from, &to, &count, &all_threads, &threads, &times};
        check(cudaLaunchKernel(copy_words<width>, dim3(device.multiprocessors), dim3(threads),
                               parameters, 0, nullptr),
              "cudaLaunchKernel");
      },
      rounds);
  std::printf("copy %s %zu %u %.4g\n", place, width * sizeof(float), threads,
              2 * static_cast<double>(bytes) / seconds);
  std::fflush(stdout);
}

/// Both halves of what is copied fit into the last cache, or are far from it.
void measure_copies(const Device& device, std::size_t megabytes) {
  const std::size_t large = megabytes << 20U, small = std::max(large / 64, std::size_t{1} << 16U);
  auto* const from = reinterpret_cast<float*>(allocate(large));
  auto* const to = reinterpret_cast<float*>(allocate(large));
  for (const unsigned threads : {128U, 256U, 512U, 1024U}) {
    measure_copy<1>(device, "memory", from, to, large, threads, 4);
    measure_copy<4>(device, "memory", from, to, large, threads, 4);
    measure_copy<1>(device, "cache", from, to, small, threads, 64);
    measure_copy<4>(device, "cache", from, to, small, threads, 64);
  }
  check(cudaFree(from), "cudaFree");
  check(cudaFree(to), "cudaFree");
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::size_t megabytes = argument_count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 512;
  const unsigned rounds =
      argument_count > 2 ? static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10)) : 2000;
  int multiprocessors = 0;
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0),
        "cudaDeviceGetAttribute");
  Device device = {static_cast<unsigned>(multiprocessors), nullptr};
  device.counters = reinterpret_cast<std::uint64_t*>(
      allocate((device.multiprocessors + 1) * words_of_counter * sizeof(std::uint64_t)));
  measure_launches(device, rounds);
  measure_steps(device, rounds, 256);
  measure_copies(device, std::max(megabytes, std::size_t{1}));
  return 0;
}
