#pragma once
// What is known of sequences and optional values while a model is read.

#include <map>
#include <vector>

#include "ir/graph.h"

namespace lemma::frontend {

class KnownContainers {
 public:
  void set_sequence(ValueId value, std::vector<ValueId> elements) {
    sequences_.insert_or_assign(value, std::move(elements));
  }
  /// None stands for an empty one.
  void set_optional(ValueId value, ValueId contents) {
    optionals_.insert_or_assign(value, contents);
  }
  /// The elements of a sequence; null if they are not known one by one.
  const std::vector<ValueId>* elements(ValueId sequence) const {
    const auto known = sequences_.find(sequence);
    return known != sequences_.end() ? &known->second : nullptr;
  }
  /// The contents of an optional value; null if it is not known whether there are any.
  const ValueId* contents(ValueId optional) const {
    const auto known = optionals_.find(optional);
    return known != optionals_.end() ? &known->second : nullptr;
  }
  bool has(ValueId value) const { return sequences_.contains(value) || optionals_.contains(value); }

 private:
  std::map<ValueId, std::vector<ValueId>> sequences_;
  std::map<ValueId, ValueId> optionals_;
};

}  // namespace lemma::frontend
