// The greatest errors of the functions of emitted programs over f32, in units of the last place of the exact result, for each
// instruction set that the processor has: function_errors STEP [NAME...]. Every STEP-th bit pattern is tried; 1 means all.
// The exact results are those of the standard library in f64. Exit code: 0 all are within their bounds, 4 otherwise.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/backend/function_values.h"

namespace {

struct Function {
  std::string_view name;
  double (*exact)(double);
  double bound;  // that docs/rtask.md states
};

constexpr Function all_functions[function_count] = {
    {"exp", std::exp, 2},     {"tanh", std::tanh, 3},   {"erf", std::erf, 2.5},
    {"log", std::log, 2},     {"sin", std::sin, 2},     {"cos", std::cos, 2},
    {"tan", std::tan, 3},     {"asin", std::asin, 3},   {"acos", std::acos, 3},
    {"atan", std::atan, 2.5}, {"sinh", std::sinh, 3},   {"cosh", std::cosh, 3},
    {"asinh", std::asinh, 3}, {"acosh", std::acosh, 3}, {"atanh", std::atanh, 3}};

struct InstructionSet {
  std::string_view name;
  const FunctionTable* functions;
  void (*quotients)(const float* from, float by, float* to, std::size_t count);
};

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets = {{"plain", &plain::functions(), plain::quotients}};
#ifdef HAS_VECTOR_SETS
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sets.push_back({"avx2", &avx2::functions(), avx2::quotients});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    sets.push_back({"avx512", &avx512::functions(), avx512::quotients});
#endif
  return sets;
}

/// In units of the last place of the exact result; infinite where one is NaN and the other is not.
double error_of(float result, double exact) {
  if (std::isnan(exact) || std::isnan(result))
    return std::isnan(exact) && std::isnan(result) ? 0 : std::numeric_limits<double>::infinity();
  const auto rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isinf(result)) {
    // Results near the greatest float may be rounded up to infinity.
    constexpr double near_greatest = 3.4028e38;
    return std::abs(exact) > near_greatest && std::signbit(result) == std::signbit(rounded)
               ? 0
               : std::numeric_limits<double>::infinity();
  }
  const float size = std::abs(rounded);
  const double unit = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
  return std::abs(static_cast<double>(result) - exact) / unit;
}

struct Worst {
  double error = 0;
  float at = 0;
};

/// Of each instruction set, over the bit patterns 0, step, 2 step, ...
std::vector<Worst> worst_errors(std::size_t function, const std::vector<InstructionSet>& sets,
                                std::uint64_t step) {
  constexpr std::uint64_t patterns = std::uint64_t{1} << 32U, chunk = 4096;
  std::vector<Worst> worst(sets.size());
  std::mutex mutex;
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    std::vector<float> from(chunk), to(chunk);
    std::vector<double> exact(chunk);
    std::vector<Worst> own(sets.size());
    for (std::uint64_t first = 0; (first = next.fetch_add(chunk * step)) < patterns;) {
      const std::uint64_t count = std::min(chunk, (patterns - first + step - 1) / step);
      for (std::uint64_t i = 0; i < count; ++i) {
        from[i] = std::bit_cast<float>(static_cast<std::uint32_t>(first + i * step));
        exact[i] = all_functions[function].exact(from[i]);
      }
      for (std::size_t set = 0; set < sets.size(); ++set) {
        (*sets[set].functions)[function].apply(from.data(), to.data(), count);
        for (std::uint64_t i = 0; i < count; ++i)
          if (const double error = error_of(to[i], exact[i]); error > own[set].error)
            own[set] = {error, from[i]};
      }
    }
    const std::lock_guard<std::mutex> lock(mutex);
    for (std::size_t set = 0; set < sets.size(); ++set)
      if (own[set].error > worst[set].error) worst[set] = own[set];
  };
  std::vector<std::thread> threads(std::max(1U, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  return worst;
}

/// Whether quotients of numbers of all sizes are those of a division, but for the last digit, and have its signs.
bool has_near_quotients(const InstructionSet& set) {
  std::vector<float> numbers = {0.0F, -0.0F, INFINITY, -INFINITY, NAN};
  constexpr std::uint64_t patterns = std::uint64_t{1} << 32U, step = 5003999;
  for (std::uint64_t bits = 1; bits < patterns; bits += step)
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  std::vector<float> results(numbers.size());
  std::uint64_t others = 0;
  for (const float by : numbers) {
    set.quotients(numbers.data(), by, results.data(), numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const float want = numbers[i] / by, got = results[i];
      if (std::isnan(want) && std::isnan(got)) continue;
      if (std::isnan(want) || std::isnan(got) || std::signbit(want) != std::signbit(got))
        return false;
      if (want == got) continue;
      if (std::nextafter(want, got) != got) return false;
      if (std::abs(want) > 0x1p-100F) ++others;
    }
  }
  constexpr std::uint64_t part = 1000000;
  return others <= numbers.size() * numbers.size() / part;
}

}  // namespace

int main(int count, char** words) {
  const std::uint64_t step = count > 1 ? std::strtoull(words[1], nullptr, 10) : 0;
  if (step == 0) {
    std::fprintf(stderr, "usage: function_errors STEP [NAME...]\n");
    return 2;
  }
  const std::vector<InstructionSet> sets = instruction_sets();
  bool is_within = true;
  for (const InstructionSet& set : sets)
    if (!has_near_quotients(set)) {
      std::printf("%s: quotients are not those of a division\n", set.name.data());
      is_within = false;
    }
  for (std::size_t function = 0; function < function_count; ++function) {
    const Function& tried = all_functions[function];
    if (count > 2 && std::find(words + 2, words + count, tried.name) == words + count) continue;
    std::printf("%-6s", tried.name.data());
    const std::vector<Worst> worst = worst_errors(function, sets, step);
    for (std::size_t set = 0; set < sets.size(); ++set) {
      is_within = is_within && worst[set].error <= tried.bound;
      std::printf("  %s %.3f at %a", sets[set].name.data(), worst[set].error,
                  static_cast<double>(worst[set].at));
    }
    std::printf("  (bound %g)\n", tried.bound);
    std::fflush(stdout);
  }
  return is_within ? 0 : 4;
}
