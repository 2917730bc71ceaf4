// An analysis that folds numbers: through rules, unions and parents of parents.

#include <optional>

#include "base/number_text.h"
#include "tests/engine/plain.h"

namespace lemma::engine {
namespace {

using testing::expect_sound;
using testing::rules_of;
using testing::term;

struct Sums : Words {
  using Graph = EGraph<Sums>;
  using Data = std::optional<int>;
  Data make(Graph& egraph, ENodeId node) const {
    const std::string_view word = text_of(egraph.form(node));
    const auto children = egraph.children(node);
    if (children.empty()) return number_of<int>(word);
    int sum = 0;
    for (const ClassId child : children) {
      const Data known = egraph.data(egraph.find(child));
      if (!known || word != "+") return {};
      sum += *known;
    }
    return sum;
  }
  static bool join(Data& known, const Data& other) {
    if (known || !other) return false;
    known = other;
    return true;
  }
  void modify(Graph& egraph, ClassId id) {
    if (const Data number = egraph.data(id))
      egraph.unite(id, egraph.add(form_of(std::to_string(*number)), {}));
  }
  static ConditionFunction<Graph> condition(std::string_view name) {
    if (name != "known") return {};
    return [](const Graph& egraph, std::span<const ClassId> classes) {
      return egraph.data(classes[0]).has_value();
    };
  }
};

TEST(Analysis, FoldsNumbersInAnyOrder) {
  EGraph<Sums> egraph;
  const ClassId root = term(egraph, "(+ (+ x 1) (+ y 2))");
  egraph.rebuild();
  EXPECT_FALSE(egraph.data(egraph.find(root)));
  egraph.unite(term(egraph, "y"), term(egraph, "20"));
  egraph.rebuild();
  EXPECT_EQ(egraph.find(term(egraph, "(+ y 2)")), egraph.find(term(egraph, "22")));
  egraph.unite(term(egraph, "10"), term(egraph, "x"));  // the number joins, and is joined
  egraph.rebuild();
  EXPECT_EQ(egraph.data(egraph.find(root)), 33);
  EXPECT_EQ(egraph.find(root), egraph.find(term(egraph, "33")));
  expect_sound(egraph);
}

TEST(Analysis, AConditionIsAskedAgainWhenMoreIsKnown) {
  EGraph<Sums> egraph;
  const ClassId fx = term(egraph, "(f x)"), x = term(egraph, "x");
  const auto rules = rules_of(egraph, "a: (f ?x) => (g ?x) if known ?x");
  EXPECT_EQ(saturate<EGraph<Sums>>(egraph, rules).rules[0].applications, 0);
  egraph.advance_clock();
  egraph.unite(x, term(egraph, "7"));
  EXPECT_EQ(saturate<EGraph<Sums>>(egraph, rules).rules[0].applications, 1);
  EXPECT_EQ(egraph.find(fx), egraph.find(term(egraph, "(g 7)")));
}

TEST(Analysis, WrongConditionsAreRefused) {
  EGraph<Sums> egraph;
  const auto message = [&](std::string_view text) {
    return compile_rules(egraph, text, "f").error().message;
  };
  EXPECT_EQ(message("a: (f ?x) => ?x if unknown ?x"),
            "f:1: a: the language has no condition 'unknown'");
  EXPECT_EQ(message("a: (f ?x) => ?x if known ?y"), "f:1: a: the left side has no ?y");
  EXPECT_EQ(message("a: (f ?x) => (f ?y)"), "f:1: a: the left side has no ?y");
  EXPECT_EQ(message("a: ?x => (f ?x)"), "f:1: a: the left side ?x would match everything");
}

}  // namespace
}  // namespace lemma::engine
