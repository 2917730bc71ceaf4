// docs/operators.md is what the records say. With LEMMA_WRITE_DOCUMENTS set it is written instead.

#include "report/operator_document.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "facts/operator_example.h"
#include "rule_language/operator_digests.h"

namespace lemma {
namespace {

constexpr const char* path = "docs/operators.md";  // tests run in the root of the repository

std::string digest_of(OperatorId op) { return std::string(operator_digests()[op.v]); }

TEST(OperatorDocument, is_up_to_date) {
  const std::string generated = operators_document(digest_of);
  if (std::getenv("LEMMA_WRITE_DOCUMENTS") != nullptr) {
    std::ofstream(path, std::ios::binary) << generated;
    GTEST_SKIP() << path << " is written";
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing: run scripts/docs";
  std::ostringstream contents;
  contents << file.rdbuf();
  // Compared as a condition: the difference is better seen with git.
  EXPECT_TRUE(contents.str() == generated)
      << path << " differs from the operator records: run scripts/docs and commit the file";
}

TEST(OperatorDocument, every_operator_has_an_example) {
  for (std::uint16_t i = 0; i < all_operators().size(); ++i)
    EXPECT_TRUE(example_application({i})) << all_operators()[i].name;
}

TEST(OperatorDocument, is_the_same_each_time) {
  EXPECT_TRUE(operators_document(digest_of) == operators_document(digest_of));
}

}  // namespace
}  // namespace lemma
