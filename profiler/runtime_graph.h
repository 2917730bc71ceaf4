#pragma once
// The graph that ONNX Runtime makes of a model, node by node, so that each can be measured by itself. Its
// nodes have operators of the runtime's own, such as convolutions on blocked tensors.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "interpreter/run.h"
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
/// others between two runs, and how far they are then depends on how many there are.
struct WeightPlace {
  std::uint64_t among_bytes =
      0;  // that all weights of the model have, as a power of two; 0: they stay near

  bool is_near() const { return among_bytes == 0; }
  friend bool operator==(const WeightPlace&, const WeightPlace&) = default;
};

/// The size of the second-level cache of this machine, as far as it tells.
double second_cache_bytes();
/// The place of the weights of a model whose weights have this many bytes together.
WeightPlace weight_place(double weight_bytes, double second_cache_bytes);

struct RuntimeNode {
  std::string kind;   // domain and operator: "com.microsoft.nchwc:Conv"
  std::string proto;  // the node, as the file has it
  std::string frame;  // a model without a graph: versions and operator sets
  std::vector<RuntimeTensor> inputs, outputs;
  WeightPlace weights;
  double weight_bytes = 0;  // of its large constants

  /// What its time is known of, as one line: kind, attributes, types, sizes.
  std::string key;
  /// Two measures that its time grows with: the elements that it reads and writes, and, of products and
  /// convolutions, the number of multiplications; of everything else the elements again.
  double elements = 0, work = 0;
};

/// Products and convolutions, in any spelling of ONNX Runtime.
enum class NodeFamily : std::uint8_t { product, convolution, other };
NodeFamily family_of(std::string_view kind);
/// Fills in elements and work.
void measure_size(RuntimeNode& node);
/// A constant so large that its place matters.
bool is_weight(const RuntimeTensor& tensor);
/// What a benchmark gives it: the integers that it had, else 0, and real numbers between 1/2 and 3/2, so that nothing
/// overflows and no number is denormal.
interpreter::Tensor contents_for(const RuntimeTensor& tensor);
/// What a key says of it, at its end.
std::string place_text(WeightPlace place);

struct RuntimeGraph {
  std::vector<RuntimeNode> nodes;
  std::size_t unpriced = 0;  // with subgraphs, or tensors that are none
};

struct RuntimeGraphRequest {
  std::filesystem::path model;
  std::vector<interpreter::NamedTensor> inputs;
  std::filesystem::path scratch_folder;
  int threads = 0;
  double time_limit_seconds = 30;
  /// Where the weights are found; nothing: it follows from their size.
  std::optional<WeightPlace> weights = std::nullopt;
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
