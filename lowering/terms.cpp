#include "lowering/terms.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include <absl/hash/hash.h>
#include <fmt/format.h>

namespace lemma::lowering {

using Kind = ExpressionKind;

namespace {

bool same(const Term& a, const Term& b) {
  return a.kind == b.kind && a.function == b.function && a.type == b.type &&
         a.operands == b.operands && a.bits == b.bits && a.linear == b.linear &&
         a.divisor == b.divisor && a.input == b.input && a.indices == b.indices &&
         a.bound == b.bound;
}

std::size_t hash_of(const Term& term) {
  std::size_t state =
      absl::HashOf(static_cast<int>(term.kind), static_cast<int>(term.function),
                   static_cast<int>(term.type), term.operands, term.bits, term.linear.constant,
                   term.linear.terms, term.divisor, term.input, term.bound);
  for (const Linear& index : term.indices) state = absl::HashOf(state, index.constant, index.terms);
  return state;
}

bool divides(Kind kind) {
  return kind == Kind::divide || kind == Kind::floor_divide || kind == Kind::floor_modulo ||
         kind == Kind::truncated_modulo;
}

}  // namespace

Result<TermGraph> TermGraph::in_domain(Domain domain) const {
  TermGraph result(domain, inputs_);
  result.extents_ = extents_;
  result.terms_ = terms_;
  for (TermNumber id = 0; id < result.size(); ++id) {
    Term& term = result.terms_[id];
    if (term.kind == Kind::real_constant) {
      const double value = term.lanes == LaneKind::f32
                               ? std::bit_cast<float>(static_cast<std::uint32_t>(term.bits))
                               : std::bit_cast<double>(term.bits);
      LEMMA_ASSIGN_OR_RETURN(term.bits, constant_lane(value, 0, term.type, domain));
    }
    term.lanes = lane_kind(term.type, domain);
    result.interned_[hash_of(term)].push_back(id);
  }
  return result;
}

Result<LoopVariable> TermGraph::variable(std::int64_t extent) {
  if (extents_.size() == first_term_atom)
    return unsupported(fmt::format("a definition with more than {} variables", first_term_atom));
  extents_.push_back(extent);
  return static_cast<LoopVariable>(extents_.size() - 1);
}

TermNumber TermGraph::linear(const Linear& form) {
  if (form.is_constant()) {
    Term constant;
    constant.bits = static_cast<std::uint64_t>(form.constant);
    return add(std::move(constant));
  }
  if (form.constant == 0 && form.terms.size() == 1 && form.terms[0].second == 1 &&
      form.terms[0].first >= first_term_atom)
    return form.terms[0].first - first_term_atom;
  Term term;
  term.kind = Kind::index;
  term.linear = form;
  return add(std::move(term));
}

Linear TermGraph::form(TermNumber id) const {
  const Term& term = terms_[id];
  if (term.kind == Kind::index) return term.linear;
  if (term.kind == Kind::integer_constant) return Linear::of(static_cast<std::int64_t>(term.bits));
  return Linear::atom(first_term_atom + id);
}

TermNumber TermGraph::floor_divide(const Linear& dividend, std::int64_t divisor) {
  Linear whole, rest;
  const Interval all = range(dividend);
  // floor((d*t + r) / d) = t + floor(r / d), where nothing overflows.
  if (all.is_known()) {
    for (const auto& [atom, factor] : dividend.terms) {
      if (factor % divisor == 0)
        whole.terms.emplace_back(atom, factor / divisor);
      else
        rest.terms.emplace_back(atom, factor);
    }
    whole.constant = lowering::floor_divide(dividend.constant, divisor);
    rest.constant = dividend.constant - whole.constant * divisor;
    const Interval left = range(rest);
    if (left.is_known()) {
      const std::int64_t low = lowering::floor_divide(left.low, divisor);
      if (low == lowering::floor_divide(left.high, divisor)) {
        whole.constant += low;
        return linear(whole);
      }
    } else {
      whole = {};
      rest = dividend;
    }
  } else {
    rest = dividend;
  }
  // floor(floor(x / a) / b) = floor(x / (a*b)).
  if (rest.constant == 0 && rest.terms.size() == 1 && rest.terms[0].second == 1 &&
      rest.terms[0].first >= first_term_atom) {
    const Term& inner = terms_[rest.terms[0].first - first_term_atom];
    std::int64_t product = 0;
    if (inner.divisor != 0 && !__builtin_mul_overflow(inner.divisor, divisor, &product)) {
      rest = Linear(inner.linear);
      divisor = product;
    }
  }
  // A common divisor of everything but the constant: floor((g*x + c) / (g*y)) = floor((x + floor(c
  // / g)) / y).
  std::int64_t common = divisor;
  for (const auto& [atom, factor] : rest.terms) common = std::gcd(common, factor);
  if (common > 1 && range(rest).is_known()) {
    for (auto& [atom, factor] : rest.terms) factor /= common;
    rest.constant = lowering::floor_divide(rest.constant, common);
    divisor /= common;
  }
  if (divisor == 1) return linear(combine(whole, rest));
  Term term;
  term.kind = Kind::floor_divide;
  term.linear = rest;
  term.divisor = divisor;
  const TermNumber quotient = add(std::move(term));
  return linear(combine(whole, Linear::atom(first_term_atom + quotient)));
}

TermNumber TermGraph::add(Term term) {
  auto& bucket = interned_[hash_of(term)];
  for (const TermNumber id : bucket)
    if (same(terms_[id], term)) return id;
  derive(term);
  terms_.push_back(std::move(term));
  bucket.push_back(static_cast<TermNumber>(terms_.size() - 1));
  return bucket.back();
}

std::uint32_t TermGraph::add_input(InputView view) {
  inputs_.push_back(std::move(view));
  return static_cast<std::uint32_t>(inputs_.size() - 1);
}

void TermGraph::replace_by_read(TermNumber id, std::uint32_t input, std::vector<Linear> indices) {
  Term read;
  read.kind = Kind::read;
  read.type = terms_[id].type;
  read.input = input;
  read.indices = std::move(indices);
  derive(read);
  terms_[id] = std::move(read);
}

VariableSet TermGraph::depends(const Linear& form) const {
  VariableSet result = 0;
  for (const auto& [atom, factor] : form.terms)
    result |= atom < first_term_atom ? set_of(atom) : terms_[atom - first_term_atom].depends;
  return result;
}

bool TermGraph::may_be_undefined(const Linear& form) const {
  for (const auto& [atom, factor] : form.terms)
    if (atom >= first_term_atom && terms_[atom - first_term_atom].may_be_undefined) return true;
  return false;
}

/// Adding up the ranges of the atoms forgets that a remainder x - d*floor(x/d) is small; such pairs
/// are looked for and replaced by what is known of the remainder.
Interval TermGraph::range(const Linear& form) const {
  Interval sum = {form.constant, form.constant};
  for (const auto& [atom, factor] : form.terms) {
    const Interval interval = atom < first_term_atom
                                  ? Interval{0, std::max<std::int64_t>(extents_[atom] - 1, 0)}
                                  : terms_[atom - first_term_atom].range;
    sum = lowering::add(sum, lowering::scale(interval, factor));
  }
  for (const auto& [atom, factor] : form.terms) {
    if (atom < first_term_atom) continue;
    const Term& quotient = terms_[atom - first_term_atom];
    if (quotient.divisor == 0) continue;
    auto try_remainder = [&](const Linear& dividend, std::int64_t divisor) {
      if (factor % divisor != 0) return;
      const std::int64_t times = -(factor / divisor);
      const Linear remainder = combine(dividend, Linear::atom(atom), -divisor);
      const Linear rest = combine(form, remainder, -times);
      if (rest.terms.size() >= form.terms.size()) return;
      const Interval small = lowering::scale({0, divisor - 1}, times);
      const Interval better = lowering::add(range(rest), small);
      if (better.is_known()) sum = intersect(sum, better);
    };
    try_remainder(quotient.linear, quotient.divisor);
    for (const auto& [other, ignored] : form.terms) {
      if (other < first_term_atom || other == atom) continue;
      const Term& finer = terms_[other - first_term_atom];
      if (finer.divisor != 0 && finer.linear == quotient.linear &&
          quotient.divisor % finer.divisor == 0)
        try_remainder(Linear::atom(other), quotient.divisor / finer.divisor);
    }
  }
  return sum;
}

bool TermGraph::is_inside(const Term& read, std::size_t axis) const {
  return range(read.indices[axis]).within(0, inputs_[read.input].sizes[axis] - 1);
}

Linear TermGraph::address(const Term& read) const {
  Linear address;
  const Sizes& sizes = inputs_[read.input].sizes;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    address = combine(lowering::scale(address, sizes[axis]), read.indices[axis]);
  return address;
}

Interval TermGraph::derive_range(const Term& term) const {
  auto operand = [&](std::size_t i) { return terms_[term.operands[i]].range; };
  switch (term.kind) {
    case Kind::integer_constant: {
      const auto value = static_cast<std::int64_t>(term.bits);
      return {value, value};
    }
    case Kind::index: return range(term.linear);
    case Kind::floor_divide:
      if (term.divisor == 0) return {};
      {
        const Interval dividend = range(term.linear);
        if (!dividend.is_known()) return {};
        return {lowering::floor_divide(dividend.low, term.divisor),
                lowering::floor_divide(dividend.high, term.divisor)};
      }
    case Kind::minimum:
      return {std::min(operand(0).low, operand(1).low), std::min(operand(0).high, operand(1).high)};
    case Kind::maximum:
      return {std::max(operand(0).low, operand(1).low), std::max(operand(0).high, operand(1).high)};
    case Kind::select:
      return {std::min(operand(1).low, operand(2).low), std::max(operand(1).high, operand(2).high)};
    default: return {};
  }
}

void TermGraph::derive(Term& term) const {
  term.lanes = lane_kind(term.type, domain_);
  term.depends = depends(term.linear);
  term.may_be_undefined = may_be_undefined(term.linear);
  for (const TermNumber operand : term.operands) {
    term.depends |= terms_[operand].depends;
    term.may_be_undefined = term.may_be_undefined || terms_[operand].may_be_undefined;
  }
  for (const LoopVariable v : term.bound) term.depends &= ~set_of(v);
  for (std::size_t axis = 0; axis < term.indices.size(); ++axis) {
    term.depends |= depends(term.indices[axis]);
    term.may_be_undefined =
        term.may_be_undefined || may_be_undefined(term.indices[axis]) || !is_inside(term, axis);
  }
  if (term.type == DataType::i64) term.range = derive_range(term);
  const bool operates = term.operands.size() == 2 && term.kind != Kind::read;
  if (operates && divides(term.kind) && term.lanes == LaneKind::integer) {
    const Term& divisor = terms_[term.operands[1]];
    if (divisor.kind != Kind::integer_constant || divisor.bits == 0) term.may_be_undefined = true;
  }
  // What may overflow, and division.
  const bool computes = operates || term.kind == Kind::function || is_reduction(term.kind);
  if (computes && (term.lanes == LaneKind::exact ||
                   (term.lanes == LaneKind::field &&
                    (term.kind == Kind::divide || term.kind == Kind::function))))
    term.may_be_undefined = true;
}

}  // namespace lemma::lowering
