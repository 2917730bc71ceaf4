#include <array>
#include <cmath>

#include <fmt/format.h>

#include "operators/composition.h"
#include "operators/families.h"
#include "operators/helpers.h"

// Attention without softmax: each head has a matrix as its state, which every position updates and its query reads. ONNX,
// LinearAttention; the delta rule is that of Yang et al., 2024 (Gated Delta Networks).

namespace lemma::operators {
namespace {

using Compose = Result<std::vector<ValueId>>;
using Types = Result<std::vector<TensorType>>;

namespace linear_operand {
enum : std::size_t { query, key, value, past, decay, beta };
}

constexpr std::array update_rules = {std::string_view("delta"), std::string_view("gated"),
                                     std::string_view("gated_delta"), std::string_view("linear")};
constexpr std::array linear_attention_attributes = {
    // How a runtime may cut the sequence; without effect on the results.
    AttributeSpecification{"chunk_size", AttributeKind::integer, "64"},
    AttributeSpecification{"kv_num_heads", AttributeKind::integer},
    AttributeSpecification{"q_num_heads", AttributeKind::integer},
    AttributeSpecification{"scale", AttributeKind::real, "0.0"},
    AttributeSpecification{"update_rule", AttributeKind::string, "\"gated_delta\"",
                           AttributeRole::plain, update_rules},
};

/// Operands are [batch, length, heads * size].
struct LinearShapes {
  Dimension batch, key_size, value_size;
  std::int64_t length = 0, heads = 1, queries_for_each = 1;

  Shape state() const { return {batch, heads, key_size, value_size}; }
  Dimension result_size() const { return Dimension(heads * queries_for_each) * value_size; }
};

bool is_gated(const Instance& in) {
  const std::string& rule = in.attributes.string("update_rule");
  return rule == "gated" || rule == "gated_delta";
}

bool has_delta(const Instance& in) {
  const std::string& rule = in.attributes.string("update_rule");
  return rule == "delta" || rule == "gated_delta";
}

Result<Dimension> shared_by_heads(const Instance& in, std::size_t operand, std::int64_t heads) {
  const Dimension& all = in.shape(operand)[2];
  if (!in.divides(Dimension(heads), all))
    return bad_input(fmt::format("{} heads do not share {} elements", heads, all.text()));
  if (const auto size = exact_div(all, heads)) return *size;
  return unsupported(fmt::format("the size of a head of {}", all.text()));
}

Result<LinearShapes> linear_shapes(const Instance& in) {
  using namespace linear_operand;
  LinearShapes result;
  result.heads = in.attributes.integer("kv_num_heads");
  const std::int64_t queries = in.attributes.integer("q_num_heads");
  if (result.heads < 1 || queries < 1 || queries % result.heads != 0)
    return bad_input(fmt::format("{} heads for {}", result.heads, queries));
  result.queries_for_each = queries / result.heads;
  const Dimension& length = in.shape(query)[1];
  if (!length.is_constant()) return unsupported(fmt::format("a sequence of {}", length.text()));
  result.batch = in.shape(query)[0];
  result.length = length.offset();
  LEMMA_ASSIGN_OR_RETURN(result.key_size, shared_by_heads(in, key, result.heads));
  LEMMA_ASSIGN_OR_RETURN(result.value_size, shared_by_heads(in, value, result.heads));
  LEMMA_ASSIGN_OR_RETURN(const Dimension query_size, shared_by_heads(in, query, queries));
  LEMMA_RETURN_IF_ERROR(
      require_same_size(in, query_size, result.key_size, "sizes of query and key"));
  return result;
}

/// Demands the operand just where the update rule reads it.
Result<void> check_presence(const Instance& in, std::size_t operand, bool is_read) {
  if (in.has(operand) == is_read) return {};
  return bad_input(fmt::format("the update rule '{}' {} input {}",
                               in.attributes.string("update_rule"),
                               is_read ? "needs" : "does not read", operand));
}

Result<void> check_gates(const Instance& in, const LinearShapes& shapes) {
  using namespace linear_operand;
  LEMMA_RETURN_IF_ERROR(check_presence(in, decay, is_gated(in)));
  LEMMA_RETURN_IF_ERROR(check_presence(in, beta, has_delta(in)));
  if (in.has(decay) && !(in.shape(decay)[2] == Dimension(shapes.heads)))
    LEMMA_RETURN_IF_ERROR(require_same_size(
        in, in.shape(decay)[2], Dimension(shapes.heads) * shapes.key_size, "factors of the state"));
  if (in.has(beta) && !in.shape(beta)[2].is(1))
    LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(beta)[2], Dimension(shapes.heads),
                                            "update rates and heads"));
  return {};
}

Types infer_linear_attention(const Instance& in) {
  using namespace linear_operand;
  for (const std::size_t i : {query, key, value, decay, beta}) {
    if (!in.has(i)) continue;
    LEMMA_RETURN_IF_ERROR(require_type(in, i, TypeSet::real));
    if (in.type(i) != in.type(query))
      return bad_input(
          fmt::format("input {} is {}, not {}", i, name(in.type(i)), name(in.type(query))));
    LEMMA_RETURN_IF_ERROR(require_rank(in, i, 3, 3));
    for (const std::size_t axis : {0, 1})
      LEMMA_RETURN_IF_ERROR(require_same_size(in, in.shape(i)[axis], in.shape(query)[axis],
                                              fmt::format("sizes of axis {}", axis)));
  }
  LEMMA_ASSIGN_OR_RETURN(const LinearShapes shapes, linear_shapes(in));
  LEMMA_RETURN_IF_ERROR(check_gates(in, shapes));
  if (in.attributes.is_zero("scale") && (!shapes.key_size.is_constant() || shapes.key_size.is(0)))
    return unsupported("a scale that depends on a size that is not known");
  const Shape state = shapes.state();
  if (in.has(past)) {
    LEMMA_RETURN_IF_ERROR(require_type(in, past, TypeSet::real));
    LEMMA_RETURN_IF_ERROR(require_rank(in, past, 4, 4));
    for (const std::size_t axis : {0, 1, 2, 3})
      LEMMA_RETURN_IF_ERROR(
          require_same_size(in, in.shape(past)[axis], state[axis], "sizes of the state"));
  }
  std::vector<TensorType> types = {
      {in.type(query), Shape{shapes.batch, Dimension(shapes.length), shapes.result_size()}},
      {in.type(in.has(past) ? past : query), state}};
  types.resize(in.output_count);
  return types;
}

/// The operands of all steps [batch, length, heads, ...], and one step after the other.
class LinearSteps {
 public:
  LinearSteps(Composer& c, const Instance& in, const LinearShapes& shapes,
              std::span<const ValueId> inputs)
      : c_(c), shapes_(shapes) {
    using namespace linear_operand;
    const DataType given = in.type(query);
    computed_ = given == DataType::f64 ? given : DataType::f32;
    const Dimension unit = 1;
    query_ = apart(inputs[query], shapes.queries_for_each, shapes.key_size);
    key_ = apart(inputs[key], unit, shapes.key_size);
    value_ = apart(inputs[value], unit, shapes.value_size);
    if (in.has(decay)) {
      const bool for_heads = in.shape(decay)[2] == Dimension(shapes.heads);
      decay_ = c("Exp", {apart(inputs[decay], for_heads ? unit : shapes.key_size, unit)});
    }
    if (in.has(beta))
      beta_ = apart(inputs[beta], unit, unit, in.shape(beta)[2].is(1) ? 1 : shapes.heads);
  }

  ValueId initial_state(const Instance& in, std::span<const ValueId> inputs) {
    if (in.has(linear_operand::past)) return c_.cast(inputs[linear_operand::past], computed_);
    return c_("ConstantOfShape", {},
              {{"data_type", computed_}, {"shape", shapes_.state()}, {"value", 0.0}});
  }

  /// The state after step t.
  ValueId updated(ValueId state, std::int64_t t) {
    if (!decay_.is_none()) state = c_.multiply(state, step(decay_, t));
    const ValueId key = step(key_, t);
    ValueId written = step(value_, t);
    if (!beta_.is_none())
      written = c_.multiply(step(beta_, t), c_.subtract(written, c_("MatMul", {key, state})));
    const ValueId column = c_("Transpose", {key}, {{"perm", Integers{0, 1, 3, 2}}});
    return c_.add(state, c_.multiply(column, written));
  }

  /// What the queries of step t read, [batch, 1, heads * size].
  ValueId read(ValueId state, std::int64_t t, ValueId scale) {
    const ValueId product = c_.multiply(scale, c_("MatMul", {step(query_, t), state}));
    return c_("Reshape", {product},
              {{"shape", Shape{shapes_.batch, Dimension(1), shapes_.result_size()}}});
  }

  DataType computed() const { return computed_; }

 private:
  ValueId apart(ValueId operand, const Dimension& rows, const Dimension& columns,
                std::optional<std::int64_t> heads = std::nullopt) {
    const Shape shape = {shapes_.batch, Dimension(shapes_.length),
                         Dimension(heads.value_or(shapes_.heads)), rows, columns};
    return c_("Reshape", {c_.cast(operand, computed_)}, {{"shape", shape}});
  }

  ValueId step(ValueId steps, std::int64_t t) {
    const ValueId part =
        c_("Slice", {steps}, {{"starts", Shape{t}}, {"ends", Shape{t + 1}}, {"axes", Integers{1}}});
    return c_("Squeeze", {part}, {{"axes", Integers{1}}});
  }

  Composer& c_;
  const LinearShapes& shapes_;
  DataType computed_ = DataType::f32;
  ValueId query_, key_, value_;
  ValueId decay_ = ValueId::none(), beta_ = ValueId::none();
};

Compose compose_linear_attention(Graph& graph, const Instance& in,
                                 std::span<const ValueId> inputs) {
  LEMMA_ASSIGN_OR_RETURN(const LinearShapes shapes, linear_shapes(in));
  Composer c(graph);
  LinearSteps steps(c, in, shapes, inputs);
  const ValueId scale = in.attributes.is_zero("scale")
                            ? c.inverse_root(shapes.key_size, steps.computed())
                            : c.scalar(in.attributes.real("scale"), steps.computed());
  ValueId state = steps.initial_state(in, inputs);
  std::vector<ValueId> results;
  for (std::int64_t t = 0; t < shapes.length; ++t) {
    state = steps.updated(state, t);
    results.push_back(steps.read(state, t, scale));
  }
  const Attributes nothing = {{"data_type", steps.computed()},
                              {"shape", Shape{shapes.batch, Dimension(0), shapes.result_size()}},
                              {"value", 0.0}};
  const ValueId result = results.empty() ? c("ConstantOfShape", {}, nothing)
                                         : c("Concat", results, {{"axis", INT64_C(1)}});
  const DataType type = in.type(linear_operand::query);
  const DataType kept = in.has(linear_operand::past) ? in.type(linear_operand::past) : type;
  std::vector<ValueId> outputs = {c.cast(result, type), c.cast(state, kept)};
  outputs.resize(in.output_count);
  return c.outputs(std::move(outputs));
}

constexpr std::array linear_attention_examples = {
    OperatorExample{"f32[N, 2, 4]; f32[N, 2, 4]; f32[N, 2, 4]",
                    "q_num_heads=1; kv_num_heads=1; update_rule=\"linear\""},
    OperatorExample{
        "f32[N, 2, 8]; f32[N, 2, 8]; f32[N, 2, 6]; f32[N, 2, 4, 3]; f32[N, 2, 8]; f32[N, 2, 2]",
        "q_num_heads=2; kv_num_heads=2; update_rule=\"gated_delta\"", 2},
};
constexpr std::array linear_attention_onnx = {OnnxMapping{.name = "LinearAttention", .since = 27}};

constexpr std::array linear_attention_records = {
    OperatorRecord{.name = "LinearAttention",
                   .summary = "queries read a matrix that each position updates with its key and "
                              "value, and that matrix after the last position",
                   .inputs = {3, 6},
                   .outputs = {1, 2},
                   .attributes = linear_attention_attributes,
                   .infer = infer_linear_attention,
                   .compose = compose_linear_attention,
                   .onnx = linear_attention_onnx,
                   .examples = linear_attention_examples},
};
static_assert(is_complete(linear_attention_records));

}  // namespace

std::span<const OperatorRecord> linear_attention() { return linear_attention_records; }

}  // namespace lemma::operators
