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
  bool runs_also = false;                        // on the inputs that were asked about beside
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
  /// Other inputs, which are tried if the first ones of `first` are taken; may be empty.
  std::vector<interpreter::NamedTensor> also;
};

/// Tries the given inputs, then plans_to_run() of the graph, which is that of the model.
RunnableInputs find_runnable_inputs(OnnxRuntimeWorker& worker, const Graph& graph,
                                    const RunnableInputsRequest& request);

}  // namespace lemma
