#include "report/comparison_report.h"

namespace lemma {

nlohmann::ordered_json comparison_json(const FileComparison& comparison) {
  const SampledCheck& check = comparison.check;
  return {{"equal", check.passed},
          {"difference", check.difference},
          {"compared_by", name(comparison.way)},
          {"samples", check.samples},
          {"adversarial", check.adversarial},
          {"max_error", check.max_error},
          {"smallest_passing_tolerance_scale", check.smallest_passing_scale}};
}

}  // namespace lemma
