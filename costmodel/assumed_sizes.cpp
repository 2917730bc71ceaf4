#include "costmodel/assumed_sizes.h"

namespace lemma {

Dimension AssumedSizes::bind(const Dimension& dimension) const {
  if (dimension.is_constant()) return dimension;
  const Dimension bound = substitute(dimension, named);
  if (bound.is_constant()) return maximum(bound, Dimension(0));
  std::map<std::string, int> symbols;
  collect_symbols(bound, symbols);
  DimensionBindings rest;
  for (const auto& [symbol, count] : symbols) rest.emplace(symbol, Dimension(otherwise));
  return maximum(substitute(bound, rest), Dimension(0));
}

TensorType AssumedSizes::bind(const TensorType& type) const {
  TensorType bound = type;
  if (bound.shape)
    for (Dimension& dimension : *bound.shape) dimension = bind(dimension);
  return bound;
}

Attributes AssumedSizes::bind(const Attributes& attributes) const {
  Attributes bound = attributes;
  for (const auto& [name, value] : attributes) {
    if (const auto* shape = std::get_if<Shape>(&value)) {
      Shape sizes = *shape;
      for (Dimension& size : sizes) size = bind(size);
      bound.set(name, std::move(sizes));
    } else if (const auto* dimension = std::get_if<Dimension>(&value)) {
      bound.set(name, bind(*dimension));
    }
  }
  return bound;
}

}  // namespace lemma
