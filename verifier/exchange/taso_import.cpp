#include "verifier/exchange/taso_import.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "verifier/conditions/equations.h"
#include "verifier/conditions/side_shapes.h"
#include "verifier/exchange/taso_ranks.h"

namespace lemma::exchange {
namespace {

using verifier::size_text;
using verifier::SizeEquations;

/// A tensor of one side: its term, its sizes (without a leading group), and for each axis how the
/// last Concat along it has put it together, which a Split undoes.
struct Value {
  std::string term;
  Shape shape;
  std::vector<Shape> parts;
};

Result<std::int64_t> number(const TasoOperator& op, TasoKey key) {
  if (const auto value = parameter(op, key)) return *value;
  return bad_input(fmt::format("parameter {} is missing", static_cast<std::int64_t>(key)));
}

Result<void> expect_inputs(const TasoOperator& op, std::size_t count) {
  if (op.inputs.size() != count)
    return bad_input(fmt::format("{} inputs instead of {}", op.inputs.size(), count));
  return {};
}

std::string list(const Shape& shape) {
  std::vector<std::string> texts;
  for (const Dimension& size : shape) texts.push_back(size_text(size));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

/// The windows of convolutions and pools.
struct Window {
  Shape kernel, strides, pads;
};

class RuleImporter {
 public:
  RuleImporter(const TasoRule& rule, std::string name, const Ranks& ranks)
      : rule_(rule), name_(std::move(name)), ranks_(ranks) {}

  Result<Substitution> run() {
    LEMMA_RETURN_IF_ERROR(type_left());
    LEMMA_RETURN_IF_ERROR(with_side("right side", type_side(false)));
    const std::string source = source_text();
    auto parsed = parse_substitutions(source, name_);
    if (!parsed) return tl::unexpected(std::move(parsed.error()));
    return std::move(parsed->at(0));
  }

 private:
  static Result<void> with_side(std::string_view side, Result<void> result) {
    if (!result) return with_context(side, std::move(result.error()));
    return {};
  }

  // ---- Sizes ----------------------------------------------------------------------------------

  /// Output channels are first taken for groups * channels of a group. Where that leaves products
  /// of different groups to be equal, they are sizes of their own, to which the claim then is
  /// restricted by the left side being well typed.
  Result<void> type_left() {
    for (std::size_t attempt = 0; attempt <= rule_.source.size(); ++attempt) {
      start();
      LEMMA_RETURN_IF_ERROR(with_side("left side", type_side(true)));
      equations_.solve(false);
      bool changed = false;
      for (const Dimension& zero : std::vector<Dimension>(equations_.open())) {
        std::map<std::string, int> symbols;
        collect_symbols(zero, symbols);
        for (const auto& [symbol, count] : symbols)
          if (symbol.starts_with("out_")) changed = plain_.insert(symbol).second || changed;
      }
      if (!changed) break;
    }
    equations_.solve(true);
    for (const Dimension& zero : equations_.open())
      if (zero.is_constant())
        return bad_input(fmt::format("left side: {} would have to be 0", zero.text()));
    return type_side(true);  // with terms that know all sizes
  }

  void start() {
    equations_ = SizeEquations();
    inputs_.clear();
    for (const std::int64_t id : ranks_.inputs) {
      Value value{fmt::format("x{}", -id), {}, {}};
      for (std::size_t i = 0; i < ranks_.axes(id); ++i) {
        const std::string symbol = fmt::format("x{}_{}", -id, i);
        equations_.add_symbol(symbol);
        value.shape.push_back(Dimension::symbol(symbol));
      }
      value.parts.resize(value.shape.size());
      inputs_.emplace(id, std::move(value));
    }
    for (std::size_t i = 0; i < rule_.source.size(); ++i)
      for (const char* kind : {"half_height", "half_width", "group", "out"})
        equations_.add_symbol(fmt::format("{}_{}", kind, i + 1));
  }

  Result<void> type_side(bool left) {
    left_ = left;
    convolutions_ = 0;
    const auto& ops = left ? rule_.source : rule_.target;
    auto& values = left ? source_ : target_;
    values.clear();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      auto made = type_operator(ops[i], values);
      if (!made) return with_context(fmt::format("operator {}", i), std::move(made.error()));
      values.push_back(std::move(*made));
    }
    return {};
  }

  Dimension reduced(const Dimension& size) const { return equations_.reduced(size); }
  Shape reduced(Shape shape) const {
    for (Dimension& size : shape) size = reduced(size);
    return shape;
  }

  void demand(const Dimension& zero) {
    if (left_) equations_.add(zero);  // what the right side needs is for the proof to show
  }

  /// Shapes of the outputs of an operator; demands what it does.
  Result<std::vector<Shape>> typed(std::string_view name, const std::vector<Value>& operands,
                                   const Attributes& attributes, std::size_t output_count = 1) {
    std::vector<TensorType> types;
    for (const Value& operand : operands) types.push_back({DataType::f32, operand.shape});
    LEMMA_ASSIGN_OR_RETURN(const verifier::ApplicationTypes result,
                           verifier::types_of_application(record(operator_named(name)), types,
                                                          attributes, output_count));
    for (const Dimension& zero : result.zeros()) demand(zero);
    std::vector<Shape> shapes;
    for (const TensorType& type : result.outputs) shapes.push_back(*type.shape);
    return shapes;
  }

  Result<Value> operand(const TasoTensor& tensor, const std::vector<std::vector<Value>>& made) {
    Value value;
    if (tensor.op < 0) {
      value = inputs_.at(tensor.op);
    } else {
      const auto& outputs = made[static_cast<std::size_t>(tensor.op)];
      if (static_cast<std::size_t>(tensor.output) >= outputs.size())
        return bad_input(fmt::format("operator {} has no output {}", tensor.op, tensor.output));
      value = outputs[static_cast<std::size_t>(tensor.output)];
    }
    value.shape = reduced(std::move(value.shape));
    for (Shape& parts : value.parts) parts = reduced(std::move(parts));
    return value;
  }

  // ---- Operators ------------------------------------------------------------------------------

  Result<std::vector<Value>> type_operator(const TasoOperator& op,
                                           const std::vector<std::vector<Value>>& made) {
    std::vector<Value> operands;
    for (const TasoTensor& input : op.inputs) {
      LEMMA_ASSIGN_OR_RETURN(Value value, operand(input, made));
      operands.push_back(std::move(value));
    }
    switch (static_cast<TasoType>(op.type)) {
      case TasoType::conv2d: return single(convolution(op, operands));
      case TasoType::max_pool: return single(pool(op, operands, "MaxPool"));
      case TasoType::average_pool: return single(pool(op, operands, "AveragePool"));
      case TasoType::relu: return single(elementwise(op, operands, 1, "Relu"));
      case TasoType::sigmoid: return single(elementwise(op, operands, 1, "Sigmoid"));
      case TasoType::tanh: return single(elementwise(op, operands, 1, "Tanh"));
      case TasoType::add: return single(elementwise(op, operands, 2, "Add"));
      case TasoType::multiply: return single(elementwise(op, operands, 2, "Mul"));
      case TasoType::scale: return single(scale(op, operands));
      case TasoType::matmul: return single(matmul(op, operands));
      case TasoType::concat: return single(concat(op, operands));
      case TasoType::transpose: return single(transpose(op, operands));
      case TasoType::enlarge: return single(enlarge(op, operands));
      case TasoType::split: return split(op, operands);
    }
    return unsupported(fmt::format("operator type {} has no counterpart here", op.type));
  }

  static Result<std::vector<Value>> single(Result<Value> value) {
    if (!value) return tl::unexpected(std::move(value.error()));
    return std::vector<Value>{std::move(*value)};
  }

  static Result<Value> activated(const TasoOperator& op, Value value) {
    static constexpr std::string_view names[] = {"", "Sigmoid", "Relu", "Tanh"};
    const std::int64_t mode = parameter(op, TasoKey::activation).value_or(0);
    if (mode < 0 || mode > 3) return bad_input(fmt::format("there is no activation {}", mode));
    if (mode > 0)
      value.term = fmt::format("{}({})", names[static_cast<std::size_t>(mode)], value.term);
    return value;
  }

  Result<Value> elementwise(const TasoOperator& op, const std::vector<Value>& operands,
                            std::size_t count, std::string_view name) {
    LEMMA_RETURN_IF_ERROR(expect_inputs(op, count));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, typed(name, operands, {}));
    std::vector<std::string> terms;
    for (const Value& operand : operands) terms.push_back(operand.term);
    Value value{fmt::format("{}({})", name, fmt::join(terms, ", ")), shapes[0], operands[0].parts};
    for (std::size_t i = 0; i < value.parts.size(); ++i)
      for (const Value& operand : operands)
        if (operand.parts[i] != value.parts[i]) value.parts[i].clear();
    return value;
  }

  Result<Value> scale(const TasoOperator& op, const std::vector<Value>& operands) {
    LEMMA_RETURN_IF_ERROR(expect_inputs(op, 2));
    Value value = operands[0];
    value.term = fmt::format("Mul({}, {})", operands[0].term, operands[1].term);
    return value;
  }

  Result<Value> matmul(const TasoOperator& op, const std::vector<Value>& operands) {
    LEMMA_RETURN_IF_ERROR(expect_inputs(op, 2));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, typed("MatMul", operands, {}));
    Value value{fmt::format("MatMul({}, {})", operands[0].term, operands[1].term), shapes[0], {}};
    value.parts.resize(value.shape.size());
    const std::size_t rows = value.shape.size() - 2;
    value.parts[rows] = operands[0].parts[rows];
    value.parts[rows + 1] = operands[1].parts[rows + 1];
    return activated(op, std::move(value));
  }

  Result<Value> concat(const TasoOperator& op, const std::vector<Value>& operands) {
    LEMMA_ASSIGN_OR_RETURN(const std::int64_t axis, number(op, TasoKey::axis));
    if (operands.empty()) return bad_input("a Concat of nothing");
    const auto count = parameter(op, TasoKey::input_count);
    if (count && *count != static_cast<std::int64_t>(operands.size()))
      return bad_input(fmt::format("{} inputs instead of {}", operands.size(), *count));
    if (axis < 0) return bad_input(fmt::format("there is no axis {}", axis));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                           typed("Concat", operands, {{"axis", axis}}));
    std::vector<std::string> terms;
    for (const Value& operand : operands) terms.push_back(operand.term);
    Value value{fmt::format("Concat{{axis={}}}({})", axis, fmt::join(terms, ", ")), shapes[0], {}};
    value.parts.resize(value.shape.size());
    const auto along = static_cast<std::size_t>(axis);
    for (std::size_t i = 0; i < value.parts.size(); ++i)
      for (const Value& operand : operands) {
        if (i == along)
          value.parts[i].push_back(operand.shape[i]);
        else
          value.parts[i] = operands[0].parts[i] == operand.parts[i] ? operand.parts[i] : Shape{};
      }
    return value;
  }

  Result<std::vector<Value>> split(const TasoOperator& op, const std::vector<Value>& operands) {
    LEMMA_RETURN_IF_ERROR(expect_inputs(op, 1));
    LEMMA_ASSIGN_OR_RETURN(const std::int64_t axis, number(op, TasoKey::axis));
    LEMMA_ASSIGN_OR_RETURN(const std::int64_t count, number(op, TasoKey::output_count));
    if (axis < 0 || static_cast<std::size_t>(axis) >= operands[0].shape.size())
      return bad_input(fmt::format("there is no axis {}", axis));
    const Shape& parts = operands[0].parts[static_cast<std::size_t>(axis)];
    if (parts.empty()) return bad_input("a Split of what no Concat has made");
    if (static_cast<std::int64_t>(parts.size()) != count)
      return bad_input(fmt::format("a Split into {} of what {} made", count, parts.size()));
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<Shape> shapes,
        typed("Split", operands, {{"axis", axis}, {"split", parts}}, parts.size()));
    std::vector<Value> values;
    for (const Shape& shape : shapes) {
      values.push_back({fmt::format("Split{{axis={}, split={}}}({})#{}", axis, list(parts),
                                    operands[0].term, values.size()),
                        shape, operands[0].parts});
      values.back().parts[static_cast<std::size_t>(axis)].clear();
    }
    return values;
  }

  Result<Value> transpose(const TasoOperator& op, const std::vector<Value>& operands) {
    LEMMA_RETURN_IF_ERROR(expect_inputs(op, 1));
    LEMMA_ASSIGN_OR_RETURN(std::int64_t digits, number(op, TasoKey::permutation));
    const std::size_t rank = operands[0].shape.size();
    Shape order(rank);
    std::set<std::int64_t> seen;
    Value value{"", Shape(rank), std::vector<Shape>(rank)};
    for (std::size_t i = rank; i-- > 0; digits /= static_cast<std::int64_t>(rank)) {
      const std::int64_t from = digits % static_cast<std::int64_t>(rank);
      if (digits < 0 || !seen.insert(from).second)
        return bad_input("the number is none of a permutation");
      order[i] = Dimension(from);
      value.shape[i] = operands[0].shape[static_cast<std::size_t>(from)];
      value.parts[i] = operands[0].parts[static_cast<std::size_t>(from)];
    }
    value.term = fmt::format("Transpose{{perm={}}}({})", list(order), operands[0].term);
    return value;
  }

  // ---- Windows --------------------------------------------------------------------------------

  /// `kernel`: the sizes of the kernel where the operator does not name them.
  Result<Window> window(const TasoOperator& op, const Shape& unnamed) {
    Window window;
    LEMMA_ASSIGN_OR_RETURN(const std::int64_t padding, number(op, TasoKey::padding));
    if (padding != 0 && padding != 1)
      return bad_input(fmt::format("there is no padding {}", padding));
    const TasoKey kernels[] = {TasoKey::kernel_height, TasoKey::kernel_width};
    const TasoKey strides[] = {TasoKey::stride_height, TasoKey::stride_width};
    for (std::size_t i = 0; i < 2; ++i) {
      const auto named = parameter(op, kernels[i]);
      const auto stride = parameter(op, strides[i]).value_or(1);
      if ((named && *named < 1) || stride < 1)
        return bad_input("a kernel or stride that is not positive");
      const Dimension kernel = named ? Dimension(*named) : unnamed.at(i);
      const auto half = exact_div(kernel - Dimension(1), Dimension(2));
      if (padding == 0 && (!half || stride != 1))
        return unsupported("SAME padding of an even kernel, or for a stride, depends on sizes");
      window.kernel.push_back(kernel);
      window.strides.emplace_back(stride);
      window.pads.push_back(padding == 0 ? *half : Dimension(0));
    }
    window.pads.insert(window.pads.end(), {window.pads[0], window.pads[1]});
    return window;
  }

  Result<Value> convolution(const TasoOperator& op, const std::vector<Value>& operands) {
    LEMMA_RETURN_IF_ERROR(expect_inputs(op, 2));
    const std::size_t which = ++convolutions_;
    const Shape &data = operands[0].shape, &weight = operands[1].shape;
    Shape odd;
    for (const char* kind : {"half_height", "half_width"})
      odd.push_back(left_ ? reduced(Dimension::symbol(fmt::format("{}_{}", kind, which))) *
                                    Dimension(2) +
                                Dimension(1)
                          : weight[odd.size() + 2]);
    LEMMA_ASSIGN_OR_RETURN(const Window window, this->window(op, odd));
    const Dimension groups = reduced(Dimension::symbol(fmt::format("group_{}", which)));
    std::string group = size_text(groups);
    if (left_) {
      const std::string out = fmt::format("out_{}", which);
      if (!plain_.contains(out)) demand(weight[0] - groups * reduced(Dimension::symbol(out)));
      for (std::size_t i = 0; i < 2; ++i)
        if (!(weight[i + 2] == window.kernel[i])) demand(weight[i + 2] - window.kernel[i]);
    } else {
      const auto quotient = exact_div(data[1], weight[1]);
      group = quotient ? size_text(*quotient)
                       : fmt::format("divide({}, {})", size_text(data[1]), size_text(weight[1]));
    }
    const Attributes attributes = {
        {"strides", window.strides}, {"pads", window.pads}, {"group", groups}};
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, typed("Conv", operands, attributes));
    Value value{"", shapes[0], std::vector<Shape>(4)};
    value.parts[0] = operands[0].parts[0];
    value.parts[1] = operands[1].parts[0];
    value.term = fmt::format("Conv{{strides={}, pads={}, group={}}}({}, {})", list(window.strides),
                             list(window.pads), group, operands[0].term, operands[1].term);
    return activated(op, std::move(value));
  }

  /// TASO gives a pool its window as parameters; averages leave the padding out.
  Result<Value> pool(const TasoOperator& op, const std::vector<Value>& operands,
                     std::string_view name) {
    LEMMA_RETURN_IF_ERROR(expect_inputs(op, 1));
    LEMMA_RETURN_IF_ERROR(number(op, TasoKey::kernel_height));
    LEMMA_RETURN_IF_ERROR(number(op, TasoKey::kernel_width));
    LEMMA_ASSIGN_OR_RETURN(const Window window, this->window(op, {}));
    const Attributes attributes = {
        {"kernel_shape", window.kernel}, {"strides", window.strides}, {"pads", window.pads}};
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, typed(name, operands, attributes));
    Value value{"", shapes[0], operands[0].parts};
    value.parts[2].clear(), value.parts[3].clear();
    value.term =
        fmt::format("{}{{kernel_shape={}, strides={}, pads={}}}({})", name, list(window.kernel),
                    list(window.strides), list(window.pads), operands[0].term);
    return activated(op, std::move(value));
  }

  /// A kernel among zeros, to the size named; both odd or both even.
  Result<Value> enlarge(const TasoOperator& op, const std::vector<Value>& operands) {
    LEMMA_RETURN_IF_ERROR(expect_inputs(op, 1));
    Value value = operands[0];
    Shape pads(8, Dimension(0));
    const TasoKey kernels[] = {TasoKey::kernel_height, TasoKey::kernel_width};
    for (std::size_t i = 0; i < 2; ++i) {
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t size, number(op, kernels[i]));
      const auto half = exact_div(Dimension(size) - value.shape[i + 2], Dimension(2));
      if (!half) return unsupported("a kernel that is enlarged from a size that is not named");
      pads[i + 2] = pads[i + 6] = *half;
      value.shape[i + 2] = Dimension(size);
      value.parts[i + 2].clear();
    }
    value.term = fmt::format("Pad{{pads={}, mode=\"constant\", value=0.0}}({})", list(pads),
                             operands[0].term);
    return value;
  }

  // ---- Text -----------------------------------------------------------------------------------

  std::string source_text() const {
    std::string text = fmt::format("rule {}\n", name_);
    std::set<std::string> empty;
    for (const auto& id : ranks_.inputs) {
      const Value& input = inputs_.at(id);
      const std::string group = ranks_.group(id);
      std::vector<std::string> sizes;
      if (!group.empty()) sizes.push_back(group + "..");
      for (const Dimension& size : reduced(input.shape)) sizes.push_back(size_text(size));
      text += fmt::format("  {} : [{}]\n", input.term, fmt::join(sizes, ", "));
      if (ranks_.is_empty(id)) empty.insert(group);
    }
    for (const std::string& group : undeclared_groups())
      text += fmt::format("  param {} : dimension\n", group);
    std::vector<std::string> conditions;
    for (const std::string& group : empty) conditions.push_back(fmt::format("len({}) == 0", group));
    if (!conditions.empty()) text += fmt::format("  where {}\n", fmt::join(conditions, ", "));
    std::vector<std::string> left, right;
    for (const TasoOutput& output : rule_.outputs) {
      left.push_back(at(source_, output.source).term);
      right.push_back(at(target_, output.target).term);
    }
    return text + fmt::format("  {}\n    => {}\n", fmt::join(left, " & "), fmt::join(right, " & "));
  }

  /// Numbers of groups that no declared size speaks of.
  std::vector<std::string> undeclared_groups() const {
    std::map<std::string, int> declared;
    for (const auto& [id, input] : inputs_)
      for (const Dimension& size : reduced(input.shape)) collect_symbols(size, declared);
    std::set<std::string> result;
    std::size_t convolutions = 0;
    for (const TasoOperator& op : rule_.source) {
      if (op.type != static_cast<std::int64_t>(TasoType::conv2d)) continue;
      const auto symbol =
          reduced(Dimension::symbol(fmt::format("group_{}", ++convolutions))).as_symbol();
      if (symbol && !declared.contains(*symbol)) result.insert(*symbol);
    }
    return {result.begin(), result.end()};
  }

  static const Value& at(const std::vector<std::vector<Value>>& side, const TasoTensor& tensor) {
    return side[static_cast<std::size_t>(tensor.op)][static_cast<std::size_t>(tensor.output)];
  }

  const TasoRule& rule_;
  std::string name_;
  const Ranks& ranks_;
  SizeEquations equations_;
  std::map<std::int64_t, Value> inputs_;
  std::vector<std::vector<Value>> source_, target_;  // outputs of each operator
  std::set<std::string> plain_;                      // output channels that are no product
  std::size_t convolutions_ = 0;
  bool left_ = true;
};

Result<void> check_outputs(const TasoRule& rule) {
  const auto check = [](const std::vector<TasoOperator>& side,
                        const TasoTensor& tensor) -> Result<void> {
    const TasoOperator& op = side[static_cast<std::size_t>(tensor.op)];
    const std::int64_t count = op.type == static_cast<std::int64_t>(TasoType::split)
                                   ? parameter(op, TasoKey::output_count).value_or(0)
                                   : 1;
    if (tensor.output >= count)
      return bad_input(fmt::format("operator {} has no output {}", tensor.op, tensor.output));
    return {};
  };
  for (const TasoOutput& output : rule.outputs) {
    LEMMA_RETURN_IF_ERROR(check(rule.source, output.source));
    LEMMA_RETURN_IF_ERROR(check(rule.target, output.target));
  }
  return {};
}

}  // namespace

Result<Substitution> import_rule(const TasoRule& rule, const std::string& name) {
  LEMMA_RETURN_IF_ERROR(check_outputs(rule));
  LEMMA_ASSIGN_OR_RETURN(const Ranks ranks, infer_ranks(rule));
  return RuleImporter(rule, name, ranks).run();
}

ImportedRules import_rules(const std::vector<TasoRule>& rules) {
  ImportedRules result;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    auto rule = import_rule(rules[i], fmt::format("taso_{:03}", i));
    if (rule)
      result.rules.push_back(std::move(*rule));
    else
      result.left_out.push_back(fmt::format("rule {}: {}", i, rule.error().message));
  }
  return result;
}

std::string rules_text(const ImportedRules& imported, const std::string& source) {
  std::string result = fmt::format("# Imported from {}: {} rules, {} left out.\n", source,
                                   imported.rules.size(), imported.left_out.size());
  for (const std::string& omission : imported.left_out) result += "# left out: " + omission + "\n";
  for (const Substitution& rule : imported.rules) result += "\n" + text(rule);
  return result;
}

}  // namespace lemma::exchange
