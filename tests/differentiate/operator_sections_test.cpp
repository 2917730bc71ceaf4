// rules/gradients/operators.md, which a second checker reads: the sections of the operators of rules/gradients/ that are made on
// demand, as docs/operators.md has those of the others. LEMMA_WRITE_DOCUMENTS=1 writes it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "differentiate/gradient_records.h"
#include "facts/operator_section.h"
#include "rule_language/operator_meaning.h"
#include "rule_language/rule_database.h"

namespace lemma {
namespace {

std::string sections() {
  std::map<std::string, OperatorId, std::less<>> operators;
  for (const char* folder : {"rules/gradients/substitutions", "rules/gradients/one_proof"}) {
    const auto rules = read_substitutions(folder, ".rules");
    EXPECT_TRUE(rules) << rules.error().message;
    for (const Substitution& rule : rules ? *rules : std::vector<Substitution>())
      for (const RuleTerm& term : rule.terms)
        if (!term.is_input && differentiate::is_gradient(record(term.op)))
          operators.emplace(record(term.op).name, term.op);
  }
  std::string result =
      "# Gradients\n\nGenerated from the records that are made of the operators' definitions; "
      "docs/operators.md says how to read it.\n";
  for (const auto& [name, op] : operators)
    result += "\n" + operator_section(op, meaning_digest(op));
  return result;
}

TEST(OperatorSections, AreThoseOfTheRules) {
  const std::string expected = sections();
  const char* file = "rules/gradients/operators.md";
  if (std::getenv("LEMMA_WRITE_DOCUMENTS") != nullptr) std::ofstream(file) << expected;
  const auto text = read_text_file(file);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, expected);
}

}  // namespace
}  // namespace lemma
