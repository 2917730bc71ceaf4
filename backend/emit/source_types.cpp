#include "backend/emit/source_types.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/number_text.h"
#include "lowering/operation_table.h"

namespace lemma::backend {

using lowering::LaneKind;
using Kind = ExpressionKind;

namespace {

struct Operation {
  std::string_view name;  // a struct of lowering/scalar_operations.h
  bool is_checked = false;
  bool is_unsigned = false;
};

// clang-format off
#define LEMMA_PLAIN(kind, name) case Kind::kind: return Operation{#name, false, false};
#define LEMMA_CHECKED(kind, name) case Kind::kind: return Operation{#name, true, false};
#define LEMMA_UNSIGNED(kind, name) case Kind::kind: return Operation{#name, false, true};
#define LEMMA_UNSIGNED_CHECKED(kind, name) case Kind::kind: return Operation{#name, true, true};
#define LEMMA_FUNCTION(function) case ScalarFunction::function: return #function;
// clang-format on

std::optional<Operation> real_operation(Kind kind) {
  switch (kind) {
    LEMMA_REAL_OPERATIONS(LEMMA_PLAIN)
    default: return std::nullopt;
  }
}

std::optional<Operation> integer_operation(Kind kind) {
  switch (kind) {
    LEMMA_INTEGER_OPERATIONS(LEMMA_PLAIN, LEMMA_CHECKED)
    default: return std::nullopt;
  }
}

std::optional<Operation> unsigned_operation(Kind kind) {
  switch (kind) {
    LEMMA_UNSIGNED_OPERATIONS(LEMMA_UNSIGNED, LEMMA_UNSIGNED_CHECKED)
    default: return integer_operation(kind);
  }
}

std::optional<Operation> boolean_operation(Kind kind) {
  switch (kind) {
    LEMMA_BOOLEAN_OPERATIONS(LEMMA_PLAIN)
    default: return std::nullopt;
  }
}

std::optional<std::string_view> real_function(ScalarFunction function) {
  switch (function) {
    LEMMA_REAL_FUNCTIONS(LEMMA_FUNCTION)
    case ScalarFunction::none: break;
  }
  return std::nullopt;
}

std::optional<std::string_view> integer_function(ScalarFunction function) {
  switch (function) {
    LEMMA_INTEGER_FUNCTIONS(LEMMA_FUNCTION)
    default: return std::nullopt;
  }
}

#undef LEMMA_PLAIN
#undef LEMMA_CHECKED
#undef LEMMA_UNSIGNED
#undef LEMMA_UNSIGNED_CHECKED
#undef LEMMA_FUNCTION

std::optional<Operation> operation_of(Kind kind, LaneKind lanes, bool unsigned64) {
  switch (lanes) {
    case LaneKind::boolean: return boolean_operation(kind);
    case LaneKind::integer: return unsigned64 ? unsigned_operation(kind) : integer_operation(kind);
    case LaneKind::f32:
    case LaneKind::f64:
    case LaneKind::field: return real_operation(kind);
    default: return std::nullopt;
  }
}

std::string cast_to(std::string_view type, std::string_view text) {
  return fmt::format("static_cast<{}>({})", type, text);
}

bool yields_boolean(Kind kind) {
  return kind == Kind::equal || kind == Kind::less || kind == Kind::less_equal;
}

template <typename T>
std::string real_text(T value, std::string_view type, std::string_view suffix) {
  if (std::isnan(value)) return fmt::format("std::numeric_limits<{}>::quiet_NaN()", type);
  if (std::isinf(value))
    return fmt::format("{}std::numeric_limits<{}>::infinity()", value < 0 ? "-" : "", type);
  return hexadecimal_text(value) + std::string(suffix);
}

}  // namespace

Result<std::string> stored_type(DataType type, lowering::Domain domain) {
  if (is_real(type) && domain == lowering::Domain::prime_field) return "Residue";
  switch (type) {
    // 0 or 1, read as a number: GCC 12 makes no vectors of choices by elements of type bool.
    case DataType::boolean: return "std::uint8_t";
    case DataType::i8: return "std::int8_t";
    case DataType::u8: return "std::uint8_t";
    case DataType::i16: return "std::int16_t";
    case DataType::u16: return "std::uint16_t";
    case DataType::i32: return "std::int32_t";
    case DataType::u32: return "std::uint32_t";
    case DataType::i64: return "std::int64_t";
    case DataType::u64: return "std::uint64_t";
    case DataType::f16: return "F16";
    case DataType::bf16: return "BF16";
    case DataType::f32: return "float";
    case DataType::f64: return "double";
    default: return unsupported(fmt::format("source for elements of type {}", name(type)));
  }
}

Result<std::string> computed_type(LaneKind lanes) {
  switch (lanes) {
    case LaneKind::boolean: return "std::uint8_t";
    case LaneKind::integer: return "std::int64_t";
    case LaneKind::f32: return "float";
    case LaneKind::f64: return "double";
    case LaneKind::field: return "Residue";
    default: return unsupported("source for the exact domains");
  }
}

Result<std::string> constant_text(std::uint64_t bits, LaneKind lanes) {
  switch (lanes) {
    case LaneKind::boolean: return fmt::format("{}", bits);
    case LaneKind::integer:
      if (static_cast<std::int64_t>(bits) == INT64_MIN) return "INT64_MIN";
      return fmt::format("std::int64_t{{{}}}", static_cast<std::int64_t>(bits));
    case LaneKind::f32:
      return real_text(std::bit_cast<float>(static_cast<std::uint32_t>(bits)), "float", "F");
    case LaneKind::f64: return real_text(std::bit_cast<double>(bits), "double", "");
    case LaneKind::field: return fmt::format("Residue{{{}U}}", bits);
    default: return unsupported("source for the exact domains");
  }
}

std::string variable_name(lowering::LoopVariable variable) { return fmt::format("i{}", variable); }
std::string term_name(lowering::TermNumber term) { return fmt::format("t{}", term); }
std::string input_name(std::uint32_t input) { return fmt::format("x{}", input); }

std::string linear_text(const lowering::TermGraph& graph, const lowering::Linear& form) {
  const bool wraps = !graph.range(form).is_known();
  std::string text;
  const auto append = [&](const std::string& part) {
    text += (text.empty() ? "" : " + ") + (wraps ? cast_to("std::uint64_t", part) : part);
  };
  for (const auto& [atom, factor] : form.terms) {
    const std::string value = atom < lowering::first_term_atom
                                  ? variable_name(atom)
                                  : term_name(atom - lowering::first_term_atom);
    const std::string scale =
        wraps ? cast_to("std::uint64_t", fmt::format("{}LL", factor)) : fmt::format("{}LL", factor);
    append(value);
    if (factor != 1) text += " * " + scale;
  }
  if (form.constant != 0 || form.terms.empty()) append(fmt::format("{}LL", form.constant));
  return wraps ? cast_to("std::int64_t", text) : text;
}

Result<source::Expression> binary_text(Kind kind, LaneKind lanes, bool unsigned64,
                                       const std::string& a, const std::string& b) {
  const auto operation = operation_of(kind, lanes, unsigned64);
  if (!operation) return unsupported(fmt::format("source for '{}' of such elements", name(kind)));
  const auto operand = [&operation](const std::string& text) {
    return operation->is_unsigned ? cast_to("std::uint64_t", text) : text;
  };
  const bool is_fast = kind == Kind::power && (lanes == LaneKind::f32 || lanes == LaneKind::f64);
  const std::string name = is_fast ? "fast::power" : fmt::format("{}::apply", operation->name);
  const std::string result = fmt::format("{}({}, {}{})", name, operand(a), operand(b),
                                         operation->is_checked ? ", ok" : "");
  source::Expression expression =
      operation->is_unsigned && !yields_boolean(kind) ? cast_to("std::int64_t", result) : result;
  expression.notes_divisors = operation->is_checked;
  return expression;
}

/// Whether the function has a form in parts/fast_functions.h.
static bool has_fast_form(ScalarFunction function) {
  switch (function) {
    case ScalarFunction::exp:
    case ScalarFunction::log:
    case ScalarFunction::sin:
    case ScalarFunction::cos:
    case ScalarFunction::tan:
    case ScalarFunction::asin:
    case ScalarFunction::acos:
    case ScalarFunction::atan:
    case ScalarFunction::sinh:
    case ScalarFunction::cosh:
    case ScalarFunction::tanh:
    case ScalarFunction::asinh:
    case ScalarFunction::acosh:
    case ScalarFunction::atanh:
    case ScalarFunction::erf: return true;
    default: return false;
  }
}

bool is_plain_operation(Kind kind, ScalarFunction function, LaneKind lanes) {
  switch (kind) {
    case Kind::divide:
    case Kind::floor_divide: return lowering::is_scalar_type(lanes);
    case Kind::floor_modulo:
    case Kind::truncated_modulo:
    case Kind::power: return false;
    case Kind::function: break;
    default: return true;
  }
  switch (function) {
    case ScalarFunction::negate:
    case ScalarFunction::absolute:
    case ScalarFunction::sign:
    case ScalarFunction::floor:
    case ScalarFunction::ceil:
    case ScalarFunction::round:
    case ScalarFunction::sqrt:
    case ScalarFunction::reciprocal:
    case ScalarFunction::is_nan:
    case ScalarFunction::is_infinite: return true;
    default: return lanes == LaneKind::f32 && has_fast_form(function);
  }
}

Result<std::string> function_text(ScalarFunction function, LaneKind lanes, bool unsigned64,
                                  const std::string& a) {
  const bool is_real = lowering::is_scalar_type(lanes);
  const auto function_name = is_real                      ? real_function(function)
                             : lanes == LaneKind::integer ? integer_function(function)
                                                          : std::nullopt;
  if (!function_name)
    return unsupported(fmt::format("source for '{}' of such elements", name(function)));
  const bool differs =
      unsigned64 && (function == ScalarFunction::absolute || function == ScalarFunction::sign);
  const bool is_fast = lanes == LaneKind::f32 && has_fast_form(function);
  const std::string call = fmt::format("{}::{}({})", is_fast ? "fast" : "functions", *function_name,
                                       differs ? cast_to("std::uint64_t", a) : a);
  return differs ? cast_to("std::int64_t", call) : call;
}

Result<std::string> cast_text(DataType from, DataType to, lowering::Domain domain,
                              const std::string& a) {
  LEMMA_ASSIGN_OR_RETURN(std::string type, stored_type(to, domain));
  LEMMA_RETURN_IF_ERROR(stored_type(from));
  if (to == DataType::boolean) type = "bool";
  const std::string value = from == DataType::u64 ? cast_to("std::uint64_t", a) : a;
  // Computed with in f32. The smallest integers need no rounding.
  const bool is_exact = from == DataType::boolean || from == DataType::u8 || from == DataType::i8;
  if ((to == DataType::f16 || to == DataType::bf16) && is_exact)
    return fmt::format("convert<float>({})", value);
  if (to == DataType::f16 || to == DataType::bf16)
    return cast_to("float", fmt::format("{}(convert<float>({}))", type, value));
  return fmt::format("convert<{}>({})", type, value);
}

}  // namespace lemma::backend
