#include "backend/emit/emit_cases.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/element_writer.h"
#include "backend/emit/source_types.h"

namespace lemma::backend {

namespace {

using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using source::Statements;

/// The nest with a root that has the values of all cases as operands, so that what they share is
/// computed once.
LoweredOutput with_all(const LoweredOutput& nest, const Cases& cases) {
  LoweredOutput result = nest;
  Term all;
  all.kind = ExpressionKind::add;
  all.type = nest.type;
  all.operands = cases.values;
  result.root = result.graph.add(std::move(all));
  return result;
}

class CaseWriter : public ElementWriter {
 public:
  explicit CaseWriter(const LoweredOutput& all)
      : ElementWriter(all, LongReductions::in_order), root_(all.root) {}

  /// Everything but the root.
  Result<Statements> write_values() {
    for (const TermNumber id : plan_.regions[0].terms)
      if (id != root_) LEMMA_RETURN_IF_ERROR(write_term(id));
    return source_.take();
  }

 protected:
  TermNumber root_;
};

/// The same with vectors; numbers stay scalars.
class CaseVectorWriter : public CaseWriter {
 public:
  using CaseWriter::CaseWriter;

  Result<Statements> write_vectors() {
    for (const TermNumber id : plan_.regions[0].terms)
      if (id != root_) LEMMA_RETURN_IF_ERROR(write_vector(id));
    return source_.take();
  }

 private:
  bool is_number(TermNumber id) const {
    return graph_.term(id).kind == ExpressionKind::real_constant;
  }

  Result<void> write_vector(TermNumber id) {
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
    if (is_number(id)) return write_term(id);
    const std::string vector = fmt::format("Vector<{}, count>", type);
    if (term.kind == ExpressionKind::read) {
      source_.add(source::Declaration{.type = vector, .name = term_name(id)});
      source_.add(
          source::Call{"load<count, 1>",
                       {term_name(id), fmt::format("&{}[{}]", input_name(term.input),
                                                   linear_text(graph_, graph_.address(term)))}});
      return {};
    }
    TermNumber first = term.operands[0], second = term.operands[1];
    if (is_number(first)) std::swap(first, second);
    const char sign = term.kind == ExpressionKind::add        ? '+'
                      : term.kind == ExpressionKind::subtract ? '-'
                                                              : '*';
    source_.add(source::constant(
        vector, term_name(id), fmt::format("{} {} {}", term_name(first), sign, term_name(second))));
    return {};
  }
};

/// The values of the cases, then their stores.
Statements with_stores(Statements statements, const LoweredOutput& nest, const Cases& cases,
                       const CaseStore& store) {
  for (std::size_t number = 0; number < cases.values.size(); ++number) {
    std::vector<std::int64_t> indices(cases.axes.size());
    auto rest = static_cast<std::int64_t>(number);
    for (std::size_t i = cases.axes.size(); i-- > 0;) {
      const std::int64_t extent = nest.graph.extent(nest.axes[cases.axes[i]]);
      indices[i] = rest % extent;
      rest /= extent;
    }
    statements.push_back(store(indices, term_name(cases.values[number])));
  }
  return statements;
}

}  // namespace

Result<Statements> emit_cases(const LoweredOutput& nest, const Cases& cases,
                              const CaseStore& store) {
  const LoweredOutput all = with_all(nest, cases);
  LEMMA_ASSIGN_OR_RETURN(Statements values, CaseWriter(all).write_values());
  return with_stores(std::move(values), nest, cases, store);
}

bool can_be_vectors(const LoweredOutput& nest, const Cases& cases) {
  const LoweredOutput all = with_all(nest, cases);
  std::vector<bool> is_used(all.graph.size(), false);
  for (const TermNumber value : cases.values) is_used[value] = true;
  if (nest.type != DataType::f32 || cases.axes.back() + 1 == nest.axes.size()) return false;
  const auto is_number = [&all](TermNumber id) {
    return all.graph.term(id).kind == ExpressionKind::real_constant;
  };
  if (std::any_of(cases.values.begin(), cases.values.end(), is_number)) return false;
  for (TermNumber id = all.root; id-- > 0;) {
    if (!is_used[id]) continue;
    const Term& term = all.graph.term(id);
    for (const TermNumber operand : term.operands) is_used[operand] = true;
    if (term.type != DataType::f32) return false;
    if (is_number(id)) continue;
    if (term.kind == ExpressionKind::read) {
      if (term.may_be_undefined || all.graph.address(term).coefficient(nest.axes.back()) != 1)
        return false;
      for (const lowering::Linear& index : term.indices)
        for (const auto& [atom, factor] : index.terms)
          if (atom >= lowering::first_term_atom) return false;
      continue;
    }
    const bool is_product = term.kind == ExpressionKind::multiply;
    if (!is_product && term.kind != ExpressionKind::add && term.kind != ExpressionKind::subtract)
      return false;
    const auto numbers = std::count_if(term.operands.begin(), term.operands.end(), is_number);
    if (is_product ? numbers != 1 : numbers != 0) return false;
  }
  return true;
}

Result<Statements> emit_case_vectors(const LoweredOutput& nest, const Cases& cases,
                                     const CaseStore& store) {
  const LoweredOutput all = with_all(nest, cases);
  LEMMA_ASSIGN_OR_RETURN(Statements values, CaseVectorWriter(all).write_vectors());
  return with_stores(std::move(values), nest, cases, store);
}

}  // namespace lemma::backend
