#pragma once
// Updates of parameters by their gradients.

#include <string>

#include "ir/graph.h"
#include "training/terms.h"
#include "training/training_graph.h"

namespace lemma::training {

/// Adds inputs for the state of an optimizer and outputs for what it becomes. The formulas are those of torch.optim.
class Update {
 public:
  Update(Graph& graph, const TrainingOptions& options)
      : graph_(graph), options_(options), c_(graph) {}

  Result<void> add(const std::string& name, ValueId parameter, ValueId gradient);
  /// To be called after the last parameter.
  Result<void> finish();

 private:
  Result<ValueId> scalar_input(ValueId& known, const char* name);
  Result<ValueId> state(const std::string& name, ValueId parameter);
  Result<void> output(const std::string& name, ValueId value);
  Result<ValueId> moved_by_momentum(const std::string& name, ValueId parameter, ValueId gradient);
  Result<ValueId> moved_by_moments(const std::string& name, ValueId parameter, ValueId gradient);
  /// 1 - decay to the power of the number of steps, this one too.
  ValueId correction(double decay);
  ValueId as(ValueId scalar, ValueId like);

  Graph& graph_;
  const TrainingOptions& options_;
  Terms c_;
  ValueId rate_ = ValueId::none(), steps_ = ValueId::none(), next_steps_ = ValueId::none();
};

}  // namespace lemma::training
