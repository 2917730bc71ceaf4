#pragma once
// Words and lines of the textual form of substitutions (rule_language/substitution.h).

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma::detail {

struct Token {
  enum class Kind { name, integer, real, string, sign, end };
  Kind kind = Kind::end;
  std::string text;
  int line = 0;
};
using TokenLine = std::vector<Token>;

/// Lines of tokens, those that go on in the next line joined; an empty line of text gives an empty
/// one, a line of comment none.
Result<std::vector<TokenLine>> logical_lines(std::string_view text, std::string_view file);

/// "rule NAME" or "axiom NAME".
bool begins_rule(const TokenLine& line);

/// The error with "file:line" before it.
tl::unexpected<Error> located(std::string_view file, int line, Error error);

}  // namespace lemma::detail
