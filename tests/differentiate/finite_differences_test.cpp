// The gradient of every operator is the limit of differences. LEMMA_GRADIENT_INSTANCES says how many applications of each
// operand are compared; LEMMA_GRADIENT_OPERATORS which operators, as a list with commas; the table goes to the output.

#include "tests/differentiate/finite_differences.h"

#include <cstdlib>

namespace lemma::differentiate {
namespace {

int wanted_instances() {
  const char* given = std::getenv("LEMMA_GRADIENT_INSTANCES");
  return given == nullptr ? 6 : std::atoi(given);
}

bool is_wanted(std::string_view name) {
  const char* given = std::getenv("LEMMA_GRADIENT_OPERATORS");
  return given == nullptr ||
         ("," + std::string(given) + ",").find("," + std::string(name) + ",") != std::string::npos;
}

TEST(FiniteDifferences, AgreeWithDerivedGradients) {
  int operators = 0, operands = 0, comparisons = 0;
  for (const OperatorRecord& op : all_operators()) {
    if (!is_wanted(op.name)) continue;
    std::vector<OperatorInstance> instances = accepted_instances(op, 400);
    add_scatters(op, instances);
    std::size_t count = 0;
    for (const OperatorInstance& instance : instances)
      count = std::max(count, instance.inputs.size());
    bool any = false;
    for (std::uint32_t operand = 0; operand < count; ++operand) {
      const OperandReport report = compare_operand(op, instances, operand, wanted_instances());
      if (report.agree == 0 && report.failures.empty() && report.refusal.empty() &&
          report.undefined == 0)
        continue;
      fmt::print("{} {}: {} agree ({} with sizes below 2), {} undefined, {} differ {}\n", op.name,
                 operand, report.agree, report.empty, report.undefined, report.failures.size(),
                 report.agree == 0 ? report.refusal + report.last_undefined : "");
      for (std::size_t i = 0; i < report.failures.size() && i < 3; ++i)
        ADD_FAILURE() << "operand " << operand << " of " << report.failures[i];
      any = any || report.agree > 0;
      operands += report.agree > 0 ? 1 : 0;
      comparisons += report.agree;
    }
    if (any) ++operators;
  }
  fmt::print("{} operators, {} operands, {} comparisons\n", operators, operands, comparisons);
  if (std::getenv("LEMMA_GRADIENT_OPERATORS") == nullptr) {
    EXPECT_GE(operators, 120);
  }
}

}  // namespace
}  // namespace lemma::differentiate
