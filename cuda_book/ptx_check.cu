// Each function of ptx.cuh, and the kernel that stores addresses, on a device: a line for each, "passed NAME" or "FAILED NAME: why". Exit code 0 if all passed, 1 if
// not, 2 if a call fails.

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "device_calls.cuh"
#include "half_precision.h"
#include "run_time.cuh"

namespace {

constexpr unsigned blocks = 8, threads = 64, rounds = 1000;

constexpr unsigned readers = blocks - 1;
constexpr unsigned distances = 5;  // of lanes: 1, 2, 4, 8, 16
struct Message {
  std::uint64_t numbers[readers];
  std::uint32_t contents[threads];
};

/// Block 0 writes a message in each round, the others read it, and it waits for them before the next one. As in a step of a
/// schedule, the first threads signal, each another counter, and each reader waits for one of them by one of its threads. A
/// reader that sees an older element than its number says counts a fault.
__global__ void pass_messages(Message* message, std::uint64_t* answers, std::uint64_t* faults) {
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    if (blockIdx.x == 0) {
      message->contents[threadIdx.x] = static_cast<std::uint32_t>(round * 7 + threadIdx.x);
      __syncthreads();
      if (threadIdx.x < readers) ptx::add_release(&message->numbers[threadIdx.x], 1);
      if (threadIdx.x == 0) wait_for(answers, round * readers);
      __syncthreads();
    } else {
      const unsigned reader = blockIdx.x - 1;
      if (threadIdx.x == reader) wait_for(&message->numbers[reader], round);
      __syncthreads();
      if (message->contents[threads - 1 - threadIdx.x] != round * 7 + threads - 1 - threadIdx.x)
        ptx::add_release(faults, 1);
      __syncthreads();
      if (threadIdx.x == 0) ptx::add_release(answers, 1);
    }
  }
}

/// Some groups of lanes exchange nothing.
__host__ __device__ constexpr bool stays_away(unsigned group) { return group % 3 == 1; }

/// What each lane gets from its partner, for all distances within groups of so many lanes, which take part one after the other.
template <unsigned lanes, typename T>
__device__ void exchange_in_groups(T* results) {
  for (unsigned group = 0; group < threads / lanes; ++group) {
    if (stays_away(group) || threadIdx.x / lanes != group) continue;
    for (unsigned distance = 1, i = 0; distance < lanes; distance *= 2, ++i)
      results[i * threads + threadIdx.x] =
          ptx::from_lane_xor<lanes>(static_cast<T>(threadIdx.x + 1), distance);
  }
}

template <typename T>
__global__ void exchange(T* results) {
  exchange_in_groups<2>(results);
  constexpr unsigned of_size = distances * threads;
  exchange_in_groups<4>(results + of_size);
  exchange_in_groups<8>(results + 2 * of_size);
  exchange_in_groups<16>(results + 3 * of_size);
  exchange_in_groups<32>(results + 4 * of_size);
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

/// Copies of 4, 8 and 16 bytes in two groups, of which every third reads nothing.
template <int bytes>
__global__ void copy_to_shared(const std::uint32_t* from, std::uint32_t* results) {
  constexpr unsigned words = bytes / 4;
  auto* const shared = reinterpret_cast<std::uint32_t*>(ptx::shared_memory());
  for (unsigned group = 0; group < 2; ++group) {
    const unsigned at = (group * threads + threadIdx.x) * words;
    ptx::copy_async<bytes>(shared + at, from + at, threadIdx.x % 3 != 0);
    ptx::commit_copies();
  }
  ptx::wait_for_copies<1>();
  __syncthreads();
  const unsigned other = (threads - 1 - threadIdx.x) * words;
  for (unsigned i = 0; i < words; ++i) results[other + i] = shared[other + i];
  ptx::wait_for_copies<0>();
  __syncthreads();
  for (unsigned i = 0; i < words; ++i)
    results[threads * words + other + i] = shared[threads * words + other + i];
}

/// Four matrices whose elements are their own numbers, in rows of 16 bytes, then the first two of them.
template <bool is_turned>
__global__ void take_matrices(std::uint32_t* results) {
  auto* const shared = reinterpret_cast<std::uint16_t*>(ptx::shared_memory());
  for (unsigned i = threadIdx.x; i < 4 * 64; i += threads)
    shared[i] = static_cast<std::uint16_t>(i);
  __syncthreads();
  const unsigned lane = threadIdx.x % warp_size;
  std::uint32_t four[4], two[2];
  ptx::load_matrices<is_turned>(four, shared + lane * 8);
  ptx::load_matrices<is_turned>(two, shared + lane % 16 * 8);
  for (unsigned i = 0; i < 4; ++i) results[threadIdx.x * 6 + i] = four[i];
  for (unsigned i = 0; i < 2; ++i) results[threadIdx.x * 6 + 4 + i] = two[i];
}

enum class Factors { f16, bf16, tf32 };

/// The product of small whole numbers, which no rounding changes: row r and term t have (3 r + t) % 7 - 3, column c and
/// term t have (2 c + 5 t) % 9 - 4. Sums begin with the number of their row.
template <Factors factors>
__global__ void multiply_once(float* results) {
  const unsigned lane = threadIdx.x % warp_size;
  constexpr unsigned packed = factors == Factors::tf32 ? 1 : 2;
  const auto bits_of = [](int value) {
    const auto number = static_cast<float>(value);
    std::uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    // Of f16: whole numbers below 8 have the same leading bits, with another bias.
    if (factors == Factors::f16)
      return value == 0 ? 0U
                        : (bits >> 16U & 0x8000U) | (((bits >> 13U) & 0x3ffffU) - (112U << 10U));
    return factors == Factors::bf16 ? bits >> 16U : bits;
  };
  std::uint32_t rows[4] = {}, columns[2] = {};
  float sums[4];
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned part = 0; part < packed; ++part) {
      const unsigned row = lane / 4 + i % 2 * 8,
                     term = lane % 4 * packed + i / 2 * 4 * packed + part;
      rows[i] |= bits_of(static_cast<int>((3 * row + term) % 7) - 3) << (16 * part);
      if (i % 2 == 0)
        columns[i / 2] |= bits_of(static_cast<int>((2 * (lane / 4) + 5 * term) % 9) - 4)
                          << (16 * part);
    }
    sums[i] = static_cast<float>(lane / 4 + i / 2 * 8);
  }
  if constexpr (factors == Factors::f16) ptx::multiply_f16(sums, rows, columns);
  if constexpr (factors == Factors::bf16) ptx::multiply_bf16(sums, rows, columns);
  if constexpr (factors == Factors::tf32) ptx::multiply_tf32(sums, rows, columns);
  for (unsigned i = 0; i < 4; ++i)
    results[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

__global__ void round_to_tf32(std::uint32_t* results) {
  // 1, and three numbers near it: below, at and above the middle between two that TF32 has.
  const std::uint32_t bits[4] = {0x3f800000U, 0x3f800fffU, 0x3f801000U, 0xbf803001U};
  for (unsigned i = 0; i < 4; ++i) {
    float value;
    memcpy(&value, &bits[i], sizeof(value));
    results[i] = ptx::to_tf32(value);
  }
}

/// What each thread finds: whether it is the first, and whether the clock has moved on within a while.
__global__ void ask_clock_and_first(std::uint64_t* place, std::uint32_t* results) {
  const std::uint64_t begin = ptx::nanoseconds();
  std::uint64_t now = begin;
  for (unsigned i = 0; i < 1000000 && now == begin; ++i) {
    ptx::pause();
    now = ptx::nanoseconds();
  }
  results[blockIdx.x * threads + threadIdx.x] =
      (ptx::is_first(place) ? 1U : 0U) | (now > begin ? 2U : 0U);
}

__global__ void write_to_host(std::uint64_t* host) {
  host[threadIdx.x] = threadIdx.x + 1;
  ptx::publish_to_host();
}

/// Copies elements of all sizes, as many together as are 16 bytes, and fewer; `to` has a place for each way.
template <typename T, unsigned count>
__device__ void copy_together(const unsigned char* from, unsigned char* to) {
  const auto* const source = ptx::in_memory(reinterpret_cast<const T*>(from)) + threadIdx.x * count;
  auto* const target = ptx::in_memory(reinterpret_cast<T*>(to)) + threadIdx.x * count;
  ptx::store_together(target, ptx::load_together<count>(source));
}
constexpr unsigned together_bytes = threads * 16, together_ways = 9;
__global__ void copy_all_together(const unsigned char* from, unsigned char* to) {
  copy_together<std::uint8_t, 16>(from, to);
  copy_together<std::uint16_t, 8>(from, to + together_bytes);
  copy_together<float, 4>(from, to + 2 * together_bytes);
  copy_together<double, 2>(from, to + 3 * together_bytes);
  copy_together<std::uint8_t, 8>(from, to + 4 * together_bytes);
  copy_together<std::uint16_t, 2>(from, to + 5 * together_bytes);
  copy_together<std::uint8_t, 2>(from, to + 6 * together_bytes);
  copy_together<std::int64_t, 1>(from, to + 7 * together_bytes);
  copy_together<std::uint8_t, 1>(from, to + 8 * together_bytes);
}

__global__ void end_launch() { ptx::trap(); }

/// All numbers of f16; for each of f32 among `values`, those of f16 and bf16 that it is rounded to.
__global__ void convert(float* from, const float* values, std::uint32_t count,
                        std::uint16_t* to_f16, std::uint16_t* to_bf16) {
  for (std::uint32_t i = blockIdx.x * threads + threadIdx.x; i < 65536; i += blocks * threads)
    from[i] = ptx::from_f16(static_cast<std::uint16_t>(i));
  for (std::uint32_t i = blockIdx.x * threads + threadIdx.x; i < count; i += blocks * threads) {
    to_f16[i] = ptx::to_f16(values[i]);
    if (to_bf16 != nullptr) to_bf16[i] = ptx::to_bf16(values[i]);
  }
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
  report("add_release", answered == std::uint64_t{rounds} * readers ? order : "answers were lost");
  report("pause", "");  // the rounds have ended
}

template <typename T>
std::string exchange_fault() {
  const DeviceArray<T> results(distances * distances * threads);
  launch(exchange<T>, 1, 0, results.data);
  const std::vector<T> found = results.on_host();
  for (unsigned size = 0; size < distances; ++size)
    for (unsigned i = 0; i <= size; ++i)
      for (unsigned lane = 0; lane < threads; ++lane) {
        if (stays_away(lane / (2U << size))) continue;
        if (found[(size * distances + i) * threads + lane] !=
            static_cast<T>((lane ^ (1U << i)) + 1))
          return std::to_string(sizeof(T)) + " bytes, lane " + std::to_string(lane) +
                 " of groups of " + std::to_string(2U << size) + ", distance " +
                 std::to_string(1U << i);
      }
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

template <int bytes>
std::string copy_fault() {
  constexpr unsigned words = 2 * threads * bytes / 4;
  std::vector<std::uint32_t> contents(words);
  for (unsigned i = 0; i < words; ++i) contents[i] = i * 2654435761U + 1;
  const DeviceArray<std::uint32_t> from(words), results(words);
  check(cudaMemcpy(from.data, contents.data(), words * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
  launch(copy_to_shared<bytes>, 1, words * 4, from.data, results.data);
  const std::vector<std::uint32_t> found = results.on_host();
  for (unsigned i = 0; i < words; ++i)
    if (found[i] != (i * 4 / bytes % threads % 3 == 0 ? 0 : contents[i]))
      return std::to_string(bytes) + " bytes at a time, word " + std::to_string(i);
  return "";
}

void check_copies() {
  std::string fault;
  for (const std::string& each : {copy_fault<4>(), copy_fault<8>(), copy_fault<16>()})
    if (fault.empty()) fault = each;
  for (const char* const name : {"copy_async", "commit_copies", "wait_for_copies"})
    report(name, fault);
}

template <bool is_turned>
std::string matrix_fault() {
  const DeviceArray<std::uint32_t> results(threads * 6);
  launch(take_matrices<is_turned>, 1, 4 * 64 * 2, results.data);
  const std::vector<std::uint32_t> found = results.on_host();
  for (unsigned thread = 0; thread < threads; ++thread)
    for (unsigned i = 0; i < 6; ++i) {
      const unsigned lane = thread % warp_size, matrix = i < 4 ? i : i - 4;
      const unsigned line = lane / 4, place = lane % 4 * 2;
      const unsigned first = matrix * 64 + (is_turned ? place * 8 + line : line * 8 + place);
      const unsigned second = first + (is_turned ? 8 : 1);
      if (found[thread * 6 + i] != (first | second << 16U))
        return std::string(is_turned ? "turned" : "plain") + ", lane " + std::to_string(lane) +
               ", matrix " + std::to_string(matrix);
    }
  return "";
}

template <Factors factors>
std::string product_fault() {
  const DeviceArray<float> results(16 * 8);
  void (*const kernel)(float*) = multiply_once<factors>;
  launch(kernel, 1, 0, results.data);
  const std::vector<float> found = results.on_host();
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int sum = row;
      for (int term = 0; term < (factors == Factors::tf32 ? 8 : 16); ++term)
        sum += ((3 * row + term) % 7 - 3) * ((2 * column + 5 * term) % 9 - 4);
      if (found[static_cast<std::size_t>(row * 8 + column)] != static_cast<float>(sum))
        return "row " + std::to_string(row) + ", column " + std::to_string(column);
    }
  return "";
}

/// Products by matrix units: of devices from sm_80 on.
void check_matrices(bool has_products) {
  const std::string plain = matrix_fault<false>(), turned = matrix_fault<true>();
  report("load_matrices", plain.empty() ? turned : plain);
  if (!has_products) return;
  report("multiply_f16", product_fault<Factors::f16>());
  report("multiply_bf16", product_fault<Factors::bf16>());
  report("multiply_tf32", product_fault<Factors::tf32>());
  const DeviceArray<std::uint32_t> results(4);
  launch(round_to_tf32, 1, 0, results.data);
  const std::vector<std::uint32_t> expected = {0x3f800000U, 0x3f800000U, 0x3f802000U, 0xbf804000U};
  std::string fault;
  const std::vector<std::uint32_t> found = results.on_host();
  for (unsigned i = 0; i < 4; ++i)
    if ((found[i] & ~0x1fffU) != expected[i]) fault = "number " + std::to_string(i);
  report("to_tf32", fault);
}

void check_clock_and_first() {
  const DeviceArray<std::uint64_t> place(1);
  const DeviceArray<std::uint32_t> results(blocks * threads);
  launch(ask_clock_and_first, blocks, 0, place.data, results.data);
  unsigned first = 0, moved = 0;
  for (const std::uint32_t result : results.on_host()) {
    first += result & 1U;
    moved += result >> 1U;
  }
  report("nanoseconds", moved == blocks * threads ? "" : "the clock stands still");
  report("is_first", first == 1 ? "" : std::to_string(first) + " threads are the first");
}

void check_host_memory() {
  void *host = nullptr, *device = nullptr;
  check(cudaHostAlloc(&host, threads * sizeof(std::uint64_t), cudaHostAllocMapped),
        "cudaHostAlloc");
  std::memset(host, 0, threads * sizeof(std::uint64_t));
  check(cudaHostGetDevicePointer(&device, host, 0), "cudaHostGetDevicePointer");
  launch(write_to_host, 1, 0, static_cast<std::uint64_t*>(device));
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::string fault;
  for (unsigned i = 0; i < threads; ++i)
    if (static_cast<std::uint64_t*>(host)[i] != i + 1)
      fault = "the host does not see what was written";
  report("publish_to_host", fault);
  check(cudaFreeHost(host), "cudaFreeHost");
}

void check_together() {
  std::vector<unsigned char> contents(together_bytes);
  for (unsigned i = 0; i < together_bytes; ++i)
    contents[i] = static_cast<unsigned char>(i * 37U + i / 256U + 1);
  const DeviceArray<unsigned char> from(together_bytes), to(together_ways * together_bytes);
  check(cudaMemcpy(from.data, contents.data(), together_bytes, cudaMemcpyHostToDevice),
        "cudaMemcpy");
  launch(copy_all_together, 1, 0, from.data, to.data);
  const std::vector<unsigned char> found = to.on_host();
  std::string fault;
  constexpr unsigned bytes[together_ways] = {16, 16, 16, 16, 8, 4, 2, 8, 1};
  for (unsigned way = 0; way < together_ways; ++way)
    for (unsigned i = 0; i < together_bytes; ++i)
      if (found[way * together_bytes + i] != (i < threads * bytes[way] ? contents[i] : 0))
        fault = "way " + std::to_string(way) + ", byte " + std::to_string(i);
  for (const char* const name : {"in_memory", "load_together", "store_together"})
    report(name, fault);
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/// Each number of f16, the middle between it and the next one, and the numbers of f32 beside these; and numbers over the
/// whole range of f32. NaN is left out: its bits are not promised.
std::vector<float> numbers_to_round() {
  std::vector<float> numbers;
  const auto add = [&numbers](std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    if (value == value) numbers.push_back(value);
  };
  for (std::uint32_t half = 0; half < 65536; ++half) {
    const float here = lemma::half_precision::f16_to_f32(static_cast<std::uint16_t>(half));
    const float next = lemma::half_precision::f16_to_f32(static_cast<std::uint16_t>(half + 1));
    for (const float value : {here, here / 2 + next / 2})
      for (const std::uint32_t beside : {0U, 1U, ~0U}) add(bits_of(value) + beside);
  }
  for (std::uint32_t i = 0; i < 65536; ++i) add(i * 65537U + (i % 3 == 0 ? 0x8000U : 0));
  return numbers;
}

void check_conversions(bool has_bf16) {
  const std::vector<float> numbers = numbers_to_round();
  const DeviceArray<float> from(65536), values(numbers.size());
  const DeviceArray<std::uint16_t> f16(numbers.size()), bf16(numbers.size());
  check(cudaMemcpy(values.data, numbers.data(), numbers.size() * sizeof(float),
                   cudaMemcpyHostToDevice),
        "cudaMemcpy");
  launch(convert, blocks, 0, from.data, values.data, static_cast<std::uint32_t>(numbers.size()),
         f16.data, has_bf16 ? bf16.data : nullptr);
  std::string of_from, of_f16, of_bf16;
  const std::vector<float> read = from.on_host();
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const float expected = lemma::half_precision::f16_to_f32(static_cast<std::uint16_t>(i));
    const bool agrees =
        expected == expected ? bits_of(read[i]) == bits_of(expected) : read[i] != read[i];
    if (!agrees) of_from = "of the bits " + std::to_string(i);
  }
  const std::vector<std::uint16_t> as_f16 = f16.on_host(), as_bf16 = bf16.on_host();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (as_f16[i] != lemma::half_precision::f32_to_f16(numbers[i]))
      of_f16 = "of " + std::to_string(numbers[i]);
    if (as_bf16[i] != lemma::half_precision::f32_to_bf16(numbers[i]))
      of_bf16 = "of " + std::to_string(numbers[i]);
  }
  report("from_f16", of_from);
  report("to_f16", of_f16);
  if (has_bf16) report("to_bf16", of_bf16);
}

/// No call succeeds after this.
void check_trap() {
  launch(end_launch, 1, 0);
  report("trap",
         cudaDeviceSynchronize() == cudaSuccess ? "the launch has ended without an error" : "");
}

/// The kernel that brings addresses where parameters have no room: as many as fit, and fewer.
void check_addresses() {
  const DeviceArray<unsigned char*> to(most_parameters + 1);
  std::string fault;
  for (const std::size_t count : {most_parameters, std::size_t{7}}) {
    check(cudaMemset(to.data, 0, to.count * sizeof(void*)), "cudaMemset");
    Addresses addresses = {};
    addresses.to = to.data;
    addresses.count = static_cast<std::uint32_t>(count);
    const auto address = [&to](std::size_t i) {
      return reinterpret_cast<unsigned char*>(to.data) + 3 * i;
    };
    for (std::uint32_t i = 0; i < most_parameters; ++i) addresses.at[i] = address(i);
    void* parameters[] = {&addresses};
    check(cudaLaunchKernel(store_addresses, dim3(1), dim3(warp_size), parameters, 0, nullptr),
          "cudaLaunchKernel");
    const std::vector<unsigned char*> found = to.on_host();
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] != (i < count ? address(i) : nullptr))
        fault = "address " + std::to_string(i) + " is another one";
  }
  report("store_addresses", fault);
}

}  // namespace

int main() {
  check_messages();
  check_exchange();
  check_shared_memory();
  check_copies();
  int major = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0),
        "cudaDeviceGetAttribute");
  check_matrices(major >= 8);
  check_addresses();
  check_clock_and_first();
  check_host_memory();
  check_together();
  check_conversions(major >= 8);
  check_trap();
  return all_passed ? 0 : 1;
}
