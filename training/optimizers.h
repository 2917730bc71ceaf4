#pragma once
// Updates of parameters by their gradients.

#include <string>
#include <vector>

#include "ir/graph.h"
#include "training/terms.h"
#include "training/training_graph.h"

namespace lemma::training {

/// Adds inputs for the state of an optimizer and outputs for what it becomes. The formulas are those of torch.optim.
class Update {
 public:
  Update(Graph& graph, const TrainingOptions& options)
      : graph_(graph), options_(options), c_(graph) {}

  /// Nothing changes where a gradient has an element that is not finite; the output `finite` tells it. `scale`: the loss's,
  /// an input that becomes less then, and greater after many steps; or none(). To be called before the first parameter.
  Result<void> only_if_finite(const std::vector<ValueId>& gradients, ValueId scale);
  Result<void> add(const std::string& name, ValueId parameter, ValueId gradient);
  /// To be called after the last parameter.
  Result<void> finish();

 private:
  Result<ValueId> scalar_input(ValueId& known, const char* name);
  Result<ValueId> state(const std::string& name, ValueId parameter);
  Result<void> output(const std::string& name, ValueId value);
  /// The output of what follows an input.
  Result<void> next(const std::string& name, ValueId before, ValueId value);
  Result<void> find_scale(ValueId scale);
  Result<ValueId> moved_by_momentum(const std::string& name, ValueId parameter, ValueId gradient);
  Result<ValueId> moved_by_moments(const std::string& name, ValueId parameter, ValueId gradient);
  /// 1 - decay to the power of the number of steps, this one too.
  ValueId correction(double decay);
  ValueId as(ValueId scalar, ValueId like);

  Graph& graph_;
  const TrainingOptions& options_;
  Terms c_;
  ValueId finite_ = ValueId::none();
  ValueId rate_ = ValueId::none(), steps_ = ValueId::none(), next_steps_ = ValueId::none();
};

}  // namespace lemma::training
