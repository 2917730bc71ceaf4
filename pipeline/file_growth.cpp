#include "pipeline/file_growth.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend_onnx/copy.h"

namespace lemma {

/// The bytes that attributes and constants of some nodes take.
constexpr double small_growth = 4096;
/// Of a result for a device that is only described, as a part of the original. Its weights are read at the price of the
/// device's memory; the file has no price there.
constexpr double described_growth = 1;
/// A node with its names, in bytes.
constexpr double node_bytes = 256;

void limit_growth(SearchOptions& search, double bytes) {
  // A hundred bytes, about as much as a node takes in a file, are worth a microsecond, about as much as starting one.
  constexpr double seconds_per_byte = 1e-8;
  search.seconds_per_constant_byte = seconds_per_byte;
  search.fold = fold_without_growth(std::move(search.fold), bytes);
}

Result<FileGrowth> FileGrowth::of(const std::filesystem::path& original,
                                  const OptimizeOptions& options, std::int64_t written_out) {
  LEMMA_ASSIGN_OR_RETURN(const std::uintmax_t bytes, model_bytes(original));
  const TimingOptions& timing = options.timing;
  const bool is_timed =
      timing.measures || (timing.replay && timing.replay->state != TimingReport::State::predicted);
  double allowed =
      small_growth + node_bytes * static_cast<double>(std::max<std::int64_t>(written_out, 0));
  if (options.is_only_described && !options.cleans)
    allowed += described_growth * static_cast<double>(bytes);
  if (options.most_growth) allowed = *options.most_growth * static_cast<double>(bytes);
  return FileGrowth(bytes, allowed, options.most_growth || options.cleans || !is_timed);
}

Result<std::string> FileGrowth::objection_to(const std::filesystem::path& result) const {
  LEMMA_ASSIGN_OR_RETURN(const std::uintmax_t bytes, model_bytes(result));
  const auto most = static_cast<double>(original_bytes_) + allowed_bytes_;
  if (!is_limited_ || static_cast<double>(bytes) <= most) return std::string();
  return fmt::format("the result's file has {} bytes, the original's {}", bytes, original_bytes_);
}

}  // namespace lemma
