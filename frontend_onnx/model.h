#pragma once
// An ONNX model as Lemma holds it: the program as a Graph, and everything else of the file that has
// to come out again in an envelope.

#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace lemma {

/// What a model file says beyond its graph: versions, producer, metadata, names and types as
/// declared, functions that opaque nodes call, the bytes opaque nodes refer to. Immutable and cheap
/// to copy, so that an optimized graph travels in the envelope of the original.
class ModelEnvelope {
 public:
  /// The envelope for a graph that did not come from a file.
  static ModelEnvelope for_operator_set(int version);

  /// Version of the standard operators ("", also spelled "ai.onnx"); 0 if they are not imported.
  int operator_set() const;
  std::int64_t ir_version() const;
  bool used_external_data() const;
  /// Inputs with a default value, which callers may replace.
  std::size_t default_count() const;
  /// Nodes of the file's graph and of the bodies in it, Constant nodes among them.
  std::int64_t file_nodes() const;
  /// Whether import resolved an If: then the graph is not what the file runs.
  bool has_taken_branches() const;
  /// Whether bodies of nodes are others than the file's.
  bool has_rewritten_bodies() const;
  ModelEnvelope with_rewritten_bodies() const;
  /// The envelope of a model that was read from what the original was written as: what is said of the file
  /// is that of the original's, and branches taken and bodies rewritten there count.
  ModelEnvelope in_place_of(const ModelEnvelope& original) const;
  /// What import dropped or could not use, for people; one line each.
  const std::vector<std::string>& notes() const;

  struct Data;
  explicit ModelEnvelope(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

struct OnnxModel {
  Graph graph;
  ModelEnvelope envelope;
};

}  // namespace lemma
