#include <algorithm>
#include <vector>

#include "backend/layout/layout.h"
#include "backend/layout/whole_numbers.h"
#include "backend/lower/copy_definition.h"

namespace lemma::backend {

namespace {

using Kind = ExpressionKind;

class NarrowedNumbers {
 public:
  explicit NarrowedNumbers(ComputationGraph graph)
      : graph_(std::move(graph)), ranges_(whole_numbers(graph_)) {
    for (std::size_t i = 0; i < graph_.buffers.size(); ++i) {
      const Buffer& buffer = graph_.buffers[i];
      const bool is_ours =
          buffer.memory == Memory::arena || (buffer.memory == Memory::weights && buffer.contents);
      is_narrow_.push_back(is_ours && buffer.type == DataType::f64 && ranges_[i]);
    }
  }

  ComputationGraph run() {
    for (const Computation& computation : graph_.computations)
      if (!can_be_narrow(computation)) keep_all(computation);
    while (std::any_of(graph_.computations.begin(), graph_.computations.end(),
                       [this](const Computation& computation) {
                         return is_mixed(computation) && keep_all(computation);
                       })) {
    }
    for (Computation& computation : graph_.computations)
      if (computes_with_any(computation)) narrow(computation);
    for (std::size_t i = 0; i < is_narrow_.size(); ++i)
      if (is_narrow_[i]) narrow(graph_.buffers[i]);
    return std::move(graph_);
  }

 private:
  template <typename Test>
  bool any_buffer(const Computation& computation, const Test& test) const {
    return test(computation.result) ||
           std::any_of(computation.operands.begin(), computation.operands.end(),
                       [&](BufferNumber operand) { return operand != no_buffer && test(operand); });
  }

  bool computes_with_any(const Computation& computation) const {
    return any_buffer(computation, [this](BufferNumber buffer) { return is_narrow_[buffer]; });
  }

  /// Whether some of its tensors of f64 are narrow, and others are not.
  bool is_mixed(const Computation& computation) const {
    return computes_with_any(computation) && any_buffer(computation, [this](BufferNumber buffer) {
             return graph_.buffers[buffer].type == DataType::f64 && !is_narrow_[buffer];
           });
  }

  /// Its tensors stay as they are. Whether that is something new.
  bool keep_all(const Computation& computation) {
    const bool is_new = computes_with_any(computation);
    is_narrow_[computation.result] = false;
    for (const BufferNumber operand : computation.operands)
      if (operand != no_buffer) is_narrow_[operand] = false;
    return is_new;
  }

  /// Whether all that it computes in f64 are whole numbers that f32 has.
  bool can_be_narrow(const Computation& computation) const {
    const Definition& definition = computation.definition;
    const ExpressionId root = definition.outputs()[computation.output].value;
    const std::vector<bool> is_reached = reachable_expressions(definition, root);
    for (std::uint32_t i = 0; i <= root.v; ++i)
      if (is_reached[i] && definition.nodes()[i].type == DataType::f64 &&
          !range_of(computation, {i}, ranges_))
        return false;
    return true;
  }

  static void narrow(Computation& computation) {
    const Definition before = computation.definition;
    computation.definition =
        copied_output(before, computation.output, [&before](DefinitionBuilder& builder) -> Replace {
          return [&before, &builder](
                     ExpressionId id,
                     const std::vector<Expression>& operands) -> std::optional<Expression> {
            const ExpressionNode& node = before.node(id);
            if (node.type != DataType::f64) return std::nullopt;
            switch (node.kind) {
              case Kind::read: return builder.read(node.input, DataType::f32, operands);
              case Kind::real_constant: return builder.real(node.real, DataType::f32);
              case Kind::cast: return builder.cast(operands[0], DataType::f32);
              default: return std::nullopt;
            }
          };
        });
    computation.output = 0;
    for (lowering::InputView& view : computation.views)
      if (view.type == DataType::f64) view.type = DataType::f32;
  }

  static void narrow(Buffer& buffer) {
    buffer.type = DataType::f32;
    if (!buffer.contents) return;
    const std::vector<double> elements = buffer.contents->reals();
    buffer.contents = Constant::of(DataType::f32, buffer.sizes,
                                   std::vector<float>(elements.begin(), elements.end()));
  }

  ComputationGraph graph_;
  WholeNumbers ranges_;
  std::vector<bool> is_narrow_;  // by buffer
};

}  // namespace

ComputationGraph narrow_whole_numbers(ComputationGraph graph) {
  return NarrowedNumbers(std::move(graph)).run();
}

}  // namespace lemma::backend
