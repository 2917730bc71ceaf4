#include "base/version.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

namespace lemma {
namespace {

TEST(Version, HasThreeNumbers) {
  const std::regex form("[0-9]+\\.[0-9]+\\.[0-9]+");
  EXPECT_TRUE(std::regex_match(std::string(version()), form)) << version();
}

}  // namespace
}  // namespace lemma
