#include <charconv>

#include <fmt/format.h>

#include "base/quoted.h"
#include "ir/dimension.h"

namespace lemma {

namespace {

/// Recursive descent over: sum := product (('+'|'-') product)*; product := factor ('*' factor)*.
class DimensionParser {
 public:
  explicit DimensionParser(std::string_view text) : text_(text) {}

  Result<Dimension> parse() {
    LEMMA_ASSIGN_OR_RETURN(Dimension result, sum(0));
    skip_space();
    if (position_ != text_.size()) return error("unexpected text");
    return result;
  }

 private:
  static constexpr int depth_limit = 100;

  Result<Dimension> sum(int depth) {
    if (depth > depth_limit) return error("nested too deeply");
    LEMMA_ASSIGN_OR_RETURN(Dimension total, product(depth, false));
    while (true) {
      const bool negative = accept('-');
      if (!negative && !accept('+')) return total;
      LEMMA_ASSIGN_OR_RETURN(const Dimension next, product(depth, negative));
      LEMMA_ASSIGN_OR_RETURN(total, checked(total + next));
    }
  }

  /// `negative`: of the product; given to the first factor, so that the least integer is read.
  Result<Dimension> product(int depth, bool negative) {
    LEMMA_ASSIGN_OR_RETURN(Dimension total, factor(depth, negative));
    while (accept('*')) {
      LEMMA_ASSIGN_OR_RETURN(const Dimension next, factor(depth, false));
      LEMMA_ASSIGN_OR_RETURN(total, checked(total * next));
    }
    return total;
  }

  Result<Dimension> factor(int depth, bool negative) {
    while (accept('-')) negative = !negative;
    skip_space();
    const char next = position_ < text_.size() ? text_[position_] : '\0';
    if (next >= '0' && next <= '9') return number(negative);
    LEMMA_ASSIGN_OR_RETURN(Dimension value, unsigned_factor(depth));
    return negative ? checked(Dimension(0) - value) : value;
  }

  Result<Dimension> number(bool negative) {
    const char* const begin = text_.data() + position_;
    std::uint64_t magnitude = 0;
    const auto [end, status] = std::from_chars(begin, text_.data() + text_.size(), magnitude);
    const std::uint64_t limit = std::uint64_t{INT64_MAX} + (negative ? 1 : 0);
    if (status != std::errc() || magnitude > limit) return error("number too large");
    position_ += static_cast<std::size_t>(end - begin);
    return Dimension(static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude));
  }

  Result<Dimension> unsigned_factor(int depth) {
    if (accept('(')) {
      LEMMA_ASSIGN_OR_RETURN(Dimension inner, sum(depth + 1));
      if (!accept(')')) return error("expected ')'");
      return inner;
    }
    if (position_ < text_.size() && text_[position_] == '"') return quoted_symbol();
    const std::size_t begin = position_;
    while (position_ < text_.size() && is_name_character(text_[position_])) ++position_;
    if (position_ == begin) return error("expected a dimension");
    std::string word(text_.substr(begin, position_ - begin));
    if (accept('(')) return call(word, depth);
    if (word == "invalid") return error("an invalid dimension");
    return Dimension::symbol(std::move(word));
  }

  Result<Dimension> quoted_symbol() {
    std::size_t end = position_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return error("a quoted symbol has no end");
    auto name = unquote(text_.substr(position_, end + 1 - position_));
    if (!name) return error("a quoted symbol is malformed");
    position_ = end + 1;
    return Dimension::symbol(std::move(*name));
  }

  Result<Dimension> call(std::string_view function, int depth) {
    LEMMA_ASSIGN_OR_RETURN(const Dimension left, sum(depth + 1));
    if (!accept(',')) return error("expected ','");
    LEMMA_ASSIGN_OR_RETURN(const Dimension right, sum(depth + 1));
    if (!accept(')')) return error("expected ')'");
    if (function == "floordiv") return checked(floor_div(left, right));
    if (function == "min") return checked(minimum(left, right));
    if (function == "max") return checked(maximum(left, right));
    return error(fmt::format("unknown function '{}'", function));
  }

  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  bool accept(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  Result<Dimension> checked(Dimension dimension) const {
    if (!dimension.is_valid()) return error("overflow or division by zero");
    return dimension;
  }
  tl::unexpected<Error> error(std::string_view what) const {
    return bad_input(fmt::format("dimension '{}': {} at column {}", text_, what, position_ + 1));
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

Result<Dimension> parse_dimension(std::string_view text) { return DimensionParser(text).parse(); }

}  // namespace lemma
