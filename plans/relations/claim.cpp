#include "plans/relations/claim.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "facts/observation.h"
#include "ir/expand.h"
#include "rule_language/substitution.h"
#include "verifier/index/prove_axiom.h"

namespace lemma::plans {

namespace {

constexpr std::string_view name_of_claim = "NAME";

/// Writes the values that two sides need, operands first.
class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string operator()(const Claim& claim) {
    count_uses(claim.left);
    count_uses(claim.right);
    const std::string left = term(claim.left), right = term(claim.right);
    return fmt::format("rule {}\n{}{}  {}\n    => {}\n", name_of_claim, fmt::join(inputs_, ""),
                       fmt::join(lets_, ""), left, right);
  }

 private:
  void count_uses(ValueId value) {
    const NodeId producer = graph_.producer(value);
    if (++uses_[producer.v] > 1) return;
    for (const ValueId operand : graph_.node(producer).inputs)
      if (!operand.is_none()) count_uses(operand);
  }

  std::string term(ValueId value) {
    if (value.is_none()) return "_";
    const NodeId producer = graph_.producer(value);
    const Node& node = graph_.node(producer);
    if (const auto known = names_.find(producer.v); known != names_.end())
      return selected(known->second, value, node);
    if (node.kind == NodeKind::input) {
      const std::string name = fmt::format("x{}", inputs_.size());
      inputs_.push_back(fmt::format("  {} : {}\n", name, lemma::text(graph_.type(value))));
      names_.emplace(producer.v, name);
      return name;
    }
    std::vector<std::string> operands, attributes;
    for (const ValueId operand : node.inputs) operands.push_back(term(operand));
    for (const auto& [name, attribute] : node.attributes)
      attributes.push_back(fmt::format("{}={}", name, lemma::text(attribute)));
    std::string written = fmt::format("{}{{{}}}({})", graph_.op(node).name,
                                      fmt::join(attributes, ", "), fmt::join(operands, ", "));
    if (uses_[producer.v] > 1 || node.output_count > 1) {
      const std::string name = fmt::format("t{}", lets_.size());
      lets_.push_back(fmt::format("  let {} = {}\n", name, written));
      names_.emplace(producer.v, name);
      written = name;
    }
    return selected(written, value, node);
  }

  std::string selected(const std::string& written, ValueId value, const Node& node) const {
    if (node.output_count == 1) return written;
    return fmt::format("{}#{}", written, graph_.output_index(value));
  }

  const Graph& graph_;
  std::map<std::uint32_t, int> uses_;
  std::map<std::uint32_t, std::string> names_;
  std::vector<std::string> inputs_, lets_;
};

std::string named(std::string text, const std::string& name) {
  return text.replace(text.find(name_of_claim), name_of_claim.size(), name);
}

/// The claim with what its operators are composed of in their place: what is known of operators, such as that they are
/// defined wherever their operands are, is known of these.
Result<Claim> expanded(const Claim& claim) {
  Graph graph = claim.graph;
  LEMMA_ASSIGN_OR_RETURN(graph, expand_composites(graph));
  const ValueId left = graph.outputs()[0].value, right = graph.outputs()[1].value;
  return Claim{std::move(graph), left, right};
}

/// Whether an operator tells NaN from numbers.
bool observes_undefined(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    if (node.kind != NodeKind::operation) return false;
    const std::vector<TensorType> types = graph.input_types(node);
    return lemma::observes_undefined(graph.op(node), {types, node.attributes, node.output_count});
  });
}

/// Decides a claim as it is written.
bool is_proved(AskedClaim& asked, bool with_defined_inputs) {
  const auto parsed = parse_substitutions(asked.rule, "claim");
  if (!parsed) return false;
  asked.is_proved =
      verifier::prove_by_index(parsed->front(), {.assume_defined = with_defined_inputs}).proved;
  asked.needs_defined_inputs = asked.is_proved && with_defined_inputs;
  return asked.is_proved;
}

}  // namespace

Result<std::string> text(const Claim& claim) {
  for (const NodeId id : claim.graph.live_nodes()) {
    const NodeKind kind = claim.graph.node(id).kind;
    if (kind == NodeKind::constant || kind == NodeKind::opaque)
      return unsupported("a claim is about operators and inputs only");
  }
  return Writer(claim.graph)(claim);
}

std::optional<std::size_t> Claims::ask(const Claim& claim) {
  const auto written = text(claim);
  if (!written) return std::nullopt;
  const auto [place, is_new] = by_text_.emplace(*written, claims_.size());
  if (is_new) {
    const std::string name = fmt::format("step_{}", claims_.size());
    AskedClaim asked;
    asked.rule = named(*written, name);
    if (!is_proved(asked, false) && !is_proved(asked, true) && observes_undefined(claim.graph)) {
      const auto parts = expanded(claim);
      const auto rule = parts ? text(*parts) : tl::unexpected(parts.error());
      if (rule && *rule != *written) {
        asked.rule = named(*rule, name);
        is_proved(asked, true);
      }
    }
    claims_.push_back(std::move(asked));
  }
  if (!claims_[place->second].is_proved) return std::nullopt;
  return place->second;
}

}  // namespace lemma::plans
