// From the expressions of a definition to terms.

#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "ir/constant_expression.h"
#include "lowering/terms.h"

namespace lemma::lowering {

namespace {

using Kind = ExpressionKind;

/// Where the variable is in the environment, or would be.
template <typename AnyEnvironment>
auto place_of(AnyEnvironment& environment, std::uint32_t variable) {
  return std::find_if(environment.begin(), environment.end(),
                      [variable](const auto& binding) { return binding.first >= variable; });
}

class Translator {
 public:
  Translator(TermGraph& graph, const Definition& definition)
      : graph_(graph),
        definition_(definition),
        free_(definition.nodes().size()),
        done_(definition.nodes().size()) {
    find_free_variables();
  }

  /// Depth first with a stack of its own: definitions may nest deeply (Concat of many inputs).
  Result<TermNumber> translate(ExpressionId root, const Environment& environment) {
    std::vector<Frame> stack;
    stack.push_back({root, restricted(root, environment), false, {}, {}});
    while (true) {
      Frame& frame = stack.back();
      if (const auto known_term = known(frame.id, frame.environment)) {
        stack.pop_back();
        if (stack.empty()) return *known_term;
        continue;
      }
      if (!frame.expanded) {
        frame.expanded = true;
        if (const auto number = constant_value(definition_, frame.id)) {
          LEMMA_ASSIGN_OR_RETURN(const TermNumber made, constant(frame, *number));
          done_[frame.id.v].emplace_back(frame.environment, made);
          continue;
        }
        LEMMA_RETURN_IF_ERROR(expand(frame));
        const std::vector<ExpressionId>& operands = definition_.node(frame.id).operands;
        const Environment inner = frame.inner;  // a copy: the stack moves when it grows
        for (std::size_t i = operands.size(); i-- > 0;)
          stack.push_back({operands[i], restricted(operands[i], inner), false, {}, {}});
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(const TermNumber made, make(frame));
      done_[frame.id.v].emplace_back(frame.environment, made);
    }
  }

 private:
  struct Frame {
    ExpressionId id;
    Environment environment;  // of the free variables
    bool expanded = false;
    Environment inner;  // for the operands: reductions add their variables
    std::vector<LoopVariable> bound;
  };

  std::optional<TermNumber> known(ExpressionId id, const Environment& environment) const {
    for (const auto& [where, term] : done_[id.v])
      if (where == environment) return term;
    return std::nullopt;
  }

  void find_free_variables() {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const ExpressionNode& node = definition_.nodes()[i];
      std::vector<std::uint32_t>& free = free_[i];
      if (node.kind == Kind::index) free.push_back(node.variable.v);
      for (const ExpressionId operand : node.operands)
        free.insert(free.end(), free_[operand.v].begin(), free_[operand.v].end());
      std::sort(free.begin(), free.end());
      free.erase(std::unique(free.begin(), free.end()), free.end());
      for (const VariableId bound : node.bound) std::erase(free, bound.v);
    }
  }

  Environment restricted(ExpressionId id, const Environment& environment) const {
    Environment result;
    for (const std::uint32_t v : free_[id.v]) {
      const auto place = place_of(environment, v);
      if (place != environment.end() && place->first == v) result.push_back(*place);
    }
    return result;
  }

  Result<void> expand(Frame& frame) {
    frame.inner = frame.environment;
    for (const VariableId v : definition_.node(frame.id).bound) {
      const auto extent = definition_.extent(v).constant();
      if (!extent) return internal_error("the extent of a variable is not constant");
      LEMMA_ASSIGN_OR_RETURN(const LoopVariable variable, graph_.variable(*extent));
      frame.bound.push_back(variable);
      bind(frame.inner, v.v, graph_.linear(Linear::atom(variable)));
    }
    return {};
  }

  /// The term of a constant. What depends on nothing is computed in f64 and rounded once, whatever
  /// the element type is.
  Result<TermNumber> constant(const Frame& frame, double number) {
    Term term;
    term.type = definition_.node(frame.id).type;
    LEMMA_ASSIGN_OR_RETURN(term.bits, constant_lane(number, 0, term.type, graph_.domain()));
    term.kind = Kind::real_constant;
    return graph_.add(std::move(term));
  }

  Result<TermNumber> make(const Frame& frame) {
    const ExpressionNode& node = definition_.node(frame.id);
    std::vector<TermNumber> operands;
    for (const ExpressionId operand : node.operands)
      operands.push_back(*known(operand, restricted(operand, frame.inner)));
    switch (node.kind) {
      case Kind::index: {
        const auto place = place_of(frame.environment, node.variable.v);
        if (place == frame.environment.end() || place->first != node.variable.v)
          return internal_error("an index variable is used outside its range");
        return place->second;
      }
      case Kind::extent: {
        const auto value = node.extent.constant();
        if (!value) return internal_error("an extent is not constant");
        return graph_.linear(Linear::of(*value));
      }
      case Kind::read: return read(node, operands);
      case Kind::real_parameter: return unsupported("a real parameter of a proof has no value");
      case Kind::integer_constant:
      case Kind::real_constant: {
        Term term;
        LEMMA_ASSIGN_OR_RETURN(term.bits,
                               constant_lane(node.real, node.integer, node.type, graph_.domain()));
        term.kind = node.kind;
        term.type = node.type;
        return graph_.add(std::move(term));
      }
      default: break;
    }
    if (node.type == DataType::i64 && operands.size() == 2)
      if (auto folded = fold(node.kind, operands[0], operands[1])) return *folded;
    Term term;
    term.kind = node.kind;
    term.function = node.function;
    term.type = node.type;
    term.operands = std::move(operands);
    term.bound = frame.bound;
    return graph_.add(std::move(term));
  }

  Result<TermNumber> read(const ExpressionNode& node, const std::vector<TermNumber>& operands) {
    const auto& inputs = graph_.inputs();
    if (node.input >= inputs.size() || inputs[node.input].type == DataType::undefined)
      return internal_error(fmt::format("input {} is read, but is not there", node.input));
    const InputView& input = inputs[node.input];
    if (input.type != node.type || input.sizes.size() != operands.size())
      return internal_error(fmt::format("input {} is not what the definition reads", node.input));
    Term term;
    term.kind = Kind::read;
    term.type = node.type;
    term.input = node.input;
    for (const TermNumber operand : operands) term.indices.push_back(graph_.form(operand));
    return graph_.add(std::move(term));
  }

  /// Index arithmetic that has a linear form.
  std::optional<TermNumber> fold(Kind kind, TermNumber left, TermNumber right) {
    const Linear a = graph_.form(left), b = graph_.form(right);
    switch (kind) {
      case Kind::add: return graph_.linear(combine(a, b));
      case Kind::subtract: return graph_.linear(combine(a, b, -1));
      case Kind::multiply:
        if (b.is_constant()) return graph_.linear(scale(a, b.constant));
        if (a.is_constant()) return graph_.linear(scale(b, a.constant));
        return std::nullopt;
      case Kind::floor_divide:
        if (!b.is_constant() || b.constant <= 0) return std::nullopt;
        return graph_.floor_divide(a, b.constant);
      case Kind::floor_modulo: {
        if (!b.is_constant() || b.constant <= 0) return std::nullopt;
        const TermNumber quotient = graph_.floor_divide(a, b.constant);
        return graph_.linear(combine(a, graph_.form(quotient), -b.constant));
      }
      default: return std::nullopt;
    }
  }

  TermGraph& graph_;
  const Definition& definition_;
  std::vector<std::vector<std::uint32_t>> free_;  // free variables of each expression, ascending
  std::vector<std::vector<std::pair<Environment, TermNumber>>> done_;  // by expression
};

}  // namespace

void bind(Environment& environment, std::uint32_t variable, TermNumber value) {
  const auto place = place_of(environment, variable);
  if (place != environment.end() && place->first == variable)
    place->second = value;
  else
    environment.insert(place, {variable, value});
}

Result<TermNumber> translate(TermGraph& graph, const Definition& definition, ExpressionId root,
                             const Environment& environment) {
  return Translator(graph, definition).translate(root, environment);
}

}  // namespace lemma::lowering
