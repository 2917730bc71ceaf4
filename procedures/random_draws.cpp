// Operators that draw random numbers (ONNX, Operators.md). ONNX says how they are distributed, not which they are: a node
// with a seed gives the same numbers each time, one without a seed numbers of its own.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "base/random_word.h"
#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;
using Sizes = std::vector<std::int64_t>;

// ---- Numbers -----------------------------------------------------------------------------------

/// The numbers of one call, one after the other.
class Draws {
 public:
  explicit Draws(const ProcedureCall& call) : seed_(call.seed), stream_(call.stream + 1) {
    const AttributeValue* given = call.attributes.values.find("seed");
    if (given == nullptr) return;
    const auto* integer = std::get_if<std::int64_t>(given);
    seed_ = integer != nullptr ? static_cast<std::uint64_t>(*integer)
                               : std::bit_cast<std::uint64_t>(call.attributes.real("seed", 0));
    stream_ = 0;
  }

  /// Uniform in [0, 1).
  double uniform() {
    return static_cast<double>(random_word(seed_, stream_, count_++) >> 11U) * 0x1p-53;
  }
  /// Of mean 0 and variance 1 (Box and Muller, "A note on the generation of random normal deviates", 1958).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t seed_, stream_, count_ = 0;
};

template <typename Stored, typename Convert>
Constant stored_as(DataType type, const Sizes& sizes, const std::vector<double>& elements,
                   Convert convert) {
  std::vector<Stored> stored;
  stored.reserve(elements.size());
  for (const double element : elements) stored.push_back(convert(element));
  return Constant::of(type, sizes, stored);
}

template <typename Stored>
Constant stored_as(DataType type, const Sizes& sizes, const std::vector<double>& elements) {
  return stored_as<Stored>(type, sizes, elements,
                           [](double element) { return static_cast<Stored>(element); });
}

/// The elements in a type that holds them; integers are whole and in range.
Result<RunTimeValue> tensor_of(DataType type, const Sizes& sizes,
                               const std::vector<double>& elements) {
  switch (type) {
    case DataType::f64: return stored_as<double>(type, sizes, elements);
    case DataType::f32: return stored_as<float>(type, sizes, elements);
    case DataType::f16:
      return stored_as<std::uint16_t>(type, sizes, elements, [](double element) {
        return f32_to_f16(static_cast<float>(element));
      });
    case DataType::bf16:
      return stored_as<std::uint16_t>(type, sizes, elements, [](double element) {
        return f32_to_bf16(static_cast<float>(element));
      });
    case DataType::boolean:
    case DataType::u8:
    case DataType::i8: return stored_as<std::uint8_t>(type, sizes, elements);
    case DataType::u16:
    case DataType::i16: return stored_as<std::uint16_t>(type, sizes, elements);
    case DataType::u32:
    case DataType::i32: return stored_as<std::uint32_t>(type, sizes, elements);
    case DataType::u64:
    case DataType::i64: return stored_as<std::uint64_t>(type, sizes, elements);
    default: break;
  }
  return unsupported(fmt::format("random numbers of the type {}", name(type)));
}

/// The attribute `dtype`, or the type that stands for it.
DataType type_of_result(const ProcedureCall& call, DataType otherwise) {
  const std::int64_t type = call.attributes.integer("dtype", static_cast<std::int64_t>(otherwise));
  return type > 0 && type < data_type_count ? static_cast<DataType>(type) : DataType::undefined;
}

std::size_t count_of(const Sizes& sizes) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

/// The reals of results that are known.
const Constant* known(std::span<const RunTimeValue> results, std::size_t i) {
  return i < results.size() ? results[i].tensor() : nullptr;
}

// ---- Bernoulli ---------------------------------------------------------------------------------

Result<Values> bernoulli(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* chances, call.tensor(0));
  Draws draws(call);
  std::vector<double> elements;
  for (const double chance : chances->reals()) {
    if (!(chance >= 0 && chance <= 1))
      return bad_input(fmt::format("{} is no probability", chance));
    elements.push_back(draws.uniform() < chance ? 1 : 0);
  }
  LEMMA_ASSIGN_OR_RETURN(
      RunTimeValue result,
      tensor_of(type_of_result(call, chances->type().data_type), sizes_of(*chances), elements));
  return Values{std::move(result)};
}

Result<void> admits_bernoulli(const ProcedureCall& call, std::span<const RunTimeValue> results) {
  const Constant* result = known(results, 0);
  if (result == nullptr) return {};
  const std::vector<double> chances = call.inputs[0].tensor()->reals(), drawn = result->reals();
  for (std::size_t i = 0; i < drawn.size(); ++i)
    if ((drawn[i] != 0 || chances[i] == 1) && (drawn[i] != 1 || chances[i] == 0))
      return bad_input(
          fmt::format("element {} is {}, with the probability {}", i, drawn[i], chances[i]));
  return {};
}

// ---- Multinomial -------------------------------------------------------------------------------

/// Operand: logarithms of weights [batch, classes].
Result<Values> multinomial(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* logarithms, call.tensor(0));
  const Sizes sizes = sizes_of(*logarithms);
  const std::int64_t samples = call.attributes.integer("sample_size", 1);
  if (sizes.size() != 2 || sizes[1] < 1 || samples < 0)
    return bad_input(fmt::format("Multinomial of {}, {} samples", text(call.inputs[0]), samples));
  const std::vector<double> all = logarithms->reals();
  const auto classes = static_cast<std::size_t>(sizes[1]);
  Draws draws(call);
  std::vector<double> elements;
  for (std::int64_t row = 0; row < sizes[0]; ++row) {
    const double* given = &all[static_cast<std::size_t>(row) * classes];
    const double greatest = *std::max_element(given, given + classes);
    std::vector<double> sums;  // of weights up to each class
    for (std::size_t k = 0; k < classes; ++k)
      sums.push_back((k == 0 ? 0 : sums.back()) + std::exp(given[k] - greatest));
    if (!(sums.back() > 0)) return bad_input("Multinomial of weights that have no sum");
    for (std::int64_t i = 0; i < samples; ++i) {
      const double place = draws.uniform() * sums.back();
      elements.push_back(static_cast<double>(std::upper_bound(sums.begin(), sums.end() - 1, place) -
                                             sums.begin()));
    }
  }
  LEMMA_ASSIGN_OR_RETURN(RunTimeValue result, tensor_of(type_of_result(call, DataType::i32),
                                                        {sizes[0], samples}, elements));
  return Values{std::move(result)};
}

Result<void> admits_multinomial(const ProcedureCall& call, std::span<const RunTimeValue> results) {
  const Constant* result = known(results, 0);
  if (result == nullptr) return {};
  const auto classes = static_cast<double>(sizes_of(*call.inputs[0].tensor())[1]);
  const std::vector<double> drawn = result->reals();
  for (std::size_t i = 0; i < drawn.size(); ++i)
    if (drawn[i] < 0 || drawn[i] >= classes)
      return bad_input(
          fmt::format("element {} is {}, and there are {} classes", i, drawn[i], classes));
  return {};
}

// ---- Uniform and normal ------------------------------------------------------------------------

struct Form {
  DataType type = DataType::f32;
  Sizes sizes;
};

/// Of the attribute `shape`.
Result<Form> form_of_attributes(const ProcedureCall& call) {
  const auto shape = call.attributes.integers("shape");
  if (!shape) return bad_input("the attribute 'shape' is absent");
  for (const std::int64_t size : *shape)
    if (size < 0) return bad_input(fmt::format("a size of {}", size));
  return Form{type_of_result(call, DataType::f32), Sizes(shape->begin(), shape->end())};
}

/// Of the operand, whose elements do not matter.
Result<Form> form_of_operand(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* like, call.tensor(0));
  const DataType type = type_of_result(call, like->type().data_type);
  return Form{type, sizes_of(*like)};
}

using FormOf = Result<Form> (*)(const ProcedureCall&);

template <FormOf form_of, bool is_normal>
Result<Values> distributed(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Form form, form_of(call));
  if (!is_real(form.type))
    return bad_input(fmt::format("random numbers of the type {}", name(form.type)));
  const double first = call.attributes.real(is_normal ? "mean" : "low", 0),
               second = call.attributes.real(is_normal ? "scale" : "high", 1);
  Draws draws(call);
  std::vector<double> elements(count_of(form.sizes));
  for (double& element : elements)
    element =
        is_normal ? first + second * draws.normal() : first + (second - first) * draws.uniform();
  LEMMA_ASSIGN_OR_RETURN(RunTimeValue result, tensor_of(form.type, form.sizes, elements));
  return Values{std::move(result)};
}

/// The upper limit belongs to the range: in narrow types numbers below it are rounded to it.
Result<void> admits_uniform(const ProcedureCall& call, std::span<const RunTimeValue> results) {
  const Constant* result = known(results, 0);
  if (result == nullptr) return {};
  const double low = call.attributes.real("low", 0), high = call.attributes.real("high", 1);
  for (const double drawn : result->reals())
    if (!(drawn >= low && drawn <= high))
      return bad_input(fmt::format("{} is not from {} to {}", drawn, low, high));
  return {};
}

Result<void> admits_normal(const ProcedureCall& /*call*/, std::span<const RunTimeValue> results) {
  const Constant* result = known(results, 0);
  if (result == nullptr) return {};
  for (const double drawn : result->reals())
    if (!std::isfinite(drawn)) return bad_input(fmt::format("{} is drawn", drawn));
  return {};
}

// ---- Dropout -----------------------------------------------------------------------------------

/// Operands: x, the ratio that is dropped (0.5), whether it is training (no).
struct Dropping {
  const Constant* x = nullptr;
  double ratio = 0;  // 0: nothing is dropped
  double scale() const { return 1 / (1 - ratio); }
};

Result<Dropping> dropping_of(const ProcedureCall& call) {
  Dropping result;
  LEMMA_ASSIGN_OR_RETURN(result.x, call.tensor(0));
  if (!is_real(result.x->type().data_type))
    return bad_input(fmt::format("Dropout of {}", text(call.inputs[0])));
  std::int64_t trains = 0;
  if (call.has(2)) {
    LEMMA_ASSIGN_OR_RETURN(trains, call.integer(2));
  }
  if (trains == 0) return result;
  result.ratio = 0.5;
  if (call.has(1)) {
    LEMMA_ASSIGN_OR_RETURN(const Constant* ratio, call.tensor(1));
    if (ratio->element_count() != 1) return bad_input("the ratio is not one number");
    result.ratio = ratio->reals().front();
  }
  if (!(result.ratio >= 0 && result.ratio < 1))
    return bad_input(fmt::format("a ratio of {}", result.ratio));
  return result;
}

Result<Values> dropout(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Dropping dropping, dropping_of(call));
  Draws draws(call);
  std::vector<double> elements, mask;
  for (const double x : dropping.x->reals()) {
    const bool is_kept = draws.uniform() >= dropping.ratio;
    mask.push_back(is_kept ? 1 : 0);
    elements.push_back(is_kept ? x * dropping.scale() : 0);
  }
  const Sizes sizes = sizes_of(*dropping.x);
  LEMMA_ASSIGN_OR_RETURN(RunTimeValue result,
                         tensor_of(dropping.x->type().data_type, sizes, elements));
  LEMMA_ASSIGN_OR_RETURN(RunTimeValue kept, tensor_of(DataType::boolean, sizes, mask));
  return Values{std::move(result), std::move(kept)};
}

/// What is kept is x times 1 / (1 - ratio), within what rounding moves it by in the type; what is not is 0.
Result<void> admits_dropout(const ProcedureCall& call, std::span<const RunTimeValue> results) {
  LEMMA_ASSIGN_OR_RETURN(const Dropping dropping, dropping_of(call));
  const Constant* result = known(results, 0);
  const Constant* mask = known(results, 1);
  const std::vector<double> x = dropping.x->reals();
  const std::vector<double> drawn = result != nullptr ? result->reals() : std::vector<double>();
  const std::vector<double> kept = mask != nullptr ? mask->reals() : std::vector<double>();
  const double tolerance = bits(dropping.x->type().data_type) < 32 ? 1e-2 : 1e-5;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (mask != nullptr && kept[i] == 0 && dropping.ratio == 0)
      return bad_input(fmt::format("element {} is dropped, with a ratio of 0", i));
    if (result == nullptr) continue;
    const double whole = x[i] * dropping.scale();
    const bool is_whole = std::abs(drawn[i] - whole) <= tolerance * std::abs(whole) ||
                          (std::isnan(drawn[i]) && std::isnan(whole)) || drawn[i] == whole;
    const bool may_be_kept = mask == nullptr || kept[i] != 0;
    const bool may_be_dropped = mask == nullptr ? dropping.ratio > 0 : kept[i] == 0;
    if (!(may_be_kept && is_whole) && !(may_be_dropped && drawn[i] == 0))
      return bad_input(fmt::format("element {} is {}, of {} with a ratio of {}{}", i, drawn[i],
                                   x[i], dropping.ratio,
                                   mask == nullptr ? ""
                                   : may_be_kept   ? ", kept"
                                                   : ", dropped"));
  }
  return {};
}

// ---- Records -----------------------------------------------------------------------------------

constexpr std::array random_procedures = {
    ProcedureRecord{"Bernoulli", "", 15, "1 with the probability x, otherwise 0; drawn at random",
                    bernoulli, admits_bernoulli},
    ProcedureRecord{
        "Dropout", "", 12,
        "in training: x times 1 / (1 - ratio), or 0 with the probability ratio; drawn at "
        "random",
        dropout, admits_dropout},
    ProcedureRecord{"Multinomial", "", 7,
                    "classes of unnormalized log-probabilities, drawn at random", multinomial,
                    admits_multinomial},
    ProcedureRecord{"RandomNormal", "", 1, "normally distributed numbers, drawn at random",
                    distributed<form_of_attributes, true>, admits_normal},
    ProcedureRecord{"RandomNormalLike", "", 1,
                    "normally distributed numbers of the shape of x, drawn at random",
                    distributed<form_of_operand, true>, admits_normal},
    ProcedureRecord{"RandomUniform", "", 1, "uniformly distributed numbers, drawn at random",
                    distributed<form_of_attributes, false>, admits_uniform},
    ProcedureRecord{"RandomUniformLike", "", 1,
                    "uniformly distributed numbers of the shape of x, drawn at random",
                    distributed<form_of_operand, false>, admits_uniform},
};

}  // namespace

std::span<const ProcedureRecord> random_draws() { return random_procedures; }

}  // namespace lemma::procedures
