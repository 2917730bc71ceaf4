#pragma once
// One body of a node, run any number of times.

#include <optional>
#include <string>
#include <vector>

#include "runner/control_flow.h"

namespace lemma::runner {

/// The body's key in a BodyCoverage.
std::string place_of_body(const ControlFlowCall& call, const KeptBody& body);

class BodyRunner {
 public:
  /// `call` outlives the runner.
  static Result<BodyRunner> create(const ControlFlowCall& call, std::string_view attribute);

  /// The body's outputs.
  Result<std::vector<RunTimeValue>> run(std::vector<RunTimeValue> own);
  std::size_t output_count() const { return body_->outputs.size(); }
  std::size_t input_count() const { return body_->inputs.size(); }
  /// The type of an output for such inputs, as far as it is known without running the body: by its operators, else as the
  /// file declares it.
  Result<TensorType> output_type(std::size_t i, std::span<const RunTimeValue> own);

 private:
  BodyRunner(const ControlFlowCall& call, const KeptBody& body);
  Result<void> import_for(std::span<const RunTimeValue> own);

  const ControlFlowCall* call_;
  const KeptBody* body_;
  RunOptions options_;
  std::vector<TensorType> types_;  // of the body's own inputs, for which the graph was made
  std::optional<Graph> graph_;
};

}  // namespace lemma::runner
