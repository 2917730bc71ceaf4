#include "lowering/merge_axes.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lemma::lowering {

namespace {

using Kind = ExpressionKind;

std::vector<bool> reachable_terms(const LoweredOutput& output) {
  std::vector<bool> is_reached(output.graph.size(), false);
  is_reached[output.root] = true;
  const auto reach = [&](const Linear& form) {
    for (const auto& [atom, factor] : form.terms)
      if (atom >= first_term_atom) is_reached[atom - first_term_atom] = true;
  };
  for (TermNumber id = output.root + 1; id-- > 0;) {
    if (!is_reached[id]) continue;
    const Term& term = output.graph.term(id);
    for (const TermNumber operand : term.operands) is_reached[operand] = true;
    reach(term.linear);
    for (const Linear& index : term.indices) reach(index);
  }
  return is_reached;
}

/// Where the first of two axes that become one stands among the axes of each input; nothing for inputs that keep theirs.
using Places = std::vector<std::optional<std::size_t>>;

class Pair {
 public:
  Pair(const LoweredOutput& output, LoopVariable first, LoopVariable second)
      : output_(output),
        first_(first),
        second_(second),
        is_seen_(output.graph.inputs().size(), false),
        places_(output.graph.inputs().size()) {}

  /// Nothing if something tells the axes apart.
  std::optional<Places> places() {
    const std::vector<bool> is_reached = reachable_terms(output_);
    for (TermNumber id = 0; id < is_reached.size(); ++id) {
      if (!is_reached[id]) continue;
      const Term& term = output_.graph.term(id);
      if (uses_either(term.linear) || (term.kind == Kind::read && !takes(term)))
        return std::nullopt;
    }
    return std::move(places_);
  }

 private:
  bool uses_either(const Linear& form) const {
    return form.coefficient(first_) != 0 || form.coefficient(second_) != 0;
  }

  bool takes(const Term& read) {
    std::optional<std::size_t> place;
    const Sizes& sizes = output_.graph.inputs()[read.input].sizes;
    for (std::size_t i = 0; i < read.indices.size(); ++i) {
      if (!uses_either(read.indices[i])) continue;
      if (place && i == *place + 1) continue;
      if (place || i + 1 == sizes.size() || !(read.indices[i] == Linear::atom(first_)) ||
          !(read.indices[i + 1] == Linear::atom(second_)) ||
          sizes[i + 1] != output_.graph.extent(second_))
        return false;
      place = i;
    }
    const bool is_same = !is_seen_[read.input] || places_[read.input] == place;
    is_seen_[read.input] = true;
    places_[read.input] = place;
    return is_same;
  }

  const LoweredOutput& output_;
  LoopVariable first_, second_;
  std::vector<bool> is_seen_;
  Places places_;
};

/// Copies the terms to a graph in which one variable stands for two.
class Merging {
 public:
  Merging(const LoweredOutput& output, LoopVariable first, LoopVariable second,
          const Places& places)
      : from_(output),
        first_(first),
        second_(second),
        places_(places),
        terms_(output.graph.size()) {}

  Result<LoweredOutput> run() {
    LoweredOutput result{TermGraph(from_.graph.domain(), merged_inputs()), 0, {}, {}, from_.type};
    LEMMA_RETURN_IF_ERROR(add_variables(result));
    const std::vector<bool> is_reached = reachable_terms(from_);
    for (TermNumber id = 0; id < is_reached.size(); ++id)
      if (is_reached[id]) terms_[id] = result.graph.add(copied(from_.graph.term(id)));
    result.root = terms_[from_.root];
    for (const LoopVariable v : result.axes) result.sizes.push_back(result.graph.extent(v));
    return result;
  }

 private:
  std::vector<InputView> merged_inputs() const {
    std::vector<InputView> inputs = from_.graph.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!places_[i]) continue;
      const auto second = inputs[i].sizes.begin() + static_cast<std::ptrdiff_t>(*places_[i]) + 1;
      *(second - 1) *= *second;
      inputs[i].sizes.erase(second);
    }
    return inputs;
  }

  Result<void> add_variables(LoweredOutput& result) {
    for (LoopVariable v = 0; v < from_.graph.variable_count(); ++v) {
      if (v == second_) {
        variables_.push_back(0);  // no term uses it
        continue;
      }
      const std::int64_t extent = v == first_
                                      ? from_.graph.extent(first_) * from_.graph.extent(second_)
                                      : from_.graph.extent(v);
      LEMMA_ASSIGN_OR_RETURN(const LoopVariable added, result.graph.variable(extent));
      variables_.push_back(added);
    }
    for (const LoopVariable v : from_.axes)
      if (v != second_) result.axes.push_back(variables_[v]);
    return {};
  }

  Linear copied(const Linear& form) const {
    Linear result = Linear::of(form.constant);
    for (const auto& [atom, factor] : form.terms) {
      const AtomId to = atom < first_term_atom ? variables_[atom]
                                               : first_term_atom + terms_[atom - first_term_atom];
      result = combine(result, Linear::atom(to), factor);
    }
    return result;
  }

  Term copied(const Term& term) const {
    Term result = term;
    for (TermNumber& operand : result.operands) operand = terms_[operand];
    result.bound.clear();
    for (const LoopVariable v : term.bound)
      if (v != second_) result.bound.push_back(variables_[v]);
    result.linear = copied(term.linear);
    if (term.kind != Kind::read) return result;
    std::vector<Linear> indices;
    for (std::size_t i = 0; i < term.indices.size(); ++i)
      if (!places_[term.input] || i != *places_[term.input] + 1)
        indices.push_back(copied(term.indices[i]));
    result.indices = std::move(indices);
    return result;
  }

  const LoweredOutput& from_;
  LoopVariable first_, second_;
  const Places& places_;
  std::vector<TermNumber> terms_;
  std::vector<LoopVariable> variables_;
};

/// Two variables of a reduction that become one, with the places where reads have them; nothing if there are none.
struct BoundPair {
  LoopVariable first = 0, second = 0;
  Places places;
};

std::optional<BoundPair> find_bound_pair(const LoweredOutput& output) {
  const std::vector<bool> is_reached = reachable_terms(output);
  for (TermNumber id = 0; id < is_reached.size(); ++id) {
    const std::vector<LoopVariable>& bound = output.graph.term(id).bound;
    for (std::size_t i = 0; is_reached[id] && i + 1 < bound.size(); ++i)
      if (auto places = Pair(output, bound[i], bound[i + 1]).places())
        return BoundPair{bound[i], bound[i + 1], std::move(*places)};
  }
  return std::nullopt;
}

}  // namespace

Result<LoweredOutput> merge_bound(const LoweredOutput& output) {
  LoweredOutput result = output;
  while (const auto pair = find_bound_pair(result)) {
    LEMMA_ASSIGN_OR_RETURN(LoweredOutput merged,
                           Merging(result, pair->first, pair->second, pair->places).run());
    result = std::move(merged);
  }
  return result;
}

Result<LoweredOutput> merge_axes(const LoweredOutput& output) { return merge_axes(output, {}); }

Result<LoweredOutput> merge_axes(const LoweredOutput& output,
                                 const std::vector<std::int64_t>& kept) {
  LoweredOutput result = output;
  std::int64_t before = 1;  // elements of the axes before the pair
  for (std::size_t axis = 0; axis + 1 < result.axes.size();) {
    const std::int64_t elements = before * result.graph.extent(result.axes[axis]);
    if (std::find(kept.begin(), kept.end(), elements) != kept.end()) {
      before = elements;
      ++axis;
      continue;
    }
    const LoopVariable first = result.axes[axis], second = result.axes[axis + 1];
    const auto places = Pair(result, first, second).places();
    if (!places) {
      before = elements;
      ++axis;
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(LoweredOutput merged, Merging(result, first, second, *places).run());
    result = std::move(merged);
  }
  return result;
}

Result<LoweredOutput> lower_to_long_loops(const Definition& definition, const DefinedOutput& output,
                                          const std::vector<InputView>& inputs, Domain domain) {
  LEMMA_ASSIGN_OR_RETURN(LoweredOutput nest, lower(definition, output, inputs, domain));
  if (const auto parts = find_parts(nest); !parts.empty()) {
    LEMMA_ASSIGN_OR_RETURN(nest, lower(definition, output, inputs, domain, parts));
  }
  return merge_axes(nest);
}

}  // namespace lemma::lowering
