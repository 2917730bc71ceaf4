#pragma once
// Ways to make a rule more general. What they propose may be false, or no rule at all: Trial finds
// out. The most general proposals come first.

#include <string>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::database {

struct Proposal {
  std::string step;  // what was done, for reports
  Substitution rule;
  /// One group for all inputs, which may have more axes than several groups may have together.
  bool for_many_axes = false;
};

/// Uses of one input become uses of two.
std::vector<Proposal> separate_inputs(const Substitution& rule);
/// A part that both sides share becomes an input.
std::vector<Proposal> shared_parts(const Substitution& rule);
/// Fixed sizes, and sizes that are expressions, become variables.
std::vector<Proposal> fixed_sizes(const Substitution& rule);
/// Equal sizes or parameters get different names.
std::vector<Proposal> separate_names(const Substitution& rule);
/// Fixed attributes become parameters.
std::vector<Proposal> attribute_parameters(const Substitution& rule);
/// Convolutions in one group become convolutions in any number of groups.
std::vector<Proposal> convolution_groups(const Substitution& rule);
/// Axes become groups of axes. These are not made more general once one was taken.
std::vector<Proposal> axes_as_groups(const Substitution& rule);

// Parts of axes_as_groups().

/// Whole shapes become groups: elementwise operators, Transpose, Reshape.
std::vector<Proposal> whole_shapes(const Substitution& rule);
/// Between the axes that operators name there may be any number of others.
std::vector<Proposal> between_named_axes(const Substitution& rule);
/// There may be any number of axes before the last ones.
std::vector<Proposal> leading_axes(const Substitution& rule);
/// Convolutions and pools over one, two or three axes.
std::vector<Proposal> spatial_axes(const Substitution& rule);

}  // namespace lemma::database
