#pragma once
// The graph that ONNX Runtime makes of a model, node by node, so that each can be measured by itself. Its
// nodes have operators of the runtime's own, such as convolutions on blocked tensors.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "interpreter/run.h"
#include "ir/result.h"
#include "profiler/onnxruntime_worker.h"

namespace lemma {

/// A tensor that a node reads or writes.
struct RuntimeTensor {
  DataType type = DataType::undefined;  // undefined: an input that is left out
  std::vector<std::int64_t> sizes;
  bool constant = false;               // known when the model is loaded
  std::string initializer;             // of a constant: the tensor, as the file has it
  std::vector<std::int64_t> integers;  // the elements of a small tensor of integers, as they were

  double elements() const;
};

/// Where a node finds its weights. Those of a small model stay near; those of a large one are evicted by the
/// others between two runs.
enum class WeightPlace : std::uint8_t { near_cache, last_cache, memory };

struct Caches {
  double second_bytes = 1e6, last_bytes = 32e6;
};
/// Of this machine, as far as it tells.
Caches caches_of_this_machine();

struct RuntimeNode {
  std::string kind;   // domain and operator: "com.microsoft.nchwc:Conv"
  std::string proto;  // the node, as the file has it
  std::string frame;  // a model without a graph: versions and operator sets
  std::vector<RuntimeTensor> inputs, outputs;
  WeightPlace weights = WeightPlace::near_cache;
  double weight_bytes = 0;  // of its large constants

  /// What its time is known of, as one line: kind, attributes, types, sizes.
  std::string key;
  /// Two measures that its time grows with: the elements that it reads and writes, and the geometric mean
  /// of the elements of the result and of two operands, to the power of 1.5, which for a product of
  /// matrices is the number of its multiplications.
  double elements = 0, work = 0;
};

struct RuntimeGraph {
  std::vector<RuntimeNode> nodes;
  std::size_t unpriced = 0;  // with subgraphs, or tensors that are none
};

struct RuntimeGraphRequest {
  std::filesystem::path model;
  std::vector<interpreter::NamedTensor> inputs;
  std::filesystem::path scratch_folder;
  int threads = 0;
  Caches caches;
  double time_limit_seconds = 30;
};

/// Saves what ONNX Runtime makes of the model and runs it once, which tells the sizes.
Result<RuntimeGraph> runtime_graph(OnnxRuntimeWorker& worker, const RuntimeGraphRequest& request);

/// A model of `copies` of the node that all read the same inputs. If its weights are not near, each copy has
/// weights of its own. Only the first copy's outputs leave the model; the runtime computes the others as well.
struct Benchmark {
  std::string model;  // the bytes of the file
  std::vector<interpreter::NamedTensor> inputs;
};
Result<Benchmark> benchmark_of(const RuntimeNode& node, int copies);

}  // namespace lemma
