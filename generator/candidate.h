#pragma once
// An equality between two terms of a table, as a separate graph.

#include <vector>

#include "generator/terms.h"

namespace lemma::generator {

inline constexpr std::uint32_t no_term = 0xffffffffU;

struct CandidateTerm {
  std::uint32_t op = nothing;  // an input if it is nothing
  std::uint32_t output = 0;
  std::uint32_t input = 0;  // of the set
  std::array<std::uint32_t, most_operands> operands = {no_term, no_term, no_term};
  std::uint32_t type = 0;
  friend bool operator==(const CandidateTerm&, const CandidateTerm&) = default;
};

/// Outputs of the left side equal those of the right one, in order. Operands come before users, and
/// equal terms are one.
struct Candidate {
  std::vector<CandidateTerm> terms;
  std::vector<std::uint32_t> left, right;
};

/// Writes terms out, with representatives for the classes of their operands.
class CandidateBuilder {
 public:
  explicit CandidateBuilder(const TermTable& table) : table_(table) {}

  std::uint32_t add(const TermNode& node, std::uint32_t type);
  std::uint32_t add_class(ClassId id);
  Candidate take(std::vector<std::uint32_t> left, std::vector<std::uint32_t> right);

 private:
  std::uint32_t intern(const CandidateTerm& term);
  const TermTable& table_;
  std::vector<CandidateTerm> terms_;
};

/// The same with inputs of one shape renamed, so that they appear in the order of the set.
Candidate with_first_names(const TermTable& table, Candidate candidate);

/// The inputs of the set that a side uses, ascending.
std::vector<std::uint32_t> inputs_of(const Candidate& candidate,
                                     const std::vector<std::uint32_t>& roots);
/// Terms from which the roots are computed, inputs and operators, ascending.
std::vector<std::uint32_t> below(const Candidate& candidate,
                                 const std::vector<std::uint32_t>& roots);

}  // namespace lemma::generator
