// In tests that load rules: what the operators mean is taken from the build, as the programs do.

#include <gtest/gtest.h>

#include "rule_language/operator_digests.h"
#include "rule_language/operator_meaning.h"

namespace lemma {
namespace {

class BuiltDigests : public ::testing::Environment {
  void SetUp() override { ASSERT_TRUE(take_meaning_digests(operator_digests())); }
};

const ::testing::Environment* const environment =
    ::testing::AddGlobalTestEnvironment(new BuiltDigests);

}  // namespace
}  // namespace lemma
