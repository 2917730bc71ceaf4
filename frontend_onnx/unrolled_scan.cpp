// Scan over a small known number of steps: its body as often, one after the other (ONNX, Scan since operator set 9).

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/graph_builder.h"
#include "frontend_onnx/made_nodes.h"

namespace lemma::frontend {

namespace {

using NodeMessage = ::onnx::NodeProto;
using Numbers = std::vector<std::int64_t>;

/// More nodes than this are better left as a loop: of one Scan, and of all, since bodies may hold others.
constexpr std::int64_t most_scan_nodes = 512, all_unrolled_limit = 4096;

/// A list with an element for each scanned input or output; all 0 where the node has none.
struct ScanLists {
  Numbers input_axes, input_directions, output_axes, output_directions;
};

struct ScanNode {
  const ::onnx::GraphProto* body = nullptr;
  int states = 0, inputs = 0, outputs = 0;
  ScanLists lists;
};

/// Nothing if the node is no Scan that is valid.
std::optional<ScanNode> scan_of(const NodeMessage& node) {
  if (node.op_type() != "Scan" || !canonical_domain(node.domain()).empty()) return std::nullopt;
  ScanNode scan;
  for (const auto& attribute : node.attribute()) {
    const Numbers numbers(attribute.ints().begin(), attribute.ints().end());
    if (attribute.name() == "body" && attribute.has_g()) scan.body = &attribute.g();
    if (attribute.name() == "num_scan_inputs") scan.inputs = static_cast<int>(attribute.i());
    if (attribute.name() == "scan_input_axes") scan.lists.input_axes = numbers;
    if (attribute.name() == "scan_input_directions") scan.lists.input_directions = numbers;
    if (attribute.name() == "scan_output_axes") scan.lists.output_axes = numbers;
    if (attribute.name() == "scan_output_directions") scan.lists.output_directions = numbers;
  }
  if (scan.body == nullptr || scan.inputs < 1 || scan.inputs > node.input_size())
    return std::nullopt;
  scan.states = node.input_size() - scan.inputs;
  scan.outputs = node.output_size() - scan.states;
  if (scan.outputs < 0 || scan.body->input_size() != node.input_size() ||
      scan.body->output_size() != node.output_size() || scan.body->sparse_initializer_size() != 0)
    return std::nullopt;
  const auto complete = [](Numbers& list, int count) {
    if (list.empty()) list.resize(static_cast<std::size_t>(count));
    return list.size() == static_cast<std::size_t>(count);
  };
  ScanLists& lists = scan.lists;
  if (!complete(lists.input_axes, scan.inputs) || !complete(lists.input_directions, scan.inputs) ||
      !complete(lists.output_axes, scan.outputs) ||
      !complete(lists.output_directions, scan.outputs))
    return std::nullopt;
  return scan;
}

/// Axis `axis` of `rank` counted from the front; nothing if there is none.
std::optional<std::int64_t> counted_from_front(std::int64_t axis, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  if (axis < -axes || axis >= axes) return std::nullopt;
  return axis < 0 ? axis + axes : axis;
}

/// Adds the steps of one Scan. Functions are false where something is not understood.
class ScanUnroller {
 public:
  /// `place`: in front of all names that are made.
  ScanUnroller(GraphBuilder& builder, const NodeMessage& node, ScanNode scan, int operator_set,
               std::string place)
      : builder_(builder),
        node_(node),
        scan_(std::move(scan)),
        maker_(builder, operator_set),
        place_(std::move(place)),
        states_(node.input().begin(), node.input().begin() + scan_.states),
        parts_(static_cast<std::size_t>(scan_.outputs)) {}

  /// `limit`: how many nodes it may become; `unrolled`: how many Scans have become.
  bool run(std::int64_t limit, std::int64_t& unrolled) {
    const std::optional<std::int64_t> steps = step_count();
    const std::int64_t nodes = scan_.body->node_size() + scan_.inputs + scan_.outputs;
    if (!steps || *steps < 1 || *steps > std::min(limit, most_scan_nodes) / nodes) return false;
    unrolled += *steps * nodes;
    if (unrolled > all_unrolled_limit) return false;
    for (std::int64_t t = 0; t < *steps; ++t)
      if (!add_step(t, *steps)) return false;
    for (int i = 0; i < scan_.outputs; ++i)
      if (!join(i)) return false;
    for (int i = 0; i < scan_.states; ++i)
      builder_.name_value(node_.output(i), *builder_.find(states_[static_cast<std::size_t>(i)]));
    return true;
  }

 private:
  /// Nothing where it is not known. Input axes are counted from the front then.
  std::optional<std::int64_t> step_count() {
    std::optional<std::int64_t> steps;
    for (int i = 0; i < scan_.inputs; ++i) {
      const ValueId* value = builder_.find(node_.input(scan_.states + i));
      if (value == nullptr || !builder_.graph().type(*value).is_known()) return std::nullopt;
      const Shape& shape = *builder_.graph().type(*value).shape;
      std::int64_t& axis = scan_.lists.input_axes[static_cast<std::size_t>(i)];
      const auto normalized = counted_from_front(axis, shape.size());
      if (!normalized) return std::nullopt;
      axis = *normalized;
      const Dimension& size = shape[static_cast<std::size_t>(axis)];
      if (!size.is_constant() || (steps && *steps != size.offset())) return std::nullopt;
      steps = size.offset();
    }
    return steps;
  }

  bool add_step(std::int64_t t, std::int64_t steps) {
    const std::string place = fmt::format("{}/{}", place_, t);
    NameMap names = constants_;
    for (int i = 0; i < scan_.states; ++i)
      names[scan_.body->input(i).name()] = states_[static_cast<std::size_t>(i)];
    for (int i = 0; i < scan_.inputs; ++i) {
      const bool backward = scan_.lists.input_directions[static_cast<std::size_t>(i)] != 0;
      const std::string& formal = scan_.body->input(scan_.states + i).name();
      names[formal] = builder_.fresh_name(fmt::format("{}/{}", place, formal));
      if (!take_element(i, backward ? steps - 1 - t : t, names[formal])) return false;
    }
    const std::size_t before = builder_.graph().nodes().size();
    if (!builder_.add_body(*scan_.body, place, names) || builder_.has_opaque_from(before))
      return false;
    if (t == 0) constants_ = GraphBuilder::constants_of(*scan_.body, names);
    for (int i = 0; i < scan_.states; ++i)
      states_[static_cast<std::size_t>(i)] = names.at(scan_.body->output(i).name());
    for (int i = 0; i < scan_.outputs; ++i)
      if (!add_part(i, names.at(scan_.body->output(scan_.states + i).name()),
                    builder_.fresh_name(fmt::format("{}/part {}", place, i))))
        return false;
    return true;
  }

  bool take_element(int input, std::int64_t position, const std::string& name) {
    return maker_.gather(node_.input(scan_.states + input), position,
                         scan_.lists.input_axes[static_cast<std::size_t>(input)], name);
  }

  /// What one step adds to an output, with the axis along which the steps follow each other.
  bool add_part(int output, const std::string& element, const std::string& name) {
    const auto k = static_cast<std::size_t>(output);
    const TensorType& type = builder_.graph().type(*builder_.find(element));
    if (!type.is_known()) return false;
    const auto axis = counted_from_front(scan_.lists.output_axes[k], type.rank() + 1);
    if (!axis) return false;
    scan_.lists.output_axes[k] = *axis;
    const bool backward = scan_.lists.output_directions[k] != 0;
    parts_[k].insert(backward ? parts_[k].begin() : parts_[k].end(), name);
    return maker_.unsqueeze(element, *axis, name);
  }

  bool join(int output) {
    const std::string& name = node_.output(scan_.states + output);
    const auto k = static_cast<std::size_t>(output);
    return name.empty() || maker_.concat(parts_[k], scan_.lists.output_axes[k], name);
  }

  GraphBuilder& builder_;
  const NodeMessage& node_;
  ScanNode scan_;
  NodeMaker maker_;
  std::string place_;
  NameMap constants_;                            // of the body
  std::vector<std::string> states_;              // names of the values after the last step
  std::vector<std::vector<std::string>> parts_;  // of each output
};

}  // namespace

/// Adds the steps in place of the node. False, and the node is to be opaque, if it is no Scan, has no step or too many,
/// or something in its body is not understood.
bool GraphBuilder::add_unrolled_scan(const NodeMessage& node) {
  std::optional<ScanNode> scan = scan_of(node);
  const auto set = operator_set_of(node);
  constexpr int without_batch_since = 9;
  if (!scan || !set || *set < without_batch_since) return false;
  const auto named = std::find_if(node.output().begin(), node.output().end(),
                                  [](const std::string& name) { return !name.empty(); });
  if (named == node.output().end()) return false;
  if (!ScanUnroller(*this, node, std::move(*scan), *set, *named)
           .run(expansion_.loop_limit, unrolled_nodes_))
    return false;
  ++taken_branches_;
  return true;
}

}  // namespace lemma::frontend
