#pragma once
// Equations between symbolic sizes, solved for symbols where possible.

#include <string>
#include <vector>

#include "ir/dimension.h"

namespace lemma::verifier {

class SizeEquations {
 public:
  /// Starts without equations. Of two symbols that an equation gives, the one that stands later in
  /// `order` is replaced; a symbol that does not stand there never is.
  explicit SizeEquations(std::vector<std::string> order = {}) : order_(std::move(order)) {}

  void add_symbol(const std::string& name) { order_.push_back(name); }
  /// Demands that `zero` is 0.
  void add(const Dimension& zero);
  /// Tries the equations that are open again, now that more is known. With `positive`, all symbols
  /// are at least 1, so that factors that are then not 0 are divided out.
  void solve(bool positive);

  Dimension reduced(const Dimension& dimension) const { return substitute(dimension, solved_); }
  /// Symbols and what they are equal to, in terms of others.
  const DimensionBindings& solved() const { return solved_; }
  /// What could not be solved, reduced.
  const std::vector<Dimension>& open() const { return open_; }

 private:
  bool solve_one(Dimension zero, bool positive);

  std::vector<std::string> order_;
  DimensionBindings solved_;
  std::vector<Dimension> open_;
};

/// "a + b - c": terms with a plus come first, so that a rule reads well.
std::string size_text(const Dimension& size);

}  // namespace lemma::verifier
