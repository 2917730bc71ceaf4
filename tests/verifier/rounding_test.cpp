#include "rule_language/rounding.h"

#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "rule_language/rule_database.h"
#include "verifier/prover/sampling.h"

namespace lemma {
namespace {

TEST(Rounding, EveryAxiomHasAClassAndNothingElse) {
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  ASSERT_TRUE(axioms) << axioms.error().message;
  const auto table = read_rounding_table("rules");
  ASSERT_TRUE(table) << table.error().message;
  std::set<std::string> names;
  for (const Substitution& axiom : *axioms) {
    names.insert(axiom.name);
    EXPECT_TRUE(table->contains(axiom.name)) << axiom.name << " has no class";
  }
  for (const auto& [name, rounding] : *table) EXPECT_TRUE(names.contains(name)) << name;
}

/// What is called bitwise gives the same bits in f32 and f16, in all instances tried.
TEST(Rounding, BitwiseAxiomsGiveTheSameBits) {
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  const auto table = read_rounding_table("rules");
  ASSERT_TRUE(axioms && table);
  std::size_t tested = 0;
  for (const Substitution& axiom : *axioms) {
    if (table->at(axiom.name) != RoundingClass::bitwise) continue;
    for (const DataType type : {DataType::f32, DataType::f16}) {
      const auto measured = verifier::measure_rounding(axiom, type, {.wanted = 40});
      EXPECT_TRUE(measured.identical) << axiom.name << ": " << measured.difference;
      tested += measured.instances;
    }
  }
  EXPECT_GT(tested, 5000U);
}

/// The measurement sees what it is to see: sums in another order differ in their last bits only,
/// and cancellation differs by more.
TEST(Rounding, OtherClassesAreMeasured) {
  const auto axioms = read_substitutions("rules/axioms", ".axioms");
  ASSERT_TRUE(axioms);
  for (const Substitution& axiom : *axioms) {
    if (axiom.name != "add_associates" && axiom.name != "mul_distributes_over_add") continue;
    const auto measured = verifier::measure_rounding(axiom, DataType::f32, {.wanted = 200});
    EXPECT_FALSE(measured.identical) << axiom.name;
    EXPECT_GT(measured.right, 0) << axiom.name;
    EXPECT_LT(measured.right, 1e-5) << axiom.name;
    const auto narrow = verifier::measure_rounding(axiom, DataType::f16, {.wanted = 200});
    EXPECT_GT(narrow.right, 10 * measured.right) << axiom.name;
  }
}

TEST(Rounding, ARuleIsAsBadAsItsWorstAxiom) {
  const auto table = parse_rounding_table("a bitwise\nb distributive # sums\nc rounding\n", "t");
  ASSERT_TRUE(table) << table.error().message;
  const auto worst = [&](std::vector<std::string> axioms) { return worst_of(axioms, *table); };
  EXPECT_EQ(worst({}), RoundingClass::bitwise);
  EXPECT_EQ(worst({"a"}), RoundingClass::bitwise);
  EXPECT_EQ(worst({"a", "b", "a"}), RoundingClass::distributive);
  EXPECT_EQ(worst({"c", "b"}), RoundingClass::rounding);
  EXPECT_EQ(worst({"a", "not listed"}), RoundingClass::rounding);
}

TEST(Rounding, DamagedTablesAreErrors) {
  for (const char* text :
       {"a\n", "a bitwise more\n", "a exact\n", "a bitwise\na rounding\n", "a unsafe\n"})
    EXPECT_FALSE(parse_rounding_table(text, "t")) << text;
}

TEST(Rounding, RulesAreChosenByClass) {
  const auto rules = load_rules("rules");
  ASSERT_TRUE(rules) << rules.error().message;
  std::size_t before = 0;
  for (const RoundingClass worst : {RoundingClass::bitwise, RoundingClass::reassociation,
                                    RoundingClass::distributive, RoundingClass::rounding}) {
    const std::size_t count = rules->up_to(worst).substitutions().size();
    EXPECT_GT(count, before) << name(worst);
    before = count;
  }
  EXPECT_EQ(before, rules->substitutions().size());
}

}  // namespace
}  // namespace lemma
