#include "search/fold_constants.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>

#include "facts/weight_only.h"
#include "interpreter/run.h"
#include "ir/rebuild.h"
#include "search/folded_bytes.h"

namespace lemma {

namespace {

/// Values at the edge of the weight-only part: computed from constants, used by something else.
std::set<ValueId> frontier(const Graph& graph, const std::vector<bool>& weight_only) {
  std::set<ValueId> values;
  auto consider = [&](ValueId value) {
    if (value.is_none()) return;
    const NodeId producer = graph.producer(value);
    if (weight_only[producer.v] && graph.node(producer).kind == NodeKind::operation)
      values.insert(value);
  };
  for (const NodeId id : graph.live_nodes()) {
    if (weight_only[id.v]) continue;
    for (const ValueId input : graph.node(id).inputs) consider(input);
  }
  for (const GraphOutput& output : graph.outputs()) consider(output.value);
  return values;
}

/// Small ones first.
std::vector<ValueId> by_size(const Graph& graph, const std::set<ValueId>& values) {
  std::vector<ValueId> result(values.begin(), values.end());
  std::stable_sort(result.begin(), result.end(), [&graph](ValueId a, ValueId b) {
    return byte_count(graph.type(a)) < byte_count(graph.type(b));
  });
  return result;
}

/// Whether an operator that is left computed takes part in each value.
std::vector<bool> values_left_computed(const Graph& graph, const std::set<std::string>& operators) {
  std::vector<bool> left(graph.value_count(), false);
  if (operators.empty()) return left;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    const bool is_left =
        (node.kind == NodeKind::operation && operators.contains(folded_operator(graph, node))) ||
        std::any_of(node.inputs.begin(), node.inputs.end(),
                    [&left](ValueId input) { return !input.is_none() && left[input.v]; });
    for (std::uint32_t k = 0; is_left && k < node.output_count; ++k) left[node.output(k).v] = true;
  }
  return left;
}

/// Adds what a value is computed from and is no constant yet.
void add_computed_operands(const Graph& graph, ValueId value, std::set<ValueId>& operands) {
  for (const ValueId input : graph.node(graph.producer(value)).inputs)
    if (!input.is_none() && graph.node(graph.producer(input)).kind == NodeKind::operation)
      operands.insert(input);
}

double bytes_of_constants(const Graph& graph) {
  double bytes = 0;
  for (const NodeId id : graph.live_nodes())
    if (const Node& node = graph.node(id); node.kind == NodeKind::constant)
      bytes += byte_count(graph.type(node.output()));
  return bytes;
}

/// Bytes of all constants that a value is computed from, each once.
double source_bytes(const Graph& graph, ValueId value) {
  double bytes = 0;
  std::set<NodeId> seen;
  std::vector<NodeId> stack = {graph.producer(value)};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::constant) bytes += byte_count(graph.type(node.output()));
    for (const ValueId input : node.inputs)
      if (!input.is_none()) stack.push_back(graph.producer(input));
  }
  return bytes;
}

/// The number that a constant of one element holds, if an attribute in a file can hold it.
std::optional<double> number_in(const Graph& graph, ValueId value) {
  const Node& node = graph.node(graph.producer(value));
  if (node.kind != NodeKind::constant || graph.constant(node).element_count() != 1)
    return std::nullopt;
  const std::vector<double> elements = graph.constant(node).reals();
  if (elements.size() != 1 || static_cast<double>(static_cast<float>(elements[0])) != elements[0])
    return std::nullopt;
  return elements[0];
}

/// Nothing if the operator has no constant form, or an operand is not known.
std::optional<Attributes> attributes_of_constant_form(const Graph& graph, const Node& node,
                                                      const std::vector<ValueId>& operands) {
  const ConstantForm& form = record(node.op).constant_form;
  if (form.op.empty() || operands.size() > 1 + form.attributes.size()) return std::nullopt;
  Attributes result;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].is_none()) continue;
    const auto number = number_in(graph, operands[i]);
    if (!number) return std::nullopt;
    result.set(std::string(form.attributes[i - 1]), *number);
  }
  return result;
}

/// Copies nodes of one graph into another, on demand and without recursion.
class Copier {
 public:
  Copier(const Graph& from, Graph& to, std::vector<ValueId> known)
      : from_(from), to_(to), values_(std::move(known)) {}

  Result<ValueId> copy(ValueId root) {
    std::vector<NodeId> stack = {from_.producer(root)};
    while (!stack.empty()) {
      const NodeId id = stack.back();
      const Node& node = from_.node(id);
      bool ready = true;
      if (values_[node.first_output].is_none())
        for (const ValueId input : node.inputs)
          if (!input.is_none() && values_[input.v].is_none()) {
            stack.push_back(from_.producer(input));
            ready = false;
          }
      if (!ready) continue;
      stack.pop_back();
      if (values_[node.first_output].is_none()) LEMMA_RETURN_IF_ERROR(add(node));
    }
    return values_[root.v];
  }

  Result<void> add(const Node& node) {
    if (node.kind != NodeKind::operation) return copy_node(from_, node, to_, values_);
    std::vector<ValueId> operands = operands_in(node, values_);
    const std::optional<Attributes> form = attributes_of_constant_form(to_, node, operands);
    if (!form) return copy_node(from_, node, to_, values_);
    operands.resize(1);
    LEMMA_ASSIGN_OR_RETURN(const NodeId id,
                           to_.add_operation(operator_named(record(node.op).constant_form.op),
                                             std::move(operands), *form, node.output_count));
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      values_[node.output(k).v] = to_.node(id).output(k);
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      to_.suggest_name(values_[node.output(k).v], from_.suggested_name(node.output(k)));
    return {};
  }

  const std::vector<ValueId>& values() const { return values_; }

 private:
  const Graph& from_;
  Graph& to_;
  std::vector<ValueId> values_;
};

/// Contents of one weight-only value; nothing if it cannot be computed.
std::optional<Constant> compute(const Graph& graph, ValueId value, const FoldOptions& options) {
  Graph part;
  Copier copier(graph, part, std::vector<ValueId>(graph.value_count(), ValueId::none()));
  const auto root = copier.copy(value);
  if (!root || !part.add_output("value", *root)) return std::nullopt;
  interpreter::RunOptions run_options;
  run_options.threads = options.threads;
  run_options.deadline = options.deadline;
  run_options.in_order = true;  // bits of weights are the same in tensors of other shapes
  auto results = interpreter::run(part, {}, run_options);
  if (!results || results->size() != 1) return std::nullopt;
  return results->front().constant();
}

/// Decides which values are worth their bytes.
class Folding {
 public:
  Folding(const Graph& graph, const FoldOptions& options)
      : graph_(graph),
        options_(options),
        stays_computed_(values_left_computed(graph, options.left_computed)),
        sizes_(graph),
        free_bytes_(std::max(options.free_bytes, options.free_share * bytes_of_constants(graph))) {}

  /// Nothing if it stays computed.
  std::optional<Constant> contents_if_wanted(ValueId value) {
    if (stays_computed_[value.v]) return std::nullopt;
    const double bytes = byte_count(graph_.type(value));
    if (bytes < 0) return std::nullopt;
    const bool is_in_proportion = bytes <= options_.growth * source_bytes(graph_, value);
    const double added = is_in_proportion ? 0 : sizes_.added_by(value);
    if (!is_in_proportion && added_bytes_ + added > free_bytes_) return std::nullopt;
    auto contents = compute(graph_, value, options_);
    if (!contents) return std::nullopt;
    sizes_.fold(value);
    added_bytes_ += added;
    return contents;
  }

 private:
  const Graph& graph_;
  const FoldOptions& options_;
  std::vector<bool> stays_computed_;  // by value
  FoldedBytes sizes_;
  double free_bytes_;
  double added_bytes_ = 0;
};

}  // namespace

FoldOptions fold_without_growth(FoldOptions options, double bytes) {
  options.growth = 0;
  options.free_bytes = bytes;
  options.free_share = 0;
  return options;
}

Result<Graph> fold_constants(const Graph& graph, const FoldOptions& options) {
  const std::vector<bool> weight_only = weight_only_nodes(graph, options.folds_stored_forms);
  Graph folded;
  folded.set_name(graph.name());
  std::vector<ValueId> known(graph.value_count(), ValueId::none());
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    LEMMA_ASSIGN_OR_RETURN(known[node.output().v],
                           folded.add_input(graph.input_name(node), graph.type(node.output())));
  }
  Folding folding(graph, options);
  // Where a value is too large, what it is computed from may not be.
  std::set<ValueId> candidates = frontier(graph, weight_only), seen = candidates;
  while (!candidates.empty()) {
    std::set<ValueId> operands;
    for (const ValueId value : by_size(graph, candidates)) {
      auto contents = folding.contents_if_wanted(value);
      if (options.deadline && std::chrono::steady_clock::now() > *options.deadline)
        return unsupported("there was no time to fold the constants");
      if (contents) {
        known[value.v] = folded.add_constant(std::move(*contents));
        folded.suggest_name(known[value.v], graph.suggested_name(value));
      } else {
        add_computed_operands(graph, value, operands);
      }
    }
    candidates.clear();
    std::set_difference(operands.begin(), operands.end(), seen.begin(), seen.end(),
                        std::inserter(candidates, candidates.end()));
    seen.insert(candidates.begin(), candidates.end());
  }
  Copier copier(graph, folded, std::move(known));
  for (const GraphOutput& output : graph.outputs()) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, copier.copy(output.value));
    LEMMA_RETURN_IF_ERROR(folded.add_output(output.name, value));
  }
  return folded;
}

}  // namespace lemma
