#include "frontend_onnx/rope.h"

#include <iterator>

namespace lemma::frontend {

namespace {

constexpr std::uint32_t varint_type = 0;
constexpr std::uint32_t bytes_type = 2;
constexpr std::size_t copied_below = 256;  // a piece of its own costs more than such a copy

}  // namespace

std::string& Rope::text_end() {
  if (pieces_.empty() || !pieces_.back().view.bytes.empty()) pieces_.emplace_back();
  return pieces_.back().text;
}

void Rope::append(std::string_view text) {
  if (text.empty()) return;
  text_end().append(text);
  size_ += text.size();
}

void Rope::append(SharedBytes view) {
  if (view.bytes.size() < copied_below) return append(view.text());
  text_end();
  size_ += view.bytes.size();
  pieces_.back().view = std::move(view);
}

void Rope::append(Rope&& other) {
  if (other.pieces_.empty()) return;
  text_end().append(other.pieces_.front().text);
  pieces_.back().view = std::move(other.pieces_.front().view);
  pieces_.insert(pieces_.end(), std::make_move_iterator(other.pieces_.begin() + 1),
                 std::make_move_iterator(other.pieces_.end()));
  size_ += other.size_;
}

void Rope::append_varint(std::uint64_t value) {
  std::string& out = text_end();
  const std::size_t before = out.size();
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  size_ += out.size() - before;
}

void Rope::append_varint_field(std::uint32_t number, std::uint64_t value) {
  append_varint(number << 3 | varint_type);
  append_varint(value);
}

void Rope::append_bytes_field(std::uint32_t number, std::string_view text) {
  append_varint(number << 3 | bytes_type);
  append_varint(text.size());
  append(text);
}

void Rope::append_bytes_field(std::uint32_t number, SharedBytes view) {
  append_varint(number << 3 | bytes_type);
  append_varint(view.bytes.size());
  append(std::move(view));
}

void Rope::append_message_field(std::uint32_t number, Rope&& message) {
  append_varint(number << 3 | bytes_type);
  append_varint(message.size());
  append(std::move(message));
}

std::string Rope::flatten() const {
  std::string out;
  out.reserve(size_);
  for (const Piece& piece : pieces_) {
    out += piece.text;
    out += piece.view.text();
  }
  return out;
}

}  // namespace lemma::frontend
