#include "verifier/verdict.h"

#include <fmt/format.h>

namespace lemma::verifier {
namespace {

struct Describe {
  std::string operator()(const Proved& proved) const {
    return fmt::format("proved: {} instances, {} steps, {} axioms", proved.instances, proved.steps,
                       proved.axioms.size());
  }
  std::string operator()(const Refuted& refuted) const {
    std::string result =
        fmt::format("refuted: with {}: {}", refuted.assignment, refuted.difference);
    if (!refuted.inputs.empty()) result += fmt::format("; inputs {}", refuted.inputs);
    return result;
  }
  std::string operator()(const Unknown& unknown) const {
    return fmt::format("unknown: {}", unknown.reason);
  }
};

}  // namespace

std::string text(const Verdict& verdict) { return std::visit(Describe{}, verdict); }

}  // namespace lemma::verifier
