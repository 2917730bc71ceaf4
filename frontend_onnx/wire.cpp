#include "frontend_onnx/wire.h"

#include <algorithm>

#include <vector>

#include <fmt/format.h>

namespace lemma::frontend {

namespace {

constexpr std::uint32_t varint_type = 0;
constexpr std::uint32_t fixed64_type = 1;
constexpr std::uint32_t bytes_type = 2;
constexpr std::uint32_t group_begin_type = 3;
constexpr std::uint32_t group_end_type = 4;
constexpr std::uint32_t fixed32_type = 5;

constexpr std::size_t strip_threshold = 512;
constexpr int depth_limit = 100;  // protobuf's own

/// The kind of a message in a field: this says which messages hold tensors, and where.
MessageKind kind_of_field(MessageKind kind, std::uint32_t number) {
  using K = MessageKind;
  switch (kind) {
    case K::model: return number == 7 ? K::graph : number == 25 ? K::function : K::other;
    case K::graph:
      return number == 1    ? K::node
             : number == 5  ? K::tensor
             : number == 15 ? K::sparse_tensor
                            : K::other;
    case K::node: return number == 5 ? K::attribute : K::other;
    case K::attribute:
      switch (number) {
        case 5:
        case 10: return K::tensor;
        case 6:
        case 11: return K::graph;
        case 22:
        case 23: return K::sparse_tensor;
        default: return K::other;
      }
    case K::sparse_tensor: return number == 1 || number == 2 ? K::tensor : K::other;
    case K::function: return number == 7 ? K::node : number == 11 ? K::attribute : K::other;
    default: return K::other;
  }
}

// Fields of TensorProto.
constexpr std::uint32_t float_data = 4;
constexpr std::uint32_t raw_data = 9;
constexpr std::uint32_t double_data = 10;
constexpr std::uint32_t external_data = 13;
constexpr std::uint32_t data_location = 14;

bool holds_data(std::uint32_t number) {
  return (number >= 4 && number <= 7) || (number >= 9 && number <= 11) || number == external_data ||
         number == data_location;
}
/// Fields whose content is laid out like raw_data.
bool is_laid_out(const WireField& field) {
  return field.type == bytes_type &&
         (field.number == float_data || field.number == raw_data || field.number == double_data);
}

Result<std::string> strip_tensor(std::string_view file, std::string_view bytes) {
  // A tensor with several data fields is left to the message parser, which knows how they merge.
  std::size_t data_fields = 0;
  bool strippable = false;
  for (WireReader reader(bytes); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
    if (!holds_data(field.number)) continue;
    ++data_fields;
    strippable = is_laid_out(field) && field.content.size() >= strip_threshold;
  }
  if (!strippable || data_fields != 1) return std::string(bytes);
  Rope out;
  for (WireReader reader(bytes); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
    if (!holds_data(field.number)) {
      out.append(field.whole);
      continue;
    }
    Rope entry;
    entry.append_bytes_field(1, stripped_key);
    entry.append_bytes_field(
        2, fmt::format("{}:{}:{}", field.number, field.content.data() - file.data(),
                       field.content.size()));
    out.append_message_field(external_data, std::move(entry));
  }
  return out.flatten();
}

Result<std::string> strip(std::string_view file, std::string_view bytes, MessageKind kind,
                          int depth) {
  if (depth > depth_limit) return bad_input("messages are nested too deeply");
  if (kind == MessageKind::tensor) return strip_tensor(file, bytes);
  Rope out;
  for (WireReader reader(bytes); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
    const MessageKind inner = kind_of_field(kind, field.number);
    if (field.type != bytes_type || inner == MessageKind::other ||
        field.content.size() < strip_threshold) {
      out.append(field.whole);
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(const std::string content, strip(file, field.content, inner, depth + 1));
    out.append_bytes_field(field.number, content);
  }
  return out.flatten();
}

Result<Rope> rewrite_tensors(std::string_view bytes, MessageKind kind, const TensorRewrite& rewrite,
                             int depth) {
  if (depth > depth_limit) return bad_input("messages are nested too deeply");
  if (kind == MessageKind::tensor) return rewrite(bytes);
  Rope out;
  for (WireReader reader(bytes); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
    const MessageKind inner = kind_of_field(kind, field.number);
    if (field.type != bytes_type || inner == MessageKind::other) {
      out.append(field.whole);
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(Rope content, rewrite_tensors(field.content, inner, rewrite, depth + 1));
    out.append_message_field(field.number, std::move(content));
  }
  return out;
}

tl::unexpected<Error> damaged() {
  return bad_input("not an ONNX model: the file is damaged or cut");
}

}  // namespace

Result<std::uint64_t> WireReader::varint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < rest_.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  return damaged();
}

/// ONNX has no groups, but what is not known may hold some, and travels through.
Result<WireField> WireReader::next() {
  const std::string_view start = rest_;
  LEMMA_ASSIGN_OR_RETURN(WireField field, item());
  std::vector<std::uint32_t> open;  // groups that have begun
  for (WireField inner = field;;) {
    if (inner.type == group_begin_type) {
      open.push_back(inner.number);
    } else if (inner.type == group_end_type) {
      if (open.empty() || open.back() != inner.number) return damaged();
      open.pop_back();
    }
    if (open.empty()) break;
    LEMMA_ASSIGN_OR_RETURN(inner, item());
  }
  field.whole = start.substr(0, start.size() - rest_.size());
  return field;
}

Result<WireField> WireReader::item() {
  LEMMA_ASSIGN_OR_RETURN(const std::uint64_t tag, varint());
  WireField field;
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.type = static_cast<std::uint32_t>(tag & 7);
  if (tag > 0xffffffffU || field.number == 0) return damaged();
  std::uint64_t length = 0;
  switch (field.type) {
    case varint_type: {
      LEMMA_ASSIGN_OR_RETURN(field.value, varint());
      break;
    }
    case fixed64_type: length = 8; break;
    case fixed32_type: length = 4; break;
    case bytes_type: {
      LEMMA_ASSIGN_OR_RETURN(length, varint());
      break;
    }
    case group_begin_type:
    case group_end_type: break;
    default: return damaged();
  }
  if (length > rest_.size()) return damaged();
  field.content = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return field;
}

Result<std::vector<std::int64_t>> WireReader::integers(const WireField& field) {
  std::vector<std::int64_t> result;
  if (field.type == varint_type) {
    result.push_back(static_cast<std::int64_t>(field.value));
    return result;
  }
  if (field.type != bytes_type) return damaged();
  for (WireReader packed(field.content); !packed.done();) {
    LEMMA_ASSIGN_OR_RETURN(const std::uint64_t value, packed.varint());
    result.push_back(static_cast<std::int64_t>(value));
  }
  return result;
}

Result<std::string> only_fields(std::string_view bytes, std::span<const std::uint32_t> numbers) {
  std::string result;
  for (WireReader reader(bytes); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
    if (std::find(numbers.begin(), numbers.end(), field.number) != numbers.end())
      result += field.whole;
  }
  return result;
}

Result<std::string> strip(std::string_view file, std::string_view bytes, MessageKind kind) {
  return strip(file, bytes, kind, 0);
}

Result<Rope> rewrite_tensors(std::string_view bytes, MessageKind kind,
                             const TensorRewrite& rewrite) {
  return rewrite_tensors(bytes, kind, rewrite, 0);
}

}  // namespace lemma::frontend
