// Loop of which is known when it ends: its body once for each step, one after the other (ONNX, Loop since operator set 1).

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

constexpr int own_inputs = 2, own_outputs = 1;  // step and condition; condition

struct LoopNode {
  const ::onnx::GraphProto* body = nullptr;
  int states = 0, scanned = 0;
};

/// ONNX Runtime makes the step and the condition that the body takes of the rank that the body declares.
bool is_scalar(const ::onnx::ValueInfoProto& input) {
  const auto& tensor = input.type().tensor_type();
  return !input.type().has_tensor_type() || !tensor.has_shape() || tensor.shape().dim_size() == 0;
}

/// Nothing if the node is no Loop that is valid.
std::optional<LoopNode> loop_of(const NodeMessage& node) {
  if (node.op_type() != "Loop" || !canonical_domain(node.domain()).empty()) return std::nullopt;
  LoopNode loop;
  for (const auto& attribute : node.attribute())
    if (attribute.name() == "body" && attribute.has_g()) loop.body = &attribute.g();
  if (loop.body == nullptr || node.input_size() < own_inputs) return std::nullopt;
  loop.states = node.input_size() - own_inputs;
  loop.scanned = node.output_size() - loop.states;
  if (loop.scanned < 0 || loop.body->input_size() != node.input_size() ||
      loop.body->output_size() != node.output_size() + own_outputs ||
      loop.body->sparse_initializer_size() != 0)
    return std::nullopt;
  if (!is_scalar(loop.body->input(0)) || !is_scalar(loop.body->input(1))) return std::nullopt;
  for (int i = 0; i < loop.states; ++i)
    if (node.input(own_inputs + i).empty()) return std::nullopt;
  return loop;
}

/// Whether the body hands on the condition that it is given.
bool goes_on_always(const ::onnx::GraphProto& body) {
  std::string condition = body.output(0).name();
  for (int i = body.node_size() - 1; i >= 0; --i) {
    const NodeMessage& node = body.node(i);
    if (node.op_type() == "Identity" && node.output_size() == 1 && node.output(0) == condition &&
        node.input_size() == 1)
      condition = node.input(0);
  }
  return condition == body.input(1).name();
}

/// Adds the steps of one Loop. Functions are false where something is not understood.
class LoopUnroller {
 public:
  /// `place`: in front of all names that are made.
  LoopUnroller(GraphBuilder& builder, const NodeMessage& node, LoopNode loop, int operator_set,
               std::string place)
      : builder_(builder),
        node_(node),
        loop_(loop),
        maker_(builder, operator_set),
        place_(std::move(place)),
        states_(node.input().begin() + own_inputs, node.input().end()),
        parts_(static_cast<std::size_t>(loop_.scanned)) {}

  /// `limit`: how many nodes it may become; `left`: how many all Loops may.
  bool run(std::int64_t limit, std::int64_t& left) {
    bool is_limited = false;
    const std::int64_t nodes = loop_.body->node_size() + loop_.scanned + 1;
    std::int64_t most = std::min(limit, left) / nodes;
    if (!read_ends(is_limited)) return false;
    // Where the condition may end it, it is not known how many steps it takes: they are tried.
    const bool ends_by_count = is_limited && trips_ <= most;
    if (!ends_by_count && goes_on_always(*loop_.body)) return false;
    if (ends_by_count) most = trips_;
    std::int64_t t = 0;
    for (; goes_on_ && t < most; ++t)
      if (!add_step(t, ends_by_count && t + 1 == most)) return false;
    if (goes_on_ && !ends_by_count) return false;
    left -= t * nodes;
    return give_results(t);
  }

 private:
  std::optional<bool> boolean(const std::string& name) const {
    const ValueId* value = builder_.find(name);
    const Constant* constant = value != nullptr ? builder_.computed(*value) : nullptr;
    if (constant == nullptr || constant->type().data_type != DataType::boolean ||
        constant->element_count() != 1)
      return std::nullopt;
    return constant->bytes().front() != std::byte{0};
  }

  /// The trip count, and whether there is a first step.
  bool read_ends(bool& is_limited) {
    is_limited = !node_.input(0).empty();
    if (is_limited) {
      const Constant* count = builder_.computed(*builder_.find(node_.input(0)));
      if (count == nullptr || count->type().data_type != DataType::i64 ||
          count->element_count() != 1)
        return false;
      trips_ = std::max<std::int64_t>(count->integers().front(), 0);
    }
    if (node_.input(1).empty()) return true;
    const auto condition = boolean(node_.input(1));
    goes_on_ = condition.value_or(true);
    return condition.has_value();
  }

  bool add_step(std::int64_t t, bool is_last) {
    const std::string place = fmt::format("{}/{}", place_, t);
    const auto& body = *loop_.body;
    NameMap names = constants_;
    const auto own_name = [&](int input) {
      return names[body.input(input).name()] =
                 builder_.fresh_name(fmt::format("{}/{}", place, body.input(input).name()));
    };
    if (!maker_.add_integer(own_name(0), t) || !maker_.add_boolean(own_name(1), true)) return false;
    for (int i = 0; i < loop_.states; ++i)
      names[body.input(own_inputs + i).name()] = states_[static_cast<std::size_t>(i)];
    const std::size_t before = builder_.graph().nodes().size();
    if (!builder_.add_body(body, place, names) || builder_.has_opaque_from(before)) return false;
    if (t == 0) constants_ = GraphBuilder::constants_of(body, names);
    if (!is_last && !take_condition(names.at(body.output(0).name()))) return false;
    for (int i = 0; i < loop_.states; ++i)
      states_[static_cast<std::size_t>(i)] = names.at(body.output(own_outputs + i).name());
    for (int i = 0; i < loop_.scanned; ++i)
      if (!add_part(i, names.at(body.output(own_outputs + loop_.states + i).name()),
                    builder_.fresh_name(fmt::format("{}/part {}", place, i))))
        return false;
    return true;
  }

  /// Where the Loop has no condition, ONNX ignores that of the body, and ONNX Runtime does not: one that ends such a Loop
  /// is left to them.
  bool take_condition(const std::string& name) {
    const auto condition = boolean(name);
    goes_on_ = condition.value_or(false);
    return condition && (goes_on_ || !node_.input(1).empty());
  }

  bool add_part(int output, const std::string& element, const std::string& name) {
    if (!builder_.graph().type(*builder_.find(element)).is_known()) return false;
    parts_[static_cast<std::size_t>(output)].push_back(name);
    return maker_.unsqueeze(element, 0, name);
  }

  /// Without a step it is not known how an output looks that collects what steps give.
  bool give_results(std::int64_t steps) {
    for (int i = 0; i < loop_.scanned; ++i) {
      const std::string& name = node_.output(loop_.states + i);
      if (name.empty()) continue;
      if (steps == 0 || !maker_.concat(parts_[static_cast<std::size_t>(i)], 0, name)) return false;
    }
    for (int i = 0; i < loop_.states; ++i)
      builder_.alias(node_.output(i), *builder_.find(states_[static_cast<std::size_t>(i)]));
    return true;
  }

  GraphBuilder& builder_;
  const NodeMessage& node_;
  LoopNode loop_;
  NodeMaker maker_;
  std::string place_;
  std::int64_t trips_ = 0;                       // at most, where it is limited
  bool goes_on_ = true;                          // there is a next step
  NameMap constants_;                            // of the body
  std::vector<std::string> states_;              // names of the values after the last step
  std::vector<std::vector<std::string>> parts_;  // of each output that collects what steps give
};

}  // namespace

/// Adds the steps in place of the node. False, and the node is to be opaque, if it is no Loop, has too many steps or an
/// unknown number of them, or something in its body is not understood.
bool GraphBuilder::add_unrolled_loop(const NodeMessage& node) {
  const std::optional<LoopNode> loop = loop_of(node);
  const auto set = operator_set_of(node);
  if (!loop || !set) return false;
  const auto named = std::find_if(node.output().begin(), node.output().end(),
                                  [](const std::string& name) { return !name.empty(); });
  if (named == node.output().end()) return false;
  LoopUnroller unroller(*this, node, *loop, *set, *named);
  if (!unroller.run(expansion_.loop_limit, loop_nodes_left_)) return false;
  ++taken_branches_;
  return true;
}

}  // namespace lemma::frontend
