// What reads as a dimension prints, reads back as the same, and survives arithmetic.
//   build/fuzz/bin/dimension_fuzz -max_total_time=60 tests/fuzz/dimension

#include <cstdlib>

#include "ir/dimension.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_reads_back(const lemma::Dimension& dimension) {
  if (!dimension.is_valid()) return;
  const auto again = lemma::parse_dimension(dimension.text());
  require(again.has_value() && *again == dimension && again->hash() == dimension.hash());
  require(again->text() == dimension.text());
}

void check_arithmetic(const lemma::Dimension& a, const lemma::Dimension& b) {
  check_reads_back(a - b);
  check_reads_back(a * b);
  check_reads_back(floor_div(a, b));
  check_reads_back(floor_mod(a, b));
  check_reads_back(minimum(a, b));
  check_reads_back(maximum(a, b));
  require(a + b == b + a && a * b == b * a);
  if (auto quotient = exact_div(a, b)) require(*quotient * b == a);
  lower_bound(a);
  check_reads_back(substitute(a, {{"N", b}}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t middle = text.find('|');
  const auto a = lemma::parse_dimension(text.substr(0, middle));
  if (!a) return 0;
  check_reads_back(*a);
  if (middle == std::string_view::npos) return 0;
  const auto b = lemma::parse_dimension(text.substr(middle + 1));
  if (b) check_arithmetic(*a, *b);
  return 0;
}
