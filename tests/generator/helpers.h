#pragma once
// What the tests of generator/ share.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "generator/generate.h"

namespace lemma::testing {

inline generator::OperatorSet set_of(const std::string& text) {
  auto set = generator::parse_operator_set(text, "test.set");
  EXPECT_TRUE(set) << set.error().message;
  return set ? std::move(*set) : generator::OperatorSet{};
}

/// One of those in rules/operator_sets/.
inline generator::OperatorSet shipped_set(const std::string& name) {
  std::ifstream file("rules/operator_sets/" + name + ".set");
  EXPECT_TRUE(file) << name;
  return set_of({std::istreambuf_iterator<char>(file), {}});
}

inline generator::Generated generated_from(const generator::OperatorSet& set, std::size_t operators,
                                           int threads = 1) {
  generator::GenerateOptions options;
  options.most_operators = operators;
  options.threads = threads;
  auto generated = generator::generate(set, options);
  EXPECT_TRUE(generated) << generated.error().message;
  return generated ? std::move(*generated) : generator::Generated{};
}

inline std::string texts_of(const generator::Generated& generated) {
  std::string result;
  for (const Substitution& rule : generated.rules) result += text(rule) + "\n";
  return result;
}

}  // namespace lemma::testing
