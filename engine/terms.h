#pragma once
// Terms and rules as text, whatever the language: `(* ?x (+ 1 y))`.
//
// A term is a word, or a list in round brackets: a word, then the children. Words that begin with `?`
// are variables. A line of a file of rules is
//
//   name: left => right if condition ?x ?y, other-condition ?x
//
// with `<=>` for both directions, of which the second is named `name-back`. `#` begins a comment.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma::engine {

struct Term {
  struct Node {
    std::string word;
    std::vector<std::uint32_t> children;  // positions of earlier nodes
    bool is_variable() const { return word.starts_with('?'); }
  };
  std::vector<Node> nodes;  // children come first; the last node is the root
};

/// Errors say what is wrong with the text.
Result<Term> parse_term(std::string_view text);
/// As parse_term() reads it.
std::string text(const Term& term);

struct RuleText {
  struct Condition {
    std::string name;
    std::vector<std::string> variables;
  };
  std::string name;
  Term left, right;
  std::vector<Condition> conditions;
  std::string place;  // file and line, for errors
};

/// Errors begin with file and line.
Result<std::vector<RuleText>> parse_rules(std::string_view text, std::string_view file);

}  // namespace lemma::engine
