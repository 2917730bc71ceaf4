// Definitions as people write them. Operands come before the nodes that use them, so one pass over
// the nodes gives each its text.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/definition.h"

namespace lemma {
namespace {

using Kind = ExpressionKind;

/// How tightly a text holds together; an operand that is looser than its place is parenthesized.
enum Precedence { disjunction, conjunction, negation, comparison, sum, term, sign, atom };

struct Phrase {
  std::string text;
  Precedence precedence = atom;
};

std::string in_place(const Phrase& phrase, Precedence place) {
  return phrase.precedence < place ? "(" + phrase.text + ")" : phrase.text;
}

std::string input_name(std::uint32_t input) {
  if (input < 26) return std::string(1, static_cast<char>('a' + input));
  return fmt::format("input{}", input);
}

/// The precedence of a dimension's text: what stands outside all its parentheses decides.
Precedence precedence_of_dimension(std::string_view text) {
  Precedence result = text.starts_with('-') ? sign : atom;
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth == 0 && c == '*') result = std::min(result, term);
    if (depth == 0 && c == ' ') return sum;
  }
  return result;
}

Phrase of_number(const ExpressionNode& node) {
  if (node.type == DataType::boolean) return {node.integer != 0 ? "true" : "false"};
  if (node.kind == Kind::real_parameter) return {fmt::format("real<{}>", node.integer)};
  std::string text = node.kind == Kind::real_constant ? fmt::format("{}", node.real)
                                                      : fmt::format("{}", node.integer);
  const Precedence precedence = text.starts_with('-') ? sign : atom;
  return {std::move(text), precedence};
}

struct Infix {
  std::string_view symbol;
  Precedence precedence;
};

std::optional<Infix> infix(Kind kind) {
  switch (kind) {
    case Kind::add: return Infix{"+", sum};
    case Kind::subtract: return Infix{"-", sum};
    case Kind::multiply: return Infix{"*", term};
    case Kind::divide: return Infix{"/", term};
    case Kind::equal: return Infix{"==", comparison};
    case Kind::less: return Infix{"<", comparison};
    case Kind::less_equal: return Infix{"<=", comparison};
    case Kind::logical_and: return Infix{"and", conjunction};
    case Kind::logical_or: return Infix{"or", disjunction};
    default: return std::nullopt;
  }
}

class Writer {
 public:
  explicit Writer(const Definition& definition) : definition_(definition) {
    name_variables();
    for (const ExpressionNode& node : definition.nodes()) phrases_.push_back(phrase(node));
  }

  std::string line(const DefinedOutput& output, std::string_view name) const {
    std::vector<std::string> axes;
    for (const VariableId axis : output.axes) axes.push_back(variables_[axis.v]);
    const std::string indices = axes.empty() ? "" : fmt::format("[{}]", fmt::join(axes, ", "));
    return fmt::format("{}{} = {}", name, indices, phrases_[output.value.v].text);
  }

 private:
  /// Axes of outputs are i0, i1, ...; the others, bound by reductions, k0, k1, ...
  void name_variables() {
    variables_.resize(definition_.variable_extents().size());
    for (const DefinedOutput& output : definition_.outputs())
      for (std::size_t i = 0; i < output.axes.size(); ++i)
        variables_[output.axes[i].v] = fmt::format("i{}", i);
    std::size_t bound = 0;
    for (std::string& name : variables_)
      if (name.empty()) name = fmt::format("k{}", bound++);
  }

  const Phrase& operand(const ExpressionNode& node, std::size_t i) const {
    return phrases_[node.operands[i].v];
  }

  std::string operands(const ExpressionNode& node) const {
    std::vector<std::string_view> texts;
    for (std::size_t i = 0; i < node.operands.size(); ++i) texts.push_back(operand(node, i).text);
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  Phrase reduction(const ExpressionNode& node) const {
    std::vector<std::string> ranges;
    for (const VariableId bound : node.bound)
      ranges.push_back(
          fmt::format("{} < {}", variables_[bound.v], definition_.extent(bound).text()));
    return {
        fmt::format("{}({}: {})", name(node.kind), fmt::join(ranges, ", "), operand(node, 0).text)};
  }

  Phrase function(const ExpressionNode& node) const {
    if (node.function == ScalarFunction::negate)
      return {"-" + in_place(operand(node, 0), atom), sign};
    if (node.function == ScalarFunction::reciprocal)
      return {"1 / " + in_place(operand(node, 0), sign), term};
    return {fmt::format("{}({})", name(node.function), operands(node))};
  }

  Phrase phrase(const ExpressionNode& node) const {
    if (const auto infix_operator = infix(node.kind)) {
      // Operators group to the left, and comparisons not at all.
      const auto tighter = static_cast<Precedence>(infix_operator->precedence + 1);
      const Precedence left =
          infix_operator->precedence == comparison ? tighter : infix_operator->precedence;
      return {fmt::format("{} {} {}", in_place(operand(node, 0), left), infix_operator->symbol,
                          in_place(operand(node, 1), tighter)),
              infix_operator->precedence};
    }
    switch (node.kind) {
      case Kind::integer_constant:
      case Kind::real_constant:
      case Kind::real_parameter: return of_number(node);
      case Kind::extent: {
        std::string text = node.extent.text();
        const Precedence precedence = precedence_of_dimension(text);
        return {std::move(text), precedence};
      }
      case Kind::index: return {variables_[node.variable.v]};
      case Kind::read:
        if (node.operands.empty()) return {input_name(node.input)};
        return {fmt::format("{}[{}]", input_name(node.input), operands(node))};
      case Kind::logical_not: return {"not " + in_place(operand(node, 0), negation), negation};
      case Kind::cast: return {fmt::format("{}({})", name(node.type), operands(node))};
      case Kind::function: return function(node);
      case Kind::sum:
      case Kind::product:
      case Kind::minimum_over:
      case Kind::maximum_over: return reduction(node);
      default: return {fmt::format("{}({})", name(node.kind), operands(node))};
    }
  }

  const Definition& definition_;
  std::vector<std::string> variables_;
  std::vector<Phrase> phrases_;  // by expression
};

}  // namespace

std::string text(const Definition& definition) {
  const Writer writer(definition);
  const auto& outputs = definition.outputs();
  std::string result;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (i > 0) result += '\n';
    result += writer.line(outputs[i], outputs.size() == 1 ? "y" : fmt::format("y{}", i));
  }
  return result;
}

}  // namespace lemma
