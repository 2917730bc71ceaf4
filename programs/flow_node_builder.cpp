#include "programs/flow_node_builder.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace lemma {

using backend::FlowLoop;
using backend::FlowTensorNumber;
using backend::no_tensor;

namespace {

constexpr int most_depth = 32;  // of blocks in blocks
/// Larger tensors that loops fill are taken for mistakes: their rows are as many as a count says.
constexpr double most_bytes = 1e12;

const TensorType scalar_i64 = {DataType::i64, Shape()};

bool is_single(const FlowValue& value, DataType type) {
  if (value.type.data_type != type || !value.type.shape) return false;
  return std::all_of(value.type.shape->begin(), value.type.shape->end(),
                     [](const Dimension& size) { return size.is(1); });
}

/// The one element of a constant; nothing for other values.
std::optional<std::int64_t> known_element(const FlowValue& value) {
  if (!value.constant) return std::nullopt;
  return value.constant->integers().front();
}

FlowValue constant_true() {
  return FlowValue::of(Constant::of(DataType::boolean, {}, std::vector<std::uint8_t>{1}));
}

Result<void> check_condition(const FlowValue& value) {
  if (value.is_absent() || is_single(value, DataType::boolean)) return {};
  return bad_input(fmt::format("the condition is {}, not one boolean", text(value.type)));
}

/// The inputs of a graph that something in it uses.
std::set<std::string> used_inputs(const Graph& graph) {
  std::set<std::string> used;
  const auto use = [&](ValueId value) {
    if (value.is_none()) return;
    const Node& producer = graph.node(graph.producer(value));
    if (producer.kind == NodeKind::input) used.insert(graph.input_name(producer));
  };
  for (const NodeId id : graph.live_nodes())
    for (const ValueId input : graph.node(id).inputs) use(input);
  for (const GraphOutput& output : graph.outputs()) use(output.value);
  return used;
}

std::vector<std::int64_t> list_of(const KeptNode& node, std::string_view name, std::size_t count) {
  auto given = node.attributes().integers(name).value_or(std::vector<std::int64_t>());
  if (given.empty()) given.resize(count);
  return given;
}

Result<std::size_t> axis_within(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) return bad_input("an axis to scan along does not exist");
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

/// The rows of a tensor along an axis.
backend::RowLayout layout_of(const backend::FlowTensor& whole, std::size_t axis, bool is_reversed) {
  backend::RowLayout layout;
  layout.bytes = byte_size(whole.type);
  for (std::size_t i = 0; i < whole.sizes.size(); ++i) {
    const auto size = static_cast<std::uint64_t>(whole.sizes[i]);
    if (i < axis) layout.outer *= size;
    if (i == axis) layout.count = size;
    if (i > axis) layout.bytes *= size;
  }
  layout.is_reversed = is_reversed;
  return layout;
}

}  // namespace

Result<std::vector<FlowValue>> FlowNodeBuilder::add(const std::vector<FlowValue>& operands) {
  if (depth_ >= most_depth) return unsupported("there are too many bodies in each other");
  const std::size_t count = std::min(node_.input_count(), operands.size());
  const auto end_of_own = operands.begin() + static_cast<std::ptrdiff_t>(count);
  own_.assign(operands.begin(), end_of_own);
  captured_.assign(end_of_own, operands.end());
  if (node_.domain().empty()) {
    if (node_.name() == "If") return add_if();
    if (node_.name() == "Loop") return add_loop();
    if (node_.name() == "Scan") return add_scan();
  }
  return unsupported("it has no program");
}

void FlowNodeBuilder::need(const FlowValue& value) {
  if (value.level != FlowValue::no_level)
    level_ = std::max(level_, value.level + (value.level % 2 == 0 ? 1 : 0));
}

Result<FlowTensorNumber> FlowNodeBuilder::needed_tensor(const FlowValue& value) {
  need(value);
  return around_.tensor_of(value);
}

Result<FlowNodeBuilder::Body> FlowNodeBuilder::body(std::string_view attribute,
                                                    const std::vector<FlowValue>& own) {
  const KeptBody* kept = node_.body(attribute);
  if (kept == nullptr) return bad_input(fmt::format("it has no {}", attribute));
  if (kept->inputs.size() != own.size())
    return bad_input(fmt::format("{} has {} inputs, and is given {}", attribute,
                                 kept->inputs.size(), own.size()));
  std::vector<KnownInput> known, captured;
  for (const FlowValue& value : own) known.push_back(known_input(value));
  for (const FlowValue& value : captured_) captured.push_back(known_input(value));
  auto graph = node_.graph_of(*kept, known, captured);
  if (!graph) return with_context(attribute, std::move(graph.error()));
  Body result{std::move(*graph), {}};
  std::vector<FlowValue> all = own;
  all.insert(all.end(), captured_.begin(), captured_.end());
  for (std::size_t i = 0; i < all.size(); ++i)
    result.inputs.emplace(fmt::format("{}", i), std::move(all[i]));
  return result;
}

Result<FlowNodeBuilder::BuiltBody> FlowNodeBuilder::built(Body body, std::size_t own) {
  const std::set<std::string> used = used_inputs(body.graph);
  for (auto& [name, value] : body.inputs) {
    if (std::stoul(name) < own || value.constant || !used.contains(name)) continue;
    LEMMA_ASSIGN_OR_RETURN(const FlowTensorNumber tensor, needed_tensor(value));
    value = FlowValue::of(parts_, tensor);
  }
  BuiltBody result{FlowBlockBuilder(parts_, depth_ + 1), {}};
  LEMMA_ASSIGN_OR_RETURN(result.outputs, result.builder.add_graph(body.graph, body.inputs));
  return result;
}

// ---- If -------------------------------------------------------------------------------------------

Result<std::vector<FlowValue>> FlowNodeBuilder::add_if() {
  if (own_.size() != 1 || own_[0].is_absent()) return bad_input("it has one input, its condition");
  LEMMA_RETURN_IF_ERROR(check_condition(own_[0]));
  if (const auto known = known_element(own_[0])) {
    LEMMA_ASSIGN_OR_RETURN(const Body taken, body(*known != 0 ? "then_branch" : "else_branch", {}));
    return around_.add_graph(taken.graph, taken.inputs);
  }
  backend::FlowBranch step;
  step.name = name_;
  LEMMA_ASSIGN_OR_RETURN(step.condition, needed_tensor(own_[0]));
  std::vector<BuiltBody> branches;
  for (const char* attribute : {"then_branch", "else_branch"}) {
    LEMMA_ASSIGN_OR_RETURN(Body branch, body(attribute, {}));
    auto block = built(std::move(branch), 0);
    if (!block) return with_context(attribute, std::move(block.error()));
    branches.push_back(std::move(*block));
  }
  const std::size_t count = node_.output_count();
  if (branches[0].outputs.size() < count || branches[1].outputs.size() < count)
    return bad_input("a branch has too few outputs");
  std::vector<FlowTensorNumber> results;
  for (std::size_t k = 0; k < count; ++k) {
    const FlowValue &yes = branches[0].outputs[k], &no = branches[1].outputs[k];
    if (yes.type != no.type)
      return unsupported(fmt::format("its branches give {} and {} as output {}", text(yes.type),
                                     text(no.type), k));
    for (std::size_t branch = 0; branch < 2; ++branch) {
      LEMMA_ASSIGN_OR_RETURN(const FlowTensorNumber tensor,
                             branches[branch].builder.tensor_of(branches[branch].outputs[k]));
      (branch == 0 ? step.then_block : step.else_block).results.push_back(tensor);
    }
    step.results.push_back(parts_.add_tensor(fmt::format("{}, output {}", name_, k), yes.type));
  }
  step.then_block.steps = branches[0].builder.take_steps();
  step.else_block.steps = branches[1].builder.take_steps();
  std::vector<FlowValue> values;
  for (const FlowTensorNumber tensor : step.results)
    values.push_back(FlowValue::of(parts_, tensor, level_));
  around_.add_step(level_, {std::move(step)});
  return values;
}

// ---- Loops ----------------------------------------------------------------------------------------

Result<void> FlowNodeBuilder::add_states(std::span<const FlowValue> initial, FlowLoop& loop,
                                         std::vector<FlowValue>& own) {
  for (std::size_t k = 0; k < initial.size(); ++k) {
    if (initial[k].is_absent()) return unsupported(fmt::format("state {} is missing", k));
    FlowLoop::State& state = loop.states.emplace_back();
    LEMMA_ASSIGN_OR_RETURN(state.initial, needed_tensor(initial[k]));
    state.current =
        parts_.add_tensor(fmt::format("{}, state {} in a step", name_, k), initial[k].type);
    own.push_back(FlowValue::of(parts_, state.current));
  }
  return {};
}

Result<void> FlowNodeBuilder::end_states(BuiltBody& body, std::size_t first, FlowLoop& loop,
                                         std::vector<FlowValue>& results) {
  for (std::size_t k = 0; k < loop.states.size(); ++k) {
    FlowLoop::State& state = loop.states[k];
    const FlowValue& next = body.outputs[first + k];
    const TensorType before = FlowValue::of(parts_, state.current).type;
    if (next.type != before)
      return unsupported(fmt::format(
          "state {} is {} before a step and {} behind it; states of fixed sizes have a program", k,
          text(before), text(next.type)));
    LEMMA_ASSIGN_OR_RETURN(const FlowTensorNumber tensor, body.builder.tensor_of(next));
    loop.body.results.push_back(tensor);
    state.final = parts_.add_tensor(fmt::format("{}, state {}", name_, k), before);
    results.push_back(FlowValue::of(parts_, state.final));
  }
  return {};
}

/// Rows of a tensor that the step's output is one of.
Result<void> FlowNodeBuilder::make_rows(BuiltBody& body, std::size_t output, std::int64_t count,
                                        bool is_free, std::int64_t axis, bool is_reversed,
                                        FlowLoop& loop) {
  const FlowValue& row = body.outputs[output];
  FlowLoop::Rows rows;
  LEMMA_ASSIGN_OR_RETURN(rows.row, body.builder.tensor_of(row));
  TensorType type = row.type;
  LEMMA_ASSIGN_OR_RETURN(const std::size_t position, axis_within(axis, type.rank() + 1));
  const double bytes = static_cast<double>(parts_.tensor(rows.row).bytes());
  if (bytes * static_cast<double>(count) > most_bytes || count > (std::int64_t{1} << 40))
    return unsupported(
        fmt::format("{} steps give a tensor that is too large, of rows {}", count, text(type)));
  type.shape->insert(type.shape->begin() + static_cast<std::ptrdiff_t>(position), count);
  rows.whole = parts_.add_tensor(fmt::format("{}, output {}", name_, output), type);
  parts_.result.blocks.tensors[rows.whole].has_free_rows = is_free;
  rows.layout = layout_of(parts_.tensor(rows.whole), position, is_reversed);
  loop.made.push_back(rows);
  return {};
}

Result<void> FlowNodeBuilder::end_loop_condition(const FlowValue& initial, BuiltBody& body,
                                                 FlowLoop& loop) {
  if (initial.is_absent()) return {};  // what the body says of it is ignored
  const FlowValue& next = body.outputs.front();
  LEMMA_RETURN_IF_ERROR(check_condition(next));
  if (known_element(next) == std::int64_t{1}) return {};
  LEMMA_ASSIGN_OR_RETURN(loop.next_condition, body.builder.tensor_of(next));
  return {};
}

Result<std::vector<FlowValue>> FlowNodeBuilder::add_loop() {
  if (own_.size() < 2) return bad_input("it has two inputs or more");
  LEMMA_RETURN_IF_ERROR(check_condition(own_[1]));
  if (!own_[0].is_absent() && !is_single(own_[0], DataType::i64))
    return bad_input(fmt::format("the number of steps is {}, not one i64", text(own_[0].type)));
  FlowLoop loop;
  loop.name = name_;
  if (const auto known = known_element(own_[0])) {
    loop.most_steps = std::max<std::int64_t>(0, *known);
  } else if (!own_[0].is_absent()) {
    LEMMA_ASSIGN_OR_RETURN(loop.count, needed_tensor(own_[0]));
  }
  if (const auto known = known_element(own_[1])) {
    if (*known == 0) {
      loop.most_steps = 0;
      loop.count = no_tensor;
    }
  } else if (!own_[1].is_absent()) {
    LEMMA_ASSIGN_OR_RETURN(loop.condition, needed_tensor(own_[1]));
  }
  const FlowTensorNumber number =
      parts_.add_tensor(fmt::format("{}, number of the step", name_), scalar_i64);
  std::vector<FlowValue> own = {FlowValue::of(parts_, number), constant_true()};
  LEMMA_RETURN_IF_ERROR(add_states(std::span(own_).subspan(2), loop, own));
  LEMMA_ASSIGN_OR_RETURN(Body in_graph, body("body", own));
  if (used_inputs(in_graph.graph).contains("0")) loop.number = number;
  auto block = built(std::move(in_graph), own.size());
  if (!block) return with_context("body", std::move(block.error()));
  const std::size_t states = loop.states.size();
  if (block->outputs.size() < states + 1) return bad_input("the body has too few outputs");
  LEMMA_RETURN_IF_ERROR(end_loop_condition(own_[1], *block, loop));
  std::vector<FlowValue> values;
  LEMMA_RETURN_IF_ERROR(end_states(*block, 1, loop, values));
  const bool is_free =
      loop.count != no_tensor || !loop.most_steps ||
      (loop.most_steps != 0 && (loop.condition != no_tensor || loop.next_condition != no_tensor));
  std::int64_t rows = loop.most_steps.value_or(std::numeric_limits<std::int64_t>::max());
  if (is_free) rows = std::min(rows, parts_.most_rows);
  for (std::size_t i = states + 1; i < block->outputs.size(); ++i)
    LEMMA_RETURN_IF_ERROR(make_rows(*block, i, rows, is_free, 0, false, loop));
  if (is_free && !loop.made.empty()) loop.room = rows;
  for (const FlowLoop::Rows& made : loop.made) values.push_back(FlowValue::of(parts_, made.whole));
  for (FlowValue& value : values) value.level = level_;
  loop.body.steps = block->builder.take_steps();
  around_.add_step(level_, {std::move(loop)});
  return values;
}

Result<std::vector<FlowValue>> FlowNodeBuilder::add_scan() {
  if (node_.operator_set() < 9) return unsupported("Scan of operator set 8");
  const std::int64_t count = node_.attributes().integer("num_scan_inputs", 0);
  if (count < 1 || count > static_cast<std::int64_t>(own_.size()))
    return bad_input("num_scan_inputs is wrong");
  const auto scanned = static_cast<std::size_t>(count);
  const std::size_t states = own_.size() - scanned;
  FlowLoop loop;
  loop.name = name_;
  std::vector<FlowValue> own;
  LEMMA_RETURN_IF_ERROR(add_states(std::span(own_).first(states), loop, own));
  const auto axes = list_of(node_, "scan_input_axes", scanned),
             directions = list_of(node_, "scan_input_directions", scanned);
  if (axes.size() != scanned || directions.size() != scanned)
    return bad_input("a list of axes or directions has a wrong length");
  for (std::size_t k = 0; k < scanned; ++k) {
    const FlowValue& input = own_[states + k];
    if (input.is_absent()) return bad_input("an input to scan is missing");
    FlowLoop::Rows rows;
    LEMMA_ASSIGN_OR_RETURN(rows.whole, needed_tensor(input));
    LEMMA_ASSIGN_OR_RETURN(const std::size_t axis, axis_within(axes[k], input.type.rank()));
    rows.layout = layout_of(parts_.tensor(rows.whole), axis, directions[k] != 0);
    const auto length = static_cast<std::int64_t>(rows.layout.count);
    if (loop.most_steps.value_or(length) != length)
      return bad_input(
          fmt::format("scanned inputs have {} and {} steps", *loop.most_steps, length));
    loop.most_steps = length;
    TensorType type = input.type;
    type.shape->erase(type.shape->begin() + static_cast<std::ptrdiff_t>(axis));
    rows.row = parts_.add_tensor(fmt::format("{}, row {}", name_, k), type);
    own.push_back(FlowValue::of(parts_, rows.row));
    loop.read.push_back(rows);
  }
  LEMMA_ASSIGN_OR_RETURN(Body in_graph, body("body", own));
  auto block = built(std::move(in_graph), own.size());
  if (!block) return with_context("body", std::move(block.error()));
  if (block->outputs.size() < states) return bad_input("the body has too few outputs");
  std::vector<FlowValue> values;
  LEMMA_RETURN_IF_ERROR(end_states(*block, 0, loop, values));
  const std::size_t made = block->outputs.size() - states;
  const auto output_axes = list_of(node_, "scan_output_axes", made),
             output_directions = list_of(node_, "scan_output_directions", made);
  if (output_axes.size() != made || output_directions.size() != made)
    return bad_input("a list of axes or directions has a wrong length");
  for (std::size_t k = 0; k < made; ++k)
    LEMMA_RETURN_IF_ERROR(make_rows(*block, states + k, *loop.most_steps, false, output_axes[k],
                                    output_directions[k] != 0, loop));
  for (const FlowLoop::Rows& rows : loop.made) values.push_back(FlowValue::of(parts_, rows.whole));
  for (FlowValue& value : values) value.level = level_;
  loop.body.steps = block->builder.take_steps();
  around_.add_step(level_, {std::move(loop)});
  return values;
}

}  // namespace lemma
