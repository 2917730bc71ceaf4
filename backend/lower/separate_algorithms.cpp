#include "backend/lower/separate_algorithms.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/lower/copy_definition.h"
#include "backend/nest_algorithm.h"

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;

const DefinedOutput& defined_output(const Computation& computation) {
  return computation.definition.outputs()[computation.output];
}

Expression copied(DefinitionBuilder& builder, const Definition& definition,
                  const std::map<std::uint32_t, Expression>& variables, ExpressionId root,
                  const Replace& replace) {
  return DefinitionCopier(builder, definition, variables, replace).copy(root);
}

class Separation {
 public:
  explicit Separation(ComputationGraph graph) : graph_(std::move(graph)) {}

  ComputationGraph run() {
    std::vector<Computation> before = std::exchange(graph_.computations, {});
    waiting_.resize(before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      const ExpressionId root = defined_output(before[i]).value;
      if (const auto part = part_of(before[i], root);
          part && part->axes.size() == defined_output(before[i]).axes.size())
        wholes_.try_emplace(key_of(part->computation), i);
      waiting_[i] = std::move(before[i]);
    }
    for (std::size_t i = 0; i < waiting_.size(); ++i) add(i);
    return std::move(graph_);
  }

 private:
  /// A reduction as a computation, without a result, and the axes of the whole that it depends on.
  struct Part {
    Computation computation;
    std::vector<VariableId> axes;
  };

  std::optional<Part> part_of(const Computation& whole, ExpressionId id) const {
    const Definition& definition = whole.definition;
    if (!is_reduction(definition.node(id).kind) || !keeps_value(whole, id)) return std::nullopt;
    std::vector<bool> free = free_variables(definition)[id.v];
    Part part;
    part.computation = whole;
    part.computation.output = 0;
    part.computation.is_stored = true;
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    std::map<std::uint32_t, Expression> variables;
    for (const VariableId axis : defined_output(whole).axes) {
      if (!free[axis.v]) continue;
      free[axis.v] = false;
      part.axes.push_back(axis);
      axes.push_back(builder.variable(definition.extent(axis)));
      variables.emplace(axis.v, axes.back());
    }
    if (std::find(free.begin(), free.end(), true) != free.end()) return std::nullopt;
    const Expression value = copied(builder, definition, variables, id, replaces_nothing);
    builder.output(std::move(axes), value);
    part.computation.definition = std::move(builder).finish();
    const auto nest = nest_of(part.computation);
    if (!nest || !find_nest_algorithm(*nest)) return std::nullopt;
    return part;
  }

  static std::optional<Expression> replaces_nothing(ExpressionId, const std::vector<Expression>&) {
    return std::nullopt;
  }

  /// Whether elements that are stored and read again have the same effect: a sum or a product may be rounded or wrapped then,
  /// which makes no difference where it would be next.
  static bool keeps_value(const Computation& whole, ExpressionId id) {
    const ExpressionNode& node = whole.definition.node(id);
    const ExpressionId root = defined_output(whole).value;
    if (id == root || node.kind == Kind::minimum_over || node.kind == Kind::maximum_over)
      return true;
    if (is_real(node.type)) return byte_size(node.type) >= byte_size(DataType::f32);
    const Kind after = whole.definition.node(root).kind;
    const std::vector<ExpressionId>& operands = whole.definition.node(root).operands;
    return node.type == DataType::i64 || node.type == DataType::u64 ||
           ((after == Kind::add || after == Kind::multiply) &&
            std::find(operands.begin(), operands.end(), id) != operands.end());
  }

  /// Whether terms are to replace elements of the whole: it needs no part that says which.
  static bool is_replacement(const Computation& whole) {
    const auto nest = nest_of(whole);
    if (!nest) return false;
    const auto algorithm = find_nest_algorithm(*nest);
    return algorithm && std::holds_alternative<lowering::Replacement>(*algorithm);
  }

  static std::string key_of(const Computation& computation) {
    std::string key = text(computation.definition);
    for (std::size_t i = 0; i < computation.operands.size(); ++i)
      key += fmt::format("\n{} [{}]", computation.operands[i],
                         fmt::join(computation.views[i].sizes, ", "));
    return key;
  }

  /// Once, with the parts of it before it.
  void add(std::size_t number) {
    if (!waiting_[number]) return;
    Computation computation = *std::exchange(waiting_[number], std::nullopt);
    const ExpressionId root = defined_output(computation).value;
    const auto whole = part_of(computation, root);
    if (is_replacement(computation)) {
      computation.is_stored = true;
    } else if (whole && whole->axes.size() == defined_output(computation).axes.size()) {
      results_.try_emplace(key_of(whole->computation), computation.result);
      computation.is_stored = true;
    } else {
      while (separate_one(computation)) {
      }
    }
    graph_.computations.push_back(std::move(computation));
  }

  bool separate_one(Computation& computation) {
    const Definition& definition = computation.definition;
    for (const ExpressionId id :
         outermost_reductions(definition, defined_output(computation).value)) {
      const auto part = part_of(computation, id);
      if (!part) continue;
      const BufferNumber result = result_of(*part);
      read_in_place_of(computation, id, part->axes, result);
      return true;
    }
    return false;
  }

  /// The buffer that has the part: of a computation that makes the same, or of a new one.
  BufferNumber result_of(const Part& part) {
    const std::string key = key_of(part.computation);
    if (const auto whole = wholes_.find(key); whole != wholes_.end()) add(whole->second);
    const auto [at, is_new] =
        results_.try_emplace(key, static_cast<BufferNumber>(graph_.buffers.size()));
    if (!is_new) return at->second;
    const Definition& definition = part.computation.definition;
    Buffer buffer;
    buffer.name = part.computation.name + " (part)";
    buffer.type = definition.node(definition.outputs()[0].value).type;
    buffer.elements = 1;
    for (const VariableId axis : definition.outputs()[0].axes) {
      buffer.sizes.push_back(definition.extent(axis).offset());
      buffer.elements *= buffer.sizes.back();
    }
    graph_.buffers.push_back(std::move(buffer));
    graph_.computations.push_back(part.computation);
    graph_.computations.back().name += " (part)";
    graph_.computations.back().result = at->second;
    return at->second;
  }

  void read_in_place_of(Computation& computation, ExpressionId id,
                        const std::vector<VariableId>& axes_of_part, BufferNumber part) const {
    const Buffer& buffer = graph_.buffers[part];
    const auto input = static_cast<std::uint32_t>(computation.operands.size());
    const Definition before = std::move(computation.definition);
    DefinitionBuilder builder;
    std::vector<Expression> axes, indices;
    std::map<std::uint32_t, Expression> variables;
    const DefinedOutput& output = before.outputs()[computation.output];
    for (const VariableId axis : output.axes) {
      axes.push_back(builder.variable(before.extent(axis)));
      variables.emplace(axis.v, axes.back());
    }
    lowering::InputView view{buffer.type, {}, false};
    for (const VariableId axis : axes_of_part) {
      indices.push_back(variables.at(axis.v));
      view.sizes.push_back(before.extent(axis).offset());
    }
    const Expression value = copied(
        builder, before, variables, output.value,
        [&](ExpressionId other, const std::vector<Expression>&) -> std::optional<Expression> {
          if (other != id) return std::nullopt;
          return builder.read(input, buffer.type, indices);
        });
    builder.output(std::move(axes), value);
    computation.operands.push_back(part);
    computation.views.push_back(std::move(view));
    computation.output = 0;
    // Once more, without what the part is computed from.
    computation.definition =
        copied_output(std::move(builder).finish(), 0,
                      [](DefinitionBuilder&) -> Replace { return replaces_nothing; });
  }

  ComputationGraph graph_;
  std::vector<std::optional<Computation>> waiting_;
  std::map<std::string, std::size_t> wholes_;    // computations that are all of a part, by its key
  std::map<std::string, BufferNumber> results_;  // that have been added, by key
};

}  // namespace

ComputationGraph separate_algorithms(ComputationGraph graph) {
  return Separation(std::move(graph)).run();
}

}  // namespace lemma::backend
