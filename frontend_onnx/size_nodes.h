#pragma once
// Nodes that compute symbolic sizes at run time: Shape and Gather give a symbol, arithmetic on
// vectors of one i64 element gives the rest. Equal sizes are computed once.

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/dimension.h"

namespace lemma::frontend {

/// Where a symbol can be read off: it is this axis of the value.
struct SizeSource {
  std::string value;
  std::size_t axis = 0;
};

/// A value that the user of a size has at hand.
struct SizedValue {
  std::string name;
  const Shape* shape = nullptr;
};

/// What the nodes are written with; every function returns the name of the value.
struct NodeSink {
  std::function<std::string(std::string_view op, std::vector<std::string> inputs,
                            std::map<std::string, std::int64_t> attributes)>
      node;
  std::function<std::string(const std::vector<std::int64_t>& elements, bool scalar)> integers;
};

class SizeNodes {
 public:
  SizeNodes(std::map<std::string, SizeSource> sources, int operator_set, NodeSink sink)
      : sources_(std::move(sources)), operator_set_(operator_set), sink_(std::move(sink)) {}

  const std::map<std::string, SizeSource>& sources() const { return sources_; }
  /// An i64 vector of the sizes, or a scalar. A size that `nearby` values have is read off there
  /// rather than computed: that is less work, and holds even where a runtime rounds the output sizes
  /// of degenerate windows in its own way.
  Result<std::string> sizes(const Shape& sizes, bool scalar,
                            std::span<const SizedValue> nearby = {});

 private:
  void read_off(const Dimension& size, std::span<const SizedValue> nearby);
  std::string element_of_shape(const std::string& value, std::size_t axis);
  Result<std::string> size(const Dimension& size);
  Result<std::string> product(const Dimension::Term& term);
  Result<std::string> atom(const Dimension::Atom& atom);
  Result<std::string> symbol(const std::string& name);
  std::string extremum(bool is_minimum, const std::string& left, const std::string& right);
  std::string combine(std::string_view op, const std::string& left, const std::string& right) {
    return sink_.node(op, {left, right}, {});
  }

  std::map<std::string, SizeSource> sources_;
  int operator_set_;
  NodeSink sink_;
  std::map<std::string, std::string> known_;   // by text of the size
  std::map<std::string, std::string> shapes_;  // Shape of a value, by its name
  std::map<std::string, std::string> vectors_;
};

}  // namespace lemma::frontend
