// TreeEnsemble (ai.onnx.ml, since operator set 5): which nodes are read depends on values.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Numbers = std::vector<std::int64_t>;

/// What nodes ask, as nodes_modes has it.
enum class Mode : std::uint8_t { leq, lt, gte, gt, eq, neq, member };

struct TreeNode {
  std::size_t feature = 0;
  double split = 0;
  Mode mode = Mode::leq;
  std::set<double> members;
  bool missing_is_true = false;
  std::array<std::size_t, 2> next = {};  // where to go if it does not hold, and if it does
  std::array<bool, 2> to_leaf = {};
};

struct Leaf {
  std::size_t target = 0;
  double weight = 0;
};

struct Ensemble {
  std::vector<TreeNode> nodes;
  std::vector<Leaf> leaves;
  std::vector<std::size_t> roots;
  std::size_t targets = 0;
  std::int64_t aggregation = 1;
};

Result<std::vector<double>> real_tensor(const NodeAttributes& attributes, const std::string& name) {
  const auto entry = attributes.tensors.find(name);
  if (entry == attributes.tensors.end() || entry->second.tensor() == nullptr)
    return bad_input(fmt::format("{} is missing", name));
  return entry->second.tensor()->reals();
}

/// A list of indices below a limit, of the given length.
Result<Numbers> index_list(const NodeAttributes& attributes, std::string_view name,
                           std::size_t length, std::int64_t limit) {
  const auto list = attributes.integers(name);
  if (!list || list->size() != length)
    return bad_input(fmt::format("{} is missing or of a wrong length", name));
  for (const std::int64_t index : *list)
    if (index < 0 || index >= limit)
      return bad_input(fmt::format("{} has the entry {}", name, index));
  return *list;
}

bool holds(const TreeNode& node, double x) {
  if (std::isnan(x)) return node.missing_is_true;
  switch (node.mode) {
    case Mode::leq: return x <= node.split;
    case Mode::lt: return x < node.split;
    case Mode::gte: return x >= node.split;
    case Mode::gt: return x > node.split;
    case Mode::eq: return x == node.split;
    case Mode::neq: return x != node.split;
    case Mode::member: return node.members.contains(x);
  }
  return false;
}

/// Sets of members are separated by NaN, one for each node that asks for one.
Result<void> read_members(const NodeAttributes& attributes, Ensemble& trees) {
  const bool is_asked = std::any_of(trees.nodes.begin(), trees.nodes.end(),
                                    [](const TreeNode& n) { return n.mode == Mode::member; });
  if (!is_asked) return {};
  LEMMA_ASSIGN_OR_RETURN(const std::vector<double> values,
                         real_tensor(attributes, "membership_values"));
  std::size_t at = 0;
  for (TreeNode& node : trees.nodes) {
    if (node.mode != Mode::member) continue;
    if (at >= values.size()) return bad_input("membership_values has too few sets");
    for (; at < values.size() && !std::isnan(values[at]); ++at) node.members.insert(values[at]);
    ++at;
  }
  return {};
}

Result<void> read_branches(const NodeAttributes& attributes, Ensemble& trees) {
  const std::size_t count = trees.nodes.size();
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  const std::array<std::array<const char*, 2>, 2> names = {
      {{"nodes_falseleafs", "nodes_falsenodeids"}, {"nodes_trueleafs", "nodes_truenodeids"}}};
  for (std::size_t side = 0; side < 2; ++side) {
    LEMMA_ASSIGN_OR_RETURN(const Numbers leafs, index_list(attributes, names[side][0], count, 2));
    LEMMA_ASSIGN_OR_RETURN(const Numbers next, index_list(attributes, names[side][1], count, any));
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_leaf = leafs[i] != 0;
      if (static_cast<std::size_t>(next[i]) >= (is_leaf ? trees.leaves.size() : count))
        return bad_input(fmt::format("{} has the entry {}", names[side][1], next[i]));
      trees.nodes[i].to_leaf[side] = is_leaf;
      trees.nodes[i].next[side] = static_cast<std::size_t>(next[i]);
    }
  }
  return {};
}

Result<Ensemble> read_ensemble(const NodeAttributes& attributes, std::int64_t features) {
  Ensemble trees;
  const std::int64_t targets = attributes.integer("n_targets", 0);
  if (targets < 1 || targets > 1 << 20) return bad_input("n_targets is wrong");
  trees.targets = static_cast<std::size_t>(targets);
  trees.aggregation = attributes.integer("aggregate_function", 1);
  if (attributes.integer("post_transform", 0) != 0)
    return unsupported("TreeEnsemble with a post_transform");
  LEMMA_ASSIGN_OR_RETURN(const auto splits, real_tensor(attributes, "nodes_splits"));
  LEMMA_ASSIGN_OR_RETURN(const auto modes, real_tensor(attributes, "nodes_modes"));
  LEMMA_ASSIGN_OR_RETURN(const auto weights, real_tensor(attributes, "leaf_weights"));
  if (modes.size() != splits.size()) return bad_input("nodes_modes is of a wrong length");
  LEMMA_ASSIGN_OR_RETURN(const Numbers of_leaves,
                         index_list(attributes, "leaf_targetids", weights.size(), targets));
  for (std::size_t i = 0; i < weights.size(); ++i)
    trees.leaves.push_back({static_cast<std::size_t>(of_leaves[i]), weights[i]});
  LEMMA_ASSIGN_OR_RETURN(const Numbers of_nodes,
                         index_list(attributes, "nodes_featureids", splits.size(), features));
  const auto missing = attributes.integers("nodes_missing_value_tracks_true");
  if (missing && !missing->empty() && missing->size() != splits.size())
    return bad_input("nodes_missing_value_tracks_true is of a wrong length");
  for (std::size_t i = 0; i < splits.size(); ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) return bad_input("nodes_modes has an unknown mode");
    TreeNode& node = trees.nodes.emplace_back();
    node.feature = static_cast<std::size_t>(of_nodes[i]);
    node.split = splits[i];
    node.mode = static_cast<Mode>(static_cast<int>(modes[i]));
    node.missing_is_true = missing && !missing->empty() && (*missing)[i] != 0;
  }
  LEMMA_RETURN_IF_ERROR(read_members(attributes, trees));
  LEMMA_RETURN_IF_ERROR(read_branches(attributes, trees));
  const auto roots = attributes.integers("tree_roots").value_or(Numbers());
  LEMMA_ASSIGN_OR_RETURN(
      const Numbers checked,
      index_list(attributes, "tree_roots", roots.size(), static_cast<std::int64_t>(splits.size())));
  for (const std::int64_t root : checked) trees.roots.push_back(static_cast<std::size_t>(root));
  return trees;
}

/// The leaf that a tree gives for a row. Nodes that go round in a circle are an error.
Result<Leaf> leaf_of(const Ensemble& trees, std::size_t root, std::span<const double> row) {
  std::size_t at = root;
  for (std::size_t steps = 0; steps <= trees.nodes.size(); ++steps) {
    const TreeNode& node = trees.nodes[at];
    const std::size_t side = holds(node, row[node.feature]) ? 1 : 0;
    if (node.to_leaf[side]) return trees.leaves[node.next[side]];
    at = node.next[side];
  }
  return bad_input("the nodes of a tree go round in a circle");
}

/// The aggregate of the leaves of one target; 0 if there are none.
double aggregate(const std::vector<double>& weights, std::int64_t how, std::size_t trees) {
  if (weights.empty()) return 0;
  if (how == 2) return *std::min_element(weights.begin(), weights.end());
  if (how == 3) return *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (const double weight : weights) sum += weight;
  return how == 0 ? sum / static_cast<double>(trees) : sum;
}

Result<std::vector<RunTimeValue>> tree_ensemble(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* x, call.tensor(0));
  const DataType type = x->type().data_type;
  const auto sizes = sizes_of(*x);
  if (sizes.size() != 2 || (type != DataType::f32 && type != DataType::f64))
    return unsupported(fmt::format("TreeEnsemble of {}", text(call.inputs[0])));
  LEMMA_ASSIGN_OR_RETURN(const Ensemble trees, read_ensemble(call.attributes, sizes[1]));
  const std::vector<double> elements = x->reals();
  const auto features = static_cast<std::size_t>(sizes[1]);
  std::vector<double> results;
  for (std::size_t i = 0; i < static_cast<std::size_t>(sizes[0]); ++i) {
    std::vector<std::vector<double>> weights(trees.targets);
    for (const std::size_t root : trees.roots) {
      LEMMA_ASSIGN_OR_RETURN(
          const Leaf leaf,
          leaf_of(trees, root, std::span(elements).subspan(i * features, features)));
      weights[leaf.target].push_back(leaf.weight);
    }
    for (const std::vector<double>& of_target : weights)
      results.push_back(aggregate(of_target, trees.aggregation, trees.roots.size()));
  }
  const Numbers result_sizes = {sizes[0], static_cast<std::int64_t>(trees.targets)};
  if (type == DataType::f64)
    return std::vector<RunTimeValue>{Constant::of(type, result_sizes, results)};
  return std::vector<RunTimeValue>{
      Constant::of(type, result_sizes, std::vector<float>(results.begin(), results.end()))};
}

constexpr std::array tree_procedures = {
    ProcedureRecord{"TreeEnsemble", "ai.onnx.ml", 5,
                    "the weights of the leaves to which trees of decisions lead, for each target",
                    tree_ensemble},
};

}  // namespace

std::span<const ProcedureRecord> trees() { return tree_procedures; }

}  // namespace lemma::procedures
