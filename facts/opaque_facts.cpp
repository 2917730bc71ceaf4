#include "facts/opaque_facts.h"

#include <algorithm>
#include <array>

namespace lemma {

bool runs_bodies(std::string_view op) {
  constexpr std::array<std::string_view, 4> names = {"If", "Loop", "Scan", "SequenceMap"};
  return std::find(names.begin(), names.end(), op) != names.end();
}

ValueFacts facts_of_opaque_output(std::string_view op, DataType type, bool operands_are_finite) {
  ValueFacts facts = facts_of_input(type);
  if (!is_real(type)) return facts;
  facts.defined = !runs_bodies(op);
  facts.plus_infinity = facts.minus_infinity = !operands_are_finite;
  return facts;
}

std::optional<ValueFacts> facts_of_cut_output(std::string_view name, DataType type) {
  if (name.starts_with("input ")) name.remove_prefix(6);
  constexpr std::string_view prefix = "opaque ";
  if (!name.starts_with(prefix) || name.find('#') == std::string_view::npos) return std::nullopt;
  name.remove_prefix(prefix.size());
  return facts_of_opaque_output(name.substr(0, name.find(' ')), type, true);
}

}  // namespace lemma
