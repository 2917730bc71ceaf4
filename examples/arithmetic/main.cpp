// Simplifies a term of arithmetic such as "(* 0 (+ 1 x))": a language over the engine (docs/engine.md).

#include <cstdio>
#include <optional>

#include "lemma/base/number_text.h"
#include "lemma/engine/chosen_term.h"
#include "lemma/engine/egraph.h"
#include "lemma/engine/saturation.h"

namespace engine = lemma::engine;

/// Words are symbols and whole numbers; what is known of a class is which number it is.
struct Arithmetic : engine::Words {
  using Graph = engine::EGraph<Arithmetic>;
  using Data = std::optional<long>;

  Data make(Graph& terms, engine::ENodeId node) const {
    const std::string_view word = text_of(terms.form(node));
    const auto children = terms.children(node);
    if (children.empty()) return lemma::number_of<long>(word);
    if (children.size() != 2) return {};
    const Data a = terms.data(terms.find(children[0])), b = terms.data(terms.find(children[1]));
    long result = 0;
    if (!a || !b) return {};
    if (word == "+" && !__builtin_add_overflow(*a, *b, &result)) return result;
    if (word == "*" && !__builtin_mul_overflow(*a, *b, &result)) return result;
    return {};
  }
  static bool join(Data& known, const Data& other) {
    if (known || !other) return false;
    known = other;
    return true;
  }
  void modify(Graph& terms, engine::ClassId id) {
    if (const Data number = terms.data(id))
      terms.unite(id, terms.add(form_of(std::to_string(*number)), {}));
  }
};

constexpr std::string_view rules_text = R"(
commute-add: (+ ?a ?b) => (+ ?b ?a)
commute-mul: (* ?a ?b) => (* ?b ?a)
associate-add: (+ ?a (+ ?b ?c)) <=> (+ (+ ?a ?b) ?c)
add-0: (+ ?a 0) => ?a
mul-0: (* ?a 0) => 0
mul-1: (* ?a 1) => ?a
)";

int main(int argument_count, char** arguments) {
  Arithmetic::Graph terms;
  const auto rules = engine::compile_rules(terms, rules_text, "rules");
  const auto root = engine::add_term(terms, argument_count > 1 ? arguments[1] : "(* 0 (+ 1 x))");
  if (!rules || !root) {
    std::fprintf(stderr, "%s\n", (rules ? root.error() : rules.error()).message.c_str());
    return 2;
  }
  engine::saturate<Arithmetic::Graph>(terms, *rules);
  std::puts(engine::text(*engine::smallest_term(terms, *root)).c_str());
}
