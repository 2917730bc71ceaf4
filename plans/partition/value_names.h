#pragma once
// The names by which plan files speak of values.

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::plans {

/// The name of a value where it is the only one of that name; otherwise its place in the graph.
class Names {
 public:
  explicit Names(const Graph& graph);

  std::string of(ValueId value) const;
  std::optional<ValueId> value(const std::string& name) const;
  /// The operation whose first output has the name. An error says what the name is instead: "is not in the model".
  Result<NodeId> operation(const std::string& name) const;

 private:
  std::string given(ValueId value) const;

  const Graph& graph_;
  std::map<std::string, int> uses_;
  std::map<std::string, ValueId> values_;
};

}  // namespace lemma::plans
