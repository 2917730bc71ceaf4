#pragma once
// A byte sequence under construction: own text in between views of bytes that live elsewhere, so
// that a model of many gigabytes can be laid out and written without being held in memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::frontend {

/// Bytes and what keeps them alive.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;

  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

class Rope {
 public:
  struct Piece {
    std::string text;
    SharedBytes view;  // follows the text
  };

  void append(std::string_view text);
  void append(SharedBytes view);
  void append(Rope&& other);

  // Protobuf fields.
  void append_varint(std::uint64_t value);
  void append_varint_field(std::uint32_t number, std::uint64_t value);
  void append_bytes_field(std::uint32_t number, std::string_view text);
  void append_bytes_field(std::uint32_t number, SharedBytes view);
  void append_message_field(std::uint32_t number, Rope&& message);

  std::uint64_t size() const { return size_; }
  const std::vector<Piece>& pieces() const { return pieces_; }
  /// All bytes, copied.
  std::string flatten() const;

 private:
  std::string& text_end();
  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace lemma::frontend
