#include <charconv>
#include <map>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/quoted.h"
#include "base/utf8.h"
#include "ir/graph_text.h"
#include "ir/operator_registration.h"

namespace lemma {

namespace {

/// One line of the textual form, taken apart from left to right.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  bool at_end() {
    skip_space();
    return rest_.empty();
  }
  bool accept(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  Result<void> expect(std::string_view token) {
    if (accept(token)) return {};
    return bad_input(fmt::format("expected '{}' before '{}'", token, utf8_prefix(rest_, 20)));
  }
  std::string_view word() {
    skip_space();
    return take([](char c) { return is_ascii_letter_or_digit(c) || c == '_'; });
  }
  Result<std::string> string() {
    skip_space();
    if (!rest_.starts_with('"')) return bad_input("expected a quoted string");
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return bad_input("a quoted string has no end");
    auto value = unquote(rest_.substr(0, end + 1));
    if (!value) return bad_input("a quoted string is malformed");
    rest_.remove_prefix(end + 1);
    return std::move(*value);
  }
  /// Text up to a comma or closing bracket at the outer level.
  std::string_view expression() {
    skip_space();
    int depth = 0;
    bool quoted = false;
    std::size_t i = 0;
    for (; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quoted) {
        if (c == '\\') ++i;
        if (c == '"') quoted = false;
        continue;
      }
      if (c == '"') quoted = true;
      if (depth == 0 && (c == ',' || c == ')' || c == ']' || c == '}')) break;
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
    }
    i = std::min(i, rest_.size());
    std::string_view result = rest_.substr(0, i);
    rest_.remove_prefix(i);
    while (!result.empty() && result.back() == ' ') result.remove_suffix(1);
    return result;
  }
  Result<TensorType> type() {
    skip_space();
    std::size_t end = 0;
    for (bool quoted = false; end < rest_.size() && (quoted || rest_[end] != ']'); ++end) {
      if (rest_[end] == '"') quoted = !quoted;
      if (quoted && rest_[end] == '\\') ++end;
    }
    if (end >= rest_.size()) return bad_input("expected a type such as f32[2, N]");
    auto result = parse_tensor_type(rest_.substr(0, end + 1));
    rest_.remove_prefix(end + 1);
    return result;
  }
  std::string_view rest() {
    skip_space();
    return rest_;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  template <typename Predicate>
  std::string_view take(Predicate belongs) {
    std::size_t i = 0;
    while (i < rest_.size() && belongs(rest_[i])) ++i;
    std::string_view result = rest_.substr(0, i);
    rest_.remove_prefix(i);
    return result;
  }
  std::string_view rest_;
};

template <typename T>
std::vector<std::byte> raw_bytes(const std::vector<T>& values) {
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  return {data, data + values.size() * sizeof(T)};
}

Result<std::vector<std::byte>> parse_hexadecimal(std::string_view text) {
  std::vector<std::byte> bytes;
  if (text.size() % 2 != 0) return bad_input("an odd number of hexadecimal digits");
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(&text[i], &text[i] + 2, value, 16);
    if (error != std::errc() || end != &text[i] + 2) return bad_input("not a hexadecimal digit");
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

Result<Constant> from_bytes(const TensorType& type, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view(*owner);
  return Constant::create(type, owner, view);
}

template <typename Stored>
Result<std::vector<std::byte>> narrowed(DataType type, const Integers& values) {
  std::vector<Stored> stored;
  for (const std::int64_t value : values) {
    stored.push_back(static_cast<Stored>(value));
    if (static_cast<std::int64_t>(stored.back()) != value)
      return bad_input(fmt::format("{} does not fit {}", value, name(type)));
  }
  return raw_bytes(stored);
}

Result<std::vector<std::byte>> integer_bytes(DataType type, const Integers& values) {
  switch (type) {
    case DataType::boolean:
    case DataType::u8: return narrowed<std::uint8_t>(type, values);
    case DataType::i8: return narrowed<std::int8_t>(type, values);
    case DataType::u16: return narrowed<std::uint16_t>(type, values);
    case DataType::i16: return narrowed<std::int16_t>(type, values);
    case DataType::u32: return narrowed<std::uint32_t>(type, values);
    case DataType::i32: return narrowed<std::int32_t>(type, values);
    case DataType::u64:
    case DataType::i64: return narrowed<std::int64_t>(type, values);  // as Constant::integers()
    default: return bad_input("constants of this type are written as hex");
  }
}

class GraphParser {
 public:
  explicit GraphParser(const ConstantResolver& resolver) : resolver_(resolver) {}

  Result<Graph> parse(std::string_view text) {
    int number = 0;
    while (!text.empty()) {
      ++number;
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
      LineReader reader(line);
      if (reader.at_end() || reader.rest().starts_with('#')) continue;
      auto done = parse_line(reader);
      if (!done) return with_context(fmt::format("line {}", number), std::move(done.error()));
      if (!reader.at_end())
        return bad_input(fmt::format("line {}: unexpected '{}'", number, reader.rest()));
    }
    if (!started_) return bad_input("the text has no line 'graph \"NAME\"'");
    return std::move(graph_);
  }

 private:
  Result<void> parse_line(LineReader& reader) {
    if (reader.accept("graph ")) {
      if (started_) return bad_input("a second graph begins");
      LEMMA_ASSIGN_OR_RETURN(std::string name, reader.string());
      graph_.set_name(std::move(name));
      started_ = true;
      return {};
    }
    if (!started_) return bad_input("expected 'graph \"NAME\"' first");
    if (reader.accept("input ")) return parse_input(reader);
    if (reader.accept("output ")) return parse_output(reader);
    std::vector<std::string> names;
    do {
      LEMMA_ASSIGN_OR_RETURN(std::string name, value_name(reader));
      names.push_back(std::move(name));
    } while (reader.accept(","));
    LEMMA_RETURN_IF_ERROR(reader.expect("="));
    if (reader.accept("constant ")) return parse_constant(reader, names);
    if (reader.accept("opaque ")) return parse_opaque(reader, names);
    return parse_operation(reader, names);
  }

  static Result<std::string> value_name(LineReader& reader) {
    LEMMA_RETURN_IF_ERROR(reader.expect("%"));
    std::string name(reader.word());
    if (name.empty()) return bad_input("expected a value name after '%'");
    return name;
  }

  Result<void> define(const std::string& name, ValueId value) {
    if (!values_.emplace(name, value).second)
      return bad_input(fmt::format("%{} is defined twice", name));
    return {};
  }

  Result<ValueId> use(LineReader& reader) {
    if (reader.accept("none")) return ValueId::none();
    LEMMA_ASSIGN_OR_RETURN(const std::string name, value_name(reader));
    auto entry = values_.find(name);
    if (entry == values_.end()) return bad_input(fmt::format("%{} is not defined", name));
    return entry->second;
  }

  Result<void> parse_input(LineReader& reader) {
    LEMMA_ASSIGN_OR_RETURN(const std::string value, value_name(reader));
    LEMMA_ASSIGN_OR_RETURN(std::string name, reader.string());
    LEMMA_RETURN_IF_ERROR(reader.expect(":"));
    LEMMA_ASSIGN_OR_RETURN(TensorType type, reader.type());
    LEMMA_ASSIGN_OR_RETURN(const ValueId id, graph_.add_input(std::move(name), std::move(type)));
    return define(value, id);
  }

  Result<void> parse_output(LineReader& reader) {
    LEMMA_ASSIGN_OR_RETURN(std::string name, reader.string());
    LEMMA_RETURN_IF_ERROR(reader.expect("="));
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, use(reader));
    if (value.is_none()) return bad_input("an output cannot be none");
    return graph_.add_output(std::move(name), value);
  }

  Result<void> parse_constant(LineReader& reader, const std::vector<std::string>& names) {
    if (names.size() != 1) return bad_input("a constant is one value");
    LEMMA_ASSIGN_OR_RETURN(TensorType type, reader.type());
    LEMMA_ASSIGN_OR_RETURN(Constant constant, constant_contents(reader, type));
    return define(names.front(), graph_.add_constant(std::move(constant)));
  }

  Result<Constant> constant_contents(LineReader& reader, const TensorType& type) {
    if (reader.accept("digest ")) {
      const std::string_view digits = reader.word();
      std::uint64_t digest = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), digest, 16);
      if (error != std::errc() || end != digits.data() + digits.size())
        return bad_input("a digest is 16 hexadecimal digits");
      if (resolver_ == nullptr)
        return unsupported("the constant is given by digest, and its contents are not here");
      return resolver_(type, digest);
    }
    if (reader.accept("hex")) {
      LEMMA_ASSIGN_OR_RETURN(auto bytes, parse_hexadecimal(reader.word()));
      return from_bytes(type, std::move(bytes));
    }
    const std::string_view list = reader.expression();
    const DataType element = type.data_type;
    if (is_real(element)) {
      LEMMA_ASSIGN_OR_RETURN(const AttributeValue value,
                             parse_attribute_value(AttributeKind::reals, list));
      const auto& reals = std::get<Reals>(value);
      if (element == DataType::f64) return from_bytes(type, raw_bytes(reals));
      if (element == DataType::f32)
        return from_bytes(type, raw_bytes(std::vector<float>(reals.begin(), reals.end())));
      return bad_input("constants of this type are written as hex");
    }
    LEMMA_ASSIGN_OR_RETURN(const AttributeValue value,
                           parse_attribute_value(AttributeKind::integers, list));
    LEMMA_ASSIGN_OR_RETURN(auto bytes, integer_bytes(element, std::get<Integers>(value)));
    return from_bytes(type, std::move(bytes));
  }

  Result<std::vector<ValueId>> parse_inputs(LineReader& reader) {
    LEMMA_RETURN_IF_ERROR(reader.expect("("));
    std::vector<ValueId> inputs;
    if (reader.accept(")")) return inputs;
    do {
      LEMMA_ASSIGN_OR_RETURN(const ValueId input, use(reader));
      inputs.push_back(input);
    } while (reader.accept(","));
    LEMMA_RETURN_IF_ERROR(reader.expect(")"));
    return inputs;
  }

  static Result<std::vector<TensorType>> parse_types(LineReader& reader) {
    LEMMA_RETURN_IF_ERROR(reader.expect(":"));
    std::vector<TensorType> types;
    do {
      LEMMA_ASSIGN_OR_RETURN(TensorType type, reader.type());
      types.push_back(std::move(type));
    } while (reader.accept(","));
    return types;
  }

  Result<void> define_outputs(NodeId id, const std::vector<std::string>& names) {
    for (std::uint32_t k = 0; k < names.size(); ++k)
      LEMMA_RETURN_IF_ERROR(define(names[k], graph_.node(id).output(k)));
    return {};
  }

  Result<void> parse_opaque(LineReader& reader, const std::vector<std::string>& names) {
    OpaqueOperator op;
    for (std::string* part : {&op.domain, &op.name, &op.payload, &op.reason}) {
      LEMMA_ASSIGN_OR_RETURN(*part, reader.string());
    }
    LEMMA_ASSIGN_OR_RETURN(std::vector<ValueId> inputs, parse_inputs(reader));
    LEMMA_ASSIGN_OR_RETURN(std::vector<TensorType> types, parse_types(reader));
    if (types.size() != names.size()) return bad_input("one type for each output is needed");
    return define_outputs(graph_.add_opaque(std::move(op), std::move(inputs), std::move(types)),
                          names);
  }

  Result<void> parse_operation(LineReader& reader, const std::vector<std::string>& names) {
    const std::string op_name(reader.word());
    const auto op = find_operator(op_name);
    if (!op) return bad_input(unknown_operator(op_name));
    LEMMA_ASSIGN_OR_RETURN(Attributes attributes, parse_attributes(reader, record(*op)));
    LEMMA_ASSIGN_OR_RETURN(std::vector<ValueId> inputs, parse_inputs(reader));
    LEMMA_ASSIGN_OR_RETURN(
        const NodeId id,
        graph_.add_operation(*op, std::move(inputs), std::move(attributes), names.size()));
    if (reader.at_end()) return define_outputs(id, names);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> types, parse_types(reader));
    if (types != graph_.output_types(graph_.node(id)))
      return bad_input(fmt::format("the type stated for %{} is not what {} gives: {}",
                                   names.front(), op_name,
                                   text(graph_.type(graph_.node(id).output()))));
    return define_outputs(id, names);
  }

  static Result<Attributes> parse_attributes(LineReader& reader, const OperatorRecord& op) {
    Attributes attributes;
    if (!reader.accept("{")) return attributes;
    do {
      const std::string attribute(reader.word());
      LEMMA_RETURN_IF_ERROR(reader.expect("="));
      const std::string_view value = reader.expression();
      const AttributeSpecification* specification = nullptr;
      for (const AttributeSpecification& candidate : op.attributes)
        if (candidate.name == attribute) specification = &candidate;
      if (specification == nullptr)
        return bad_input(fmt::format("{} has no attribute '{}'", op.name, attribute));
      LEMMA_ASSIGN_OR_RETURN(AttributeValue parsed,
                             parse_attribute_value(specification->kind, value));
      attributes.set(attribute, std::move(parsed));
    } while (reader.accept(","));
    LEMMA_RETURN_IF_ERROR(reader.expect("}"));
    return attributes;
  }

  const ConstantResolver& resolver_;
  Graph graph_;
  std::map<std::string, ValueId> values_;
  bool started_ = false;
};

}  // namespace

Result<TensorType> parse_tensor_type(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return bad_input(fmt::format("'{}' is not a type", text));
  const auto data_type = parse_data_type(text.substr(0, open));
  if (!data_type) return bad_input(fmt::format("unknown element type '{}'", text.substr(0, open)));
  if (text.substr(open) == "[?]") return TensorType{*data_type, std::nullopt};
  LEMMA_ASSIGN_OR_RETURN(AttributeValue shape,
                         parse_attribute_value(AttributeKind::dimensions, text.substr(open)));
  return TensorType{*data_type, std::get<Shape>(std::move(shape))};
}

Result<Graph> parse_graph(std::string_view text, const ConstantResolver& resolver) {
  return GraphParser(resolver).parse(text);
}

}  // namespace lemma
