#include "backend/fuse/fuse.h"

#include <algorithm>

#include "backend/lower/copy_definition.h"
#include "backend/lower/substitute.h"

namespace lemma::backend {

namespace {

constexpr std::size_t most_nodes = 400;  // of the definition of a fused computation
constexpr std::size_t most_operands = 64;

/// Elements are computed as they are stored, or rounded where they take the place of a read (substitute.h); the others
/// are wrapped when they are stored.
bool can_replace_reads(DataType type) {
  return is_rounded_when_stored(type) || type == DataType::f32 || type == DataType::f64 ||
         type == DataType::i64 || type == DataType::boolean;
}

bool has_reduction(const Definition& definition) {
  return std::any_of(definition.nodes().begin(), definition.nodes().end(),
                     [](const ExpressionNode& node) { return is_reduction(node.kind); });
}

/// Whether elements of the operand are terms of a reduction.
bool is_read_in_reduction(const Definition& definition, std::uint32_t input) {
  std::vector<bool> is_below(definition.nodes().size(), false);
  for (std::size_t i = is_below.size(); i-- > 0;) {
    const ExpressionNode& node = definition.nodes()[i];
    if (is_below[i] && node.kind == ExpressionKind::read && node.input == input) return true;
    for (const ExpressionId operand : node.operands)
      if (is_below[i] || is_reduction(node.kind)) is_below[operand.v] = true;
  }
  return false;
}

/// Whether the operand is read behind a guard, as in paddings and concatenations, or by a maximum or minimum of a window.
bool is_guarded(const Definition& definition, std::uint32_t input) {
  std::vector<bool> is_below(definition.nodes().size(), false);
  for (std::size_t i = is_below.size(); i-- > 0;) {
    const ExpressionNode& node = definition.nodes()[i];
    if (is_below[i] && node.kind == ExpressionKind::read && node.input == input) return true;
    for (std::size_t j = 0; j < node.operands.size(); ++j)
      if (is_below[i] || (node.kind == ExpressionKind::select && j > 0) ||
          node.kind == ExpressionKind::maximum_over || node.kind == ExpressionKind::minimum_over)
        is_below[node.operands[j].v] = true;
  }
  return false;
}

/// Whether elements are read side by side along another axis than the last one: they are transposed in blocks, which guards
/// would cut up.
bool reads_across(const Computation& computation) {
  const Definition& definition = computation.definition;
  const DefinedOutput& output = definition.outputs()[computation.output];
  const std::vector<bool> is_reached = reachable_expressions(definition, output.value);
  for (std::size_t i = 0; i < is_reached.size(); ++i) {
    const ExpressionNode& node = definition.nodes()[i];
    if (!is_reached[i] || node.kind != ExpressionKind::read || node.operands.size() < 2) continue;
    const ExpressionNode& last = definition.node(node.operands.back());
    if (last.kind != ExpressionKind::index) continue;
    for (std::size_t axis = 0; axis + 1 < output.axes.size(); ++axis)
      if (last.variable == output.axes[axis]) return true;
  }
  return false;
}

/// Elements that may be computed twice rather than stored.
bool is_cheap(const Definition& definition) {
  constexpr std::size_t most_steps = 40;
  return definition.nodes().size() <= most_steps &&
         std::none_of(definition.nodes().begin(), definition.nodes().end(),
                      [](const ExpressionNode& node) {
                        return node.kind == ExpressionKind::function ||
                               node.kind == ExpressionKind::power;
                      }) &&
         !has_reduction(definition);
}

/// Whether the result is an operand with its axes in another order.
bool is_permutation(const Computation& computation) {
  const Definition& definition = computation.definition;
  const DefinedOutput& output = definition.outputs()[computation.output];
  const ExpressionNode& read = definition.node(output.value);
  if (read.kind != ExpressionKind::read || read.operands.size() != output.axes.size()) return false;
  std::vector<bool> is_taken(definition.variable_extents().size(), false);
  for (const ExpressionId index : read.operands) {
    const ExpressionNode& node = definition.node(index);
    if (node.kind != ExpressionKind::index || is_taken[node.variable.v]) return false;
    is_taken[node.variable.v] = true;
  }
  return true;
}

/// Inputs that are the same tensor under the same shape become one, so that its elements are read once.
Computation with_merged_operands(Computation computation) {
  std::vector<std::uint32_t> first(computation.operands.size());
  bool is_changed = false;
  for (std::uint32_t i = 0; i < first.size(); ++i) {
    first[i] = i;
    for (std::uint32_t j = 0; j < i && first[i] == i; ++j)
      if (computation.operands[i] != no_buffer &&
          computation.operands[j] == computation.operands[i] &&
          computation.views[j].sizes == computation.views[i].sizes &&
          computation.views[j].type == computation.views[i].type)
        first[i] = j;
    is_changed = is_changed || first[i] != i;
  }
  if (!is_changed) return computation;
  const Definition before = std::move(computation.definition);
  computation.definition =
      copied_output(before, computation.output, [&](DefinitionBuilder& builder) -> Replace {
        return [&](ExpressionId id,
                   const std::vector<Expression>& operands) -> std::optional<Expression> {
          const ExpressionNode& node = before.node(id);
          if (node.kind != ExpressionKind::read || first[node.input] == node.input)
            return std::nullopt;
          return builder.read(first[node.input], node.type, operands);
        };
      });
  computation.output = 0;
  for (std::uint32_t i = 0; i < first.size(); ++i) {
    if (first[i] == i) continue;
    computation.operands[i] = no_buffer;
    computation.views[i] = {};
  }
  return computation;
}

class Fusion {
 public:
  Fusion(ComputationGraph graph, FuseFor reader)
      : graph_(std::move(graph)),
        reader_(reader),
        producers_(graph_.buffers.size()),
        readers_(graph_.buffers.size(), 0),
        is_gone_(graph_.computations.size(), false) {
    for (std::size_t i = 0; i < graph_.computations.size(); ++i) {
      producers_[graph_.computations[i].result] = i;
      count_readers(graph_.computations[i], 1);
    }
  }

  ComputationGraph run() {
    for (Computation& computation : graph_.computations) {
      if (reader_ == FuseFor::lanes) merge_operands(computation);
      while (fuse_one(computation)) {
      }
    }
    return compacted();
  }

 private:
  void count_readers(const Computation& computation, int change) {
    for (const BufferNumber operand : computation.operands)
      if (operand != no_buffer) readers_[operand] += change;
  }

  void merge_operands(Computation& computation) {
    count_readers(computation, -1);
    computation = with_merged_operands(std::move(computation));
    count_readers(computation, 1);
  }

  double bytes_of(BufferNumber buffer) const {
    return static_cast<double>(graph_.buffers[buffer].bytes());
  }

  /// Whether each of several readers may compute the result: from no more bytes than it has, but for tensors that are much
  /// smaller.
  bool may_compute_again(const Computation& producer) const {
    constexpr double much_smaller = 16;
    if (reader_ != FuseFor::lanes || !is_cheap(producer.definition)) return false;
    const double made = bytes_of(producer.result);
    double read = 0;
    for (const BufferNumber operand : producer.operands)
      if (operand != no_buffer && much_smaller * bytes_of(operand) > made)
        read += bytes_of(operand);
    return read <= made;
  }

  /// Whether the result is of sums of what was computed and is much larger, as of scores of attention. These are handed on in
  /// the block where both have the same rows, which a result with its axes in another order has not.
  bool sums_up_much(const Computation& producer) const {
    constexpr double much = 4;
    if (!has_reduction(producer.definition)) return false;
    return std::any_of(producer.operands.begin(), producer.operands.end(),
                       [&](BufferNumber operand) {
                         return operand != no_buffer && producers_[operand] &&
                                bytes_of(operand) >= much * bytes_of(producer.result);
                       });
  }

  bool fuse_one(Computation& reader) {
    for (std::uint32_t i = 0; i < reader.operands.size(); ++i) {
      const BufferNumber buffer = reader.operands[i];
      if (buffer == no_buffer || graph_.buffers[buffer].memory != Memory::arena ||
          !producers_[buffer])
        continue;
      const std::size_t number = *producers_[buffer];
      Computation& producer = graph_.computations[number];
      if (readers_[buffer] != 1 && !may_compute_again(producer)) continue;
      if (!can_fuse(reader, i, producer)) continue;
      Computation fused = substitute(reader, i, producer);
      if (reader_ == FuseFor::lanes) fused = with_merged_operands(std::move(fused));
      if (fused.definition.nodes().size() > most_nodes || !nest_of(fused)) continue;
      count_readers(reader, -1);
      count_readers(fused, 1);
      reader = std::move(fused);
      if (readers_[buffer] == 0) {
        count_readers(producer, -1);
        is_gone_[number] = true;
      }
      return true;
    }
    return false;
  }

  bool can_fuse(const Computation& reader, std::uint32_t input, const Computation& producer) const {
    const Buffer& between = graph_.buffers[producer.result];
    if (producer.is_stored || !can_replace_reads(between.type) ||
        reader.operands.size() + producer.operands.size() > most_operands ||
        reader.definition.nodes().size() + producer.definition.nodes().size() > most_nodes)
      return false;
    if (is_guarded(reader.definition, input) && reads_across(producer)) return false;
    // Sums inside of a sum cannot be computed for many elements side by side, and two sums of many elements are computed
    // best in different ways.
    constexpr std::int64_t many = 16384;
    if (has_reduction(producer.definition) &&
        (is_read_in_reduction(reader.definition, input) ||
         (between.elements >= many && has_reduction(reader.definition))))
      return false;
    if (reader_ == FuseFor::lanes && is_permutation(reader) && sums_up_much(producer)) return false;
    if (reader_ == FuseFor::lanes && is_permutation(producer) &&
        is_read_in_reduction(reader.definition, input) && !is_guarded(reader.definition, input))
      return reader.views[input].sizes == between.sizes;
    const auto count = read_count(reader, input);
    // What is read under the shape of a reshape has no index for each axis of what was computed.
    // A copy with padding around it reads each element once, and the padding counts as well.
    const double margin = is_cheap(producer.definition) ? 2 : 1;
    return count && *count <= margin * static_cast<double>(between.elements) &&
           reader.views[input].sizes == between.sizes;
  }

  /// The graph without the computations that were fused, and without their results.
  ComputationGraph compacted() {
    ComputationGraph result;
    std::vector<BufferNumber> numbers(graph_.buffers.size(), no_buffer);
    std::vector<bool> is_removed(graph_.buffers.size(), false);
    for (std::size_t i = 0; i < is_gone_.size(); ++i)
      if (is_gone_[i]) is_removed[graph_.computations[i].result] = true;
    for (BufferNumber i = 0; i < numbers.size(); ++i) {
      if (is_removed[i]) continue;
      numbers[i] = static_cast<BufferNumber>(result.buffers.size());
      result.buffers.push_back(std::move(graph_.buffers[i]));
    }
    for (std::size_t i = 0; i < is_gone_.size(); ++i) {
      if (is_gone_[i]) continue;
      Computation& computation = graph_.computations[i];
      for (BufferNumber& operand : computation.operands)
        if (operand != no_buffer) operand = numbers[operand];
      computation.result = numbers[computation.result];
      result.computations.push_back(std::move(computation));
    }
    for (const BufferNumber input : graph_.inputs) result.inputs.push_back(numbers[input]);
    for (const BufferNumber output : graph_.outputs) result.outputs.push_back(numbers[output]);
    return result;
  }

  ComputationGraph graph_;
  FuseFor reader_;
  std::vector<std::optional<std::size_t>> producers_;  // by buffer
  std::vector<int> readers_;                           // by buffer: operands
  std::vector<bool> is_gone_;
};

}  // namespace

ComputationGraph fuse(ComputationGraph graph) { return fuse(std::move(graph), FuseFor::vectors); }

ComputationGraph fuse(ComputationGraph graph, FuseFor reader) {
  return Fusion(std::move(graph), reader).run();
}

}  // namespace lemma::backend
