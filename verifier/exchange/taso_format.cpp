#include "verifier/exchange/taso_format.h"

#include <functional>

#include <fmt/format.h>

namespace lemma::exchange {
namespace {

// ---- Reading ----------------------------------------------------------------------------------

/// One field of a message: a number, or bytes.
struct Field {
  std::uint64_t number = 0;
  bool is_bytes = false;
  std::int64_t value = 0;
  std::string_view bytes;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }

  Result<Field> next() {
    LEMMA_ASSIGN_OR_RETURN(const std::uint64_t key, varint());
    Field field;
    field.number = key >> 3U;
    if (field.number == 0) return bad_input("a field has number 0");
    if ((key & 7U) == 0) {
      LEMMA_ASSIGN_OR_RETURN(const std::uint64_t value, varint());
      field.value = static_cast<std::int64_t>(value);
      return field;
    }
    if ((key & 7U) != 2) return bad_input(fmt::format("a field has wire type {}", key & 7U));
    LEMMA_ASSIGN_OR_RETURN(const std::uint64_t size, varint());
    if (size > rest_.size()) return bad_input("it ends within a field");
    field.is_bytes = true;
    field.bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

 private:
  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return bad_input("it ends within a number");
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 127U) << shift;
      if (byte < 128) return value;
    }
    return bad_input("a number has more than 64 bits");
  }

  std::string_view rest_;
};

/// Calls `visit` for every field; one that it does not know is an error.
Result<void> read_fields(std::string_view bytes, std::string_view message,
                         const std::function<Result<bool>(const Field&)>& visit) {
  Reader reader(bytes);
  while (!reader.done()) {
    LEMMA_ASSIGN_OR_RETURN(const Field field, reader.next());
    LEMMA_ASSIGN_OR_RETURN(const bool known, visit(field));
    if (!known)
      return bad_input(fmt::format("{} has no field {} of this kind", message, field.number));
  }
  return {};
}

/// A message of nothing but numbers: field i + 1 goes to `slots[i]`.
Result<void> read_numbers(std::string_view bytes, std::string_view message,
                          const std::vector<std::int64_t*>& slots) {
  return read_fields(bytes, message, [&slots](const Field& field) -> Result<bool> {
    if (field.is_bytes || field.number > slots.size()) return false;
    *slots[field.number - 1] = field.value;
    return true;
  });
}

Result<TasoOperator> read_operator(std::string_view bytes) {
  TasoOperator op;
  const auto read = read_fields(bytes, "an operator", [&op](const Field& field) -> Result<bool> {
    if (field.number == 1 && !field.is_bytes) {
      op.type = field.value;
    } else if (field.number == 2 && field.is_bytes) {
      TasoTensor& input = op.inputs.emplace_back();
      LEMMA_RETURN_IF_ERROR(read_numbers(field.bytes, "an input", {&input.op, &input.output}));
    } else if (field.number == 3 && field.is_bytes) {
      TasoParameter& parameter = op.parameters.emplace_back();
      LEMMA_RETURN_IF_ERROR(
          read_numbers(field.bytes, "a parameter", {&parameter.key, &parameter.value}));
    } else {
      return false;
    }
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return op;
}

Result<TasoRule> read_rule(std::string_view bytes) {
  TasoRule rule;
  const auto read = read_fields(bytes, "a rule", [&rule](const Field& field) -> Result<bool> {
    if (!field.is_bytes || field.number > 3) return false;
    if (field.number == 3) {
      TasoOutput& output = rule.outputs.emplace_back();
      LEMMA_RETURN_IF_ERROR(read_numbers(
          field.bytes, "a mapped output",
          {&output.source.op, &output.target.op, &output.source.output, &output.target.output}));
      return true;
    }
    LEMMA_ASSIGN_OR_RETURN(TasoOperator op, read_operator(field.bytes));
    (field.number == 1 ? rule.source : rule.target).push_back(std::move(op));
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  return rule;
}

Result<void> check_tensor(const TasoTensor& tensor, std::size_t before) {
  if (tensor.op >= 0 && static_cast<std::uint64_t>(tensor.op) >= before)
    return bad_input(fmt::format("operator {} is used before it is there", tensor.op));
  if (tensor.output < 0 || tensor.output > 63)
    return bad_input(fmt::format("there is no output {}", tensor.output));
  return {};
}

Result<void> check_rule(const TasoRule& rule) {
  if (rule.outputs.empty()) return bad_input("no output is mapped");
  for (const auto* side : {&rule.source, &rule.target})
    for (std::size_t i = 0; i < side->size(); ++i)
      for (const TasoTensor& input : (*side)[i].inputs)
        LEMMA_RETURN_IF_ERROR(check_tensor(input, i));
  for (const TasoOutput& output : rule.outputs) {
    if (output.source.op < 0 || output.target.op < 0)
      return bad_input("a mapped output is an input of the rule");
    LEMMA_RETURN_IF_ERROR(check_tensor(output.source, rule.source.size()));
    LEMMA_RETURN_IF_ERROR(check_tensor(output.target, rule.target.size()));
  }
  return {};
}

// ---- Writing ----------------------------------------------------------------------------------

void append_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 128; value >>= 7U) bytes += static_cast<char>((value & 127U) | 128U);
  bytes += static_cast<char>(value);
}

void append_number(std::string& bytes, unsigned field, std::int64_t value) {
  append_varint(bytes, field << 3U);
  append_varint(bytes, static_cast<std::uint64_t>(value));
}

void append_message(std::string& bytes, unsigned field, const std::string& message) {
  append_varint(bytes, field << 3U | 2U);
  append_varint(bytes, message.size());
  bytes += message;
}

std::string numbers(const std::vector<std::int64_t>& values) {
  std::string bytes;
  for (std::size_t i = 0; i < values.size(); ++i)
    append_number(bytes, static_cast<unsigned>(i + 1), values[i]);
  return bytes;
}

std::string operator_bytes(const TasoOperator& op) {
  std::string bytes;
  append_number(bytes, 1, op.type);
  for (const TasoTensor& input : op.inputs)
    append_message(bytes, 2, numbers({input.op, input.output}));
  for (const TasoParameter& parameter : op.parameters)
    append_message(bytes, 3, numbers({parameter.key, parameter.value}));
  return bytes;
}

}  // namespace

Result<std::vector<TasoRule>> read_taso(std::string_view bytes) {
  std::vector<TasoRule> rules;
  const auto read =
      read_fields(bytes, "a rule collection", [&rules](const Field& field) -> Result<bool> {
        if (!field.is_bytes || field.number != 1) return false;
        auto rule = read_rule(field.bytes);
        if (rule)
          if (auto checked = check_rule(*rule); !checked) rule = tl::unexpected(checked.error());
        if (!rule)
          return with_context(fmt::format("rule {}", rules.size()), std::move(rule.error()));
        rules.push_back(std::move(*rule));
        return true;
      });
  if (!read) return tl::unexpected(read.error());
  if (rules.empty()) return bad_input("there is no rule in it");
  return rules;
}

std::string write_taso(const std::vector<TasoRule>& rules) {
  std::string bytes;
  for (const TasoRule& rule : rules) {
    std::string message;
    for (const TasoOperator& op : rule.source) append_message(message, 1, operator_bytes(op));
    for (const TasoOperator& op : rule.target) append_message(message, 2, operator_bytes(op));
    for (const TasoOutput& output : rule.outputs)
      append_message(message, 3,
                     numbers({output.source.op, output.target.op, output.source.output,
                              output.target.output}));
    append_message(bytes, 1, message);
  }
  return bytes;
}

}  // namespace lemma::exchange
