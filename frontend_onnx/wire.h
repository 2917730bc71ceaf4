#pragma once
// The wire format of ONNX messages, read without building messages: only where tensors are nested
// is known here. Lengths are 64 bits wide, so files beyond the 2 GiB of protobuf's own parser work.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend_onnx/rope.h"

namespace lemma::frontend {

enum class MessageKind : std::uint8_t {
  other,
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse_tensor,
  function
};

struct WireField {
  std::uint32_t number = 0;
  std::uint32_t type = 0;
  std::string_view content;  // of a length-delimited field
  std::uint64_t value = 0;   // of a varint field
  std::string_view whole;    // tag, length and content
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  bool done() const { return rest_.empty(); }
  Result<WireField> next();
  /// The integers in one field of a repeated one, which may be packed. An error: it has something else.
  static Result<std::vector<std::int64_t>> integers(const WireField& field);

 private:
  /// A field, or one end of a group.
  Result<WireField> item();
  Result<std::uint64_t> varint();
  std::string_view rest_;
};

/// A copy of the message in which the data of large tensors is replaced by a reference to where it
/// stands in `file` (of which `bytes` is a part). See tensor_reference().
Result<std::string> strip(std::string_view file, std::string_view bytes, MessageKind kind);

/// The key, among the external_data entries of a stripped tensor, of "FIELD:OFFSET:LENGTH": the data
/// field that was taken out, and its content's place in the model file.
inline constexpr std::string_view stripped_key = "lemma.stripped";

/// The fields of a message that have one of these numbers.
Result<std::string> only_fields(std::string_view bytes, std::span<const std::uint32_t> numbers);

/// The message with every tensor in it replaced by what `rewrite` makes of its content.
using TensorRewrite = std::function<Result<Rope>(std::string_view tensor)>;
Result<Rope> rewrite_tensors(std::string_view bytes, MessageKind kind,
                             const TensorRewrite& rewrite);

}  // namespace lemma::frontend
