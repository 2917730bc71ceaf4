#include "contradictions.h"

#include <cmath>
#include <map>
#include <random>

#include <fmt/format.h>

#include "egraph/saturation.h"
#include "ir/graph_text.h"

namespace lemma::contradictions {
namespace {

/// Lines of a graph; values are numbered in order.
class Terms {
 public:
  explicit Terms(std::uint64_t seed) : random_(seed) {}

  std::string text(std::size_t count) {
    for (const char* name : {"x", "y"}) input(name, "");
    for (const char* name : {"u", "v"}) input(name, "3");
    for (const char* value : {"0.0", "1.0", "2.0"}) {
      named_[fmt::format("{}", value)] = numeral(value, "");
      (void)numeral(value, "3");
    }
    undefined();
    for (std::size_t i = 0; i < count; ++i) (void)random_term();
    std::string result = "graph \"contradictions\"\n" + lines_;
    for (const auto& [name, value] : named_)
      result += fmt::format("  output \"{}\" = %{}\n", name, value);
    for (const std::size_t value : outputs_)
      result += fmt::format("  output \"term {}\" = %{}\n", value, value);
    return result;
  }

 private:
  struct Value {
    std::size_t number = 0;
    bool is_vector = false;
  };

  void input(const std::string& name, const std::string& size) {
    lines_ += fmt::format("  input %{} \"{}\" : f32[{}]\n", next_, name, size);
    values_.push_back({next_++, !size.empty()});
  }

  std::size_t add(const std::string& term, const std::string& size) {
    lines_ += fmt::format("  %{} = {} : f32[{}]\n", next_, term, size);
    return next_++;
  }

  std::size_t numeral(const std::string& value, const std::string& size) {
    const std::size_t number = add(
        fmt::format("ConstantOfShape{{data_type=f32, shape=[{}], value={}}}()", size, value), size);
    values_.push_back({number, !size.empty()});
    outputs_.push_back(number);
    return number;
  }

  /// No value over the reals, whatever the variables are.
  void undefined() {
    const std::size_t zero = named_.at("0.0"), one = named_.at("1.0");
    const std::size_t minus = add(fmt::format("Neg(%{})", one), "");
    const std::size_t nothing = add("ConstantOfShape{data_type=f32, shape=[0], value=1.0}()", "0");
    const std::map<std::string, std::string> terms = {
        {"undefined 0/0", fmt::format("Div(%{}, %{})", zero, zero)},
        {"undefined 1/0", fmt::format("Reciprocal(%{})", zero)},
        {"undefined log(-1)", fmt::format("Log(%{})", minus)},
        {"undefined sqrt(-1)", fmt::format("Sqrt(%{})", minus)},
        {"undefined maximum of nothing",
         fmt::format("ReduceMax{{axes=[0], keepdims=0}}(%{})", nothing)}};
    for (const auto& [name, term] : terms) {
      named_[name] = add(term, "");
      values_.push_back({named_[name], false});
    }
  }

  std::size_t below(std::size_t count) { return random_() % count; }
  const Value& any() { return values_[below(values_.size())]; }

  std::size_t random_term() {
    const Value a = any(), b = any();
    const bool is_vector = a.is_vector || b.is_vector;
    static constexpr const char* binary[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
    static constexpr const char* unary[] = {"Neg",  "Relu",       "Abs",     "Exp", "Log",
                                            "Sqrt", "Reciprocal", "Sigmoid", "Tanh"};
    Value result;
    const std::size_t choice = below(10);
    if (choice < 5) {
      result = {add(fmt::format("{}(%{}, %{})", binary[below(6)], a.number, b.number),
                    is_vector ? "3" : ""),
                is_vector};
    } else if (choice < 8 || !a.is_vector) {
      result = {add(fmt::format("{}(%{})", unary[below(9)], a.number), a.is_vector ? "3" : ""),
                a.is_vector};
    } else if (choice == 8) {
      static constexpr const char* reductions[] = {"ReduceSum", "ReduceMax", "ReduceMean"};
      result = {
          add(fmt::format("{}{{axes=[0], keepdims=0}}(%{})", reductions[below(3)], a.number), ""),
          false};
    } else {
      result = {add(fmt::format("Softmax{{axis=0}}(%{})", a.number), "3"), true};
    }
    values_.push_back(result);
    outputs_.push_back(result.number);
    return result.number;
  }

  std::mt19937_64 random_;
  std::string lines_;
  std::size_t next_ = 0;
  std::vector<Value> values_;
  std::vector<std::size_t> outputs_;
  std::map<std::string, std::size_t> named_;
};

std::vector<CompiledRule> compiled(std::span<const Substitution> axioms, const Options& options) {
  std::vector<CompiledRule> result;
  for (Substitution axiom : axioms) {
    if (options.refinements_as_equations) axiom.bidirectional = true;
    std::vector<Substitution> directions = {axiom};
    if (axiom.bidirectional) directions.push_back(reversed(axiom));
    for (const Substitution& direction : directions) {
      auto rule = compile_rule(direction);
      if (!rule) continue;   // a bare input on the left
      rule->bitwise = true;  // infinities are no matter of proofs
      result.push_back(std::move(*rule));
    }
  }
  return result;
}

/// What must never be in one class.
void find_contradictions(const EGraph& egraph, Findings& findings) {
  std::vector<std::pair<std::string, ClassId>> named;
  for (const EGraph::Output& output : egraph.outputs())
    if (!output.name.starts_with("term "))
      named.emplace_back(output.name, egraph.find(output.value));
  const auto is_undefined = [](const std::string& name) { return name.starts_with("undefined"); };
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto& [name, id] = named[i];
    if (is_undefined(name) && egraph.facts(id).front().defined)
      findings.contradictions.push_back(name + " is defined");
    for (std::size_t j = 0; j < i; ++j)
      if (named[j].second == id && !(is_undefined(name) && is_undefined(named[j].first)))
        findings.contradictions.push_back(fmt::format("{} = {}", named[j].first, name));
  }
  for (std::uint32_t i = 0; i < egraph.id_count(); ++i) {
    if (!(egraph.find({i}) == ClassId{i})) continue;
    for (const ValueFacts& facts : egraph.facts(ClassId{i}))
      if (facts.defined && facts.lower > facts.upper) {
        findings.contradictions.push_back(
            fmt::format("a value is at least {} and at most {}", facts.lower, facts.upper));
        return;
      }
  }
}

}  // namespace

Findings search(std::span<const Substitution> axioms, const Options& options) {
  Findings findings;
  const std::string text = Terms(options.seed).text(options.terms);
  const auto graph = parse_graph(text);
  if (!graph) {
    findings.contradictions.push_back("the terms are no graph: " + graph.error().message);
    return findings;
  }
  const std::vector<CompiledRule> rules = compiled(axioms, options);
  findings.rules = rules.size();
  // Variables range over undefined elements too.
  ValueFacts anything = facts_of_input(DataType::f32);
  anything.defined = false;
  const std::vector<ValueFacts> inputs(graph->inputs().size(), anything);
  EGraph egraph;
  egraph.add_graph(*graph, inputs);
  SaturationLimits limits;
  limits.node_limit = options.nodes;
  limits.iterations = 1000;
  limits.time_limit_seconds = options.seconds;
  limits.memory_limit_bytes = 16'000'000'000;
  limits.growth = 0.3;
  const SaturationReport report = saturate(egraph, rules, limits);
  findings.nodes = egraph.node_count();
  findings.classes = egraph.class_count();
  findings.iterations = report.iterations;
  findings.stopped = std::string(name(report.stop));
  if (report.stop == StopReason::failed) findings.contradictions.push_back(report.failure);
  find_contradictions(egraph, findings);
  return findings;
}

}  // namespace lemma::contradictions
