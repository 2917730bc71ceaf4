#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/number_text.h"
#include "operators/elementwise.h"
#include "operators/families.h"

// Einsum: "ij,jk->ik" names the axes of each operand and of the result; what is named twice runs
// along, what is not in the result is summed over. An ellipsis stands for any axes, aligned at the
// end and broadcast.

namespace lemma::operators {
namespace {

constexpr std::array einsum_attributes = {
    AttributeSpecification{"equation", AttributeKind::string},
};

/// Axes by name: a letter, or for the axes of an ellipsis '0', '1', ... counted from their end.
using Labels = std::string;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

constexpr std::string_view ellipsis = "...";
constexpr std::size_t most_ellipsis_axes = 10;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// The labels with an ellipsis replaced by `count` axes.
Result<Labels> with_ellipsis(const std::string& term, std::size_t count) {
  Labels labels = term;
  if (const std::size_t at = labels.find(ellipsis); at != std::string::npos) {
    Labels axes;
    for (std::size_t i = count; i-- > 0;) axes += static_cast<char>('0' + i);
    labels.replace(at, ellipsis.size(), axes);
  }
  if (!std::all_of(labels.begin(), labels.end(), is_ascii_letter_or_digit))
    return bad_input(fmt::format("'{}' is not a list of axes", term));
  return labels;
}

/// The result of an equation without an arrow: it has the axes that occur once, in alphabetical
/// order, after those of ellipses.
std::string implied_result(const std::vector<std::string>& terms) {
  std::map<char, int> counts;
  bool has_ellipsis = false;
  for (const std::string& term : terms) {
    has_ellipsis = has_ellipsis || term.find(ellipsis) != std::string::npos;
    for (const char c : term)
      if (c != '.') ++counts[c];
  }
  std::string result(has_ellipsis ? ellipsis : "");
  for (const auto& [label, count] : counts)
    if (count == 1) result += label;
  return result;
}

/// The text without blanks, and with the result written out.
Result<Attributes> normalize_einsum(const Instance& in) {
  std::string equation = in.attributes.string("equation");
  std::erase(equation, ' ');
  if (std::any_of(equation.begin(), equation.end(), is_ascii_digit))
    return bad_input(fmt::format("equation '{}' has digits", equation));
  if (equation.find("->") == std::string::npos)
    equation += "->" + implied_result(split(equation, ','));
  Attributes attributes = in.attributes;
  attributes.set("equation", std::move(equation));
  return attributes;
}

Result<Equation> parse_equation(const Instance& in) {
  const std::string& equation = in.attributes.string("equation");
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string> terms = split(equation.substr(0, arrow), ',');
  if (terms.size() != in.inputs.size())
    return bad_input(fmt::format("equation '{}' has {} operands, not {}", equation, terms.size(),
                                 in.inputs.size()));
  Equation result;
  std::size_t most = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool open = terms[i].find(ellipsis) != std::string::npos;
    const std::size_t named = terms[i].size() - (open ? ellipsis.size() : 0);
    if (named > in.rank(i) || (!open && named != in.rank(i)) ||
        in.rank(i) - named > most_ellipsis_axes)
      return bad_input(fmt::format("'{}' does not fit the shape {}", terms[i], text(in.shape(i))));
    most = std::max(most, in.rank(i) - named);
    LEMMA_ASSIGN_OR_RETURN(Labels labels, with_ellipsis(terms[i], in.rank(i) - named));
    result.operands.push_back(std::move(labels));
  }
  LEMMA_ASSIGN_OR_RETURN(result.result, with_ellipsis(equation.substr(arrow + 2), most));
  if (std::set<char>(result.result.begin(), result.result.end()).size() != result.result.size())
    return bad_input(fmt::format("equation '{}' names an axis of the result twice", equation));
  return result;
}

Result<std::map<char, Dimension>> label_sizes(const Instance& in, const Equation& equation) {
  std::map<char, Dimension> sizes;
  for (std::size_t i = 0; i < in.inputs.size(); ++i)
    for (std::size_t axis = 0; axis < in.rank(i); ++axis) {
      const auto [where, is_new] = sizes.emplace(equation.operands[i][axis], in.shape(i)[axis]);
      if (is_new) continue;
      LEMMA_ASSIGN_OR_RETURN(const Shape both,
                             broadcast(in, Shape{where->second}, Shape{in.shape(i)[axis]}));
      where->second = both[0];
    }
  return sizes;
}

Result<std::vector<TensorType>> infer_einsum(const Instance& in) {
  LEMMA_RETURN_IF_ERROR(require_types(in, TypeSet::numeric));
  LEMMA_ASSIGN_OR_RETURN(const Equation equation, parse_equation(in));
  LEMMA_ASSIGN_OR_RETURN(const auto sizes, label_sizes(in, equation));
  Shape shape;
  for (const char label : equation.result) {
    const auto where = sizes.find(label);
    if (where == sizes.end())
      return bad_input(fmt::format("axis '{}' of the result is not one of an operand", label));
    shape.push_back(where->second);
  }
  return std::vector<TensorType>{{in.type(0), std::move(shape)}};
}

Definition define_einsum(const Instance& in) {
  DefinitionBuilder d;
  const Equation equation = *parse_equation(in);
  std::map<char, Expression> variables;
  std::vector<Expression> axes, bound;
  const auto sizes = *label_sizes(in, equation);
  for (const char label : equation.result) {
    axes.push_back(d.variable(sizes.at(label)));
    variables.emplace(label, axes.back());
  }
  for (const auto& [label, size] : sizes) {
    if (variables.contains(label)) continue;
    bound.push_back(d.variable(size));
    variables.emplace(label, bound.back());
  }
  std::optional<Expression> product;
  for (std::uint32_t i = 0; i < in.inputs.size(); ++i) {
    std::vector<Expression> indices;
    for (std::size_t axis = 0; axis < in.rank(i); ++axis)
      indices.push_back(in.shape(i)[axis].is(1) ? d.integer(0)
                                                : variables.at(equation.operands[i][axis]));
    const Expression element = d.read(i, in.type(i), std::move(indices));
    product = product ? *product * element : element;
  }
  d.output(axes, d.sum(bound, *product));
  return std::move(d).finish();
}

constexpr std::array einsum_records = {
    OperatorRecord{.name = "Einsum",
                   .summary = "sum of products along named axes",
                   .inputs = {1, -1},
                   .attributes = einsum_attributes,
                   .flags = linear,
                   .infer = infer_einsum,
                   .define = define_einsum,
                   .normalize = normalize_einsum,
                   .onnx = same_in_onnx<"Einsum", 12>},
};
static_assert(is_complete(einsum_records));

}  // namespace

std::span<const OperatorRecord> einsum() { return einsum_records; }

}  // namespace lemma::operators
