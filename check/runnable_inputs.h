#pragma once
// Inputs that ONNX Runtime can run a model on.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "interpreter/run.h"
#include "ir/graph.h"
#include "profiler/onnxruntime_worker.h"

namespace lemma {

struct RunnableInputs {
  std::vector<interpreter::NamedTensor> inputs;  // empty: none were found
  std::size_t position = 0;                      // in the list of all that are tried
  std::string failure;                           // what ONNX Runtime said of the last ones
  bool answered = false;                         // ONNX Runtime is there
};

struct RunnableInputsRequest {
  std::filesystem::path model;
  std::vector<std::vector<interpreter::NamedTensor>> first;  // tried before others, in order
  std::map<std::string, std::int64_t, std::less<>> sizes;    // of symbols that are known
  std::uint64_t seed = 0;
  int threads = 0;
  double seconds = 3;
  /// A set on which a run takes longer is taken only if there is no other one.
  double longest_run = 1e9;
  bool tries_others = true;  // than `first`
};

/// Tries the given inputs, then plans_to_run() of the graph, which is that of the model.
RunnableInputs find_runnable_inputs(OnnxRuntimeWorker& worker, const Graph& graph,
                                    const RunnableInputsRequest& request);

}  // namespace lemma
