#pragma once
// Adding operations to a graph so that formulas read as formulas.

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::training {

/// After a failure nothing more is added, and result() gives the error.
class Terms {
 public:
  explicit Terms(Graph& graph) : graph_(graph) {}

  ValueId operator()(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {});
  /// A constant of one element.
  ValueId number(double value, DataType type);
  ValueId times(double factor, ValueId value);
  /// The value, or the error of what failed first.
  Result<ValueId> result(ValueId value) const;

 private:
  Graph& graph_;
  std::optional<Error> error_;
};

}  // namespace lemma::training
