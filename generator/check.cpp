// Evaluation of rules at other sizes than those enumerated.

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "generator/symbolic.h"
#include "generator/tape.h"
#include "interpreter/random.h"
#include "rule_language/substitution_use.h"

namespace lemma::generator {
namespace {

constexpr std::size_t wanted_instances = 8, wanted_with_parameters = 24, attempts = 200;
constexpr std::int64_t most_elements = 72;     // of a value
constexpr std::size_t compared_elements = 48;  // of an output, for each choice of sizes

/// One choice of sizes and contents.
class SizedInstance {
 public:
  /// The variable of this number, counted around, is more than 1.
  SizedInstance(const Substitution& rule, const std::vector<std::string>& variables,
                std::size_t large, std::uint64_t seed)
      : rule_(rule), seed_(seed) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::string& name = variables[i];
      const bool is_parameter =
          std::any_of(rule.parameters.begin(), rule.parameters.end(),
                      [&name](const RuleParameter& p) { return p.name == name; });
      const std::int64_t size =
          i == large % variables.size() ? 2 + small() % 3 : this->size(is_parameter);
      if (is_parameter)
        bindings_.parameters[name] = Dimension(size);
      else
        bindings_.dimensions[name] = size;
      text_ += fmt::format("{}{} = {}", text_.empty() ? "" : ", ", name, size);
    }
  }

  /// Nothing if the left side is not well typed, or too large.
  std::optional<std::string> difference() {
    Graph graph;
    const auto inputs = add_rule_inputs(rule_, bindings_, graph);
    if (!inputs) return std::nullopt;
    if (!conditions_hold(rule_, bindings_)) return std::nullopt;
    const auto left = instantiate(rule_, rule_.left, *inputs, bindings_, graph);
    if (!left || !is_small(graph)) return std::nullopt;
    const auto right = instantiate(rule_, rule_.right, *inputs, bindings_, graph);
    if (!right)
      return fmt::format("for {} the right side is undefined: {}", text_, right.error().message);
    for (std::size_t i = 0; i < left->size(); ++i) {
      if (graph.type((*left)[i]) != graph.type((*right)[i]))
        return fmt::format("for {} the types are {} and {}", text_, text(graph.type((*left)[i])),
                           text(graph.type((*right)[i])));
      (void)graph.add_output(fmt::format("l{}", i), (*left)[i]);
      (void)graph.add_output(fmt::format("r{}", i), (*right)[i]);
    }
    return compare(graph);
  }

 private:
  /// Mostly small, sometimes larger than all others; parameters may be 0.
  std::int64_t size(bool is_parameter) {
    const std::int64_t random = small();
    if (random < 4) return is_parameter ? random % 2 : 1;
    if (random < 10) return 1 + random % 3;
    return random - 6;
  }
  std::int64_t small() { return static_cast<std::int64_t>(word() % 12); }

  std::uint64_t word() { return interpreter::random_word(seed_, 0, counter_++); }

  static bool is_small(const Graph& graph) {
    for (std::uint32_t v = 0; v < graph.value_count(); ++v) {
      const Dimension count = element_count(*graph.type({v}).shape);
      if (!count.is_constant() || count.offset() > most_elements) return false;
    }
    return true;
  }

  std::optional<std::string> compare(const Graph& graph) {
    const auto tape = make_tape(graph);
    if (!tape) return std::nullopt;
    std::size_t smallest = most_elements;
    for (const std::vector<Register>& output : tape->outputs)
      smallest = std::min(smallest, output.size());
    // Few elements are no evidence: small tensors are filled more often.
    const std::size_t rounds =
        std::max<std::size_t>(4, compared_elements / std::max<std::size_t>(1, smallest));
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto outputs =
          run_once(*tape, contents(*tape, round),
                   round % 2 == 0 ? Tape::Division::ieee : Tape::Division::undefined_by_zero);
      for (std::size_t i = 0; i + 1 < outputs.size(); i += 2)
        if (!are_equal(outputs[i], outputs[i + 1]))
          return fmt::format("for {} output {} differs", text_, i / 2);
    }
    return std::string();
  }

  /// Dyadic fractions, small or large. Of either sign in every second round, and otherwise of one
  /// sign for each input: so that roots are defined, and sums of many do not always have both signs
  /// somewhere.
  std::vector<std::vector<long double>> contents(const Tape& tape, std::size_t round) {
    const long double scale = round % 3 == 0 ? 1.0L / 16 : (round % 3 == 1 ? 1.0L / 4 : 1.0L / 64);
    std::vector<std::vector<long double>> result;
    for (const std::uint32_t size : tape.operand_sizes) {
      const bool one_sign = round % 2 == 1, negative = round % 4 == 3 && word() % 2 == 0;
      std::vector<long double>& values = result.emplace_back();
      for (std::uint32_t i = 0; i < size; ++i) {
        const std::uint64_t random = word();
        const long double magnitude =
            static_cast<long double>(one_sign ? 1 + random % 40 : random % 21) * scale;
        const bool minus = one_sign ? negative : (random >> 32U) % 2 == 1;
        values.push_back(minus ? -magnitude : magnitude);
      }
    }
    return result;
  }

  static bool are_equal(const std::vector<long double>& a, const std::vector<long double>& b) {
    long double largest = 1;
    for (const std::vector<long double>* side : {&a, &b})
      for (const long double x : *side)
        if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
      if (!(std::abs(a[i] - b[i]) <= largest * 0x1p-44L)) return false;
    }
    return true;
  }

  const Substitution& rule_;
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
  RuleBindings bindings_;
  std::string text_;
};

}  // namespace

CheckResult check_at_other_sizes(const Substitution& rule, std::uint64_t seed) {
  CheckResult result;
  const Substitution backwards = rule.bidirectional ? reversed(rule) : rule;
  const std::vector<std::string> variables = variable_names(rule);
  // Sizes that stand in attributes only are rarely fit for the others.
  const std::size_t wanted = rule.parameters.empty() ? wanted_instances : wanted_with_parameters;
  std::set<std::size_t> open;  // variables that were not more than 1 yet
  for (std::size_t i = 0; i < variables.size(); ++i) open.insert(i);
  for (std::size_t i = 0; i < attempts; ++i) {
    if (result.instances >= wanted && open.empty()) break;
    const bool backward = rule.bidirectional && i % 2 == 1;
    const std::size_t large =
        open.empty() ? i : *std::next(open.begin(), static_cast<std::ptrdiff_t>(i % open.size()));
    const auto difference =
        SizedInstance(backward ? backwards : rule, variables, large, seed * 1000 + i).difference();
    if (!difference) continue;
    ++result.instances;
    open.erase(large);
    if (difference->empty()) continue;
    result.counterexample = *difference;
    result.backward = backward;
    break;
  }
  return result;
}

}  // namespace lemma::generator
