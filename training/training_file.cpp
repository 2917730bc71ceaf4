#include "training/training_file.h"

#include <algorithm>

#include "frontend_onnx/weights_as_inputs.h"
#include "interpreter/constant_operation.h"
#include "training/spell.h"

namespace lemma::training {

namespace {

/// The operator set that training steps are written for; a newer model keeps its own.
constexpr int least_operator_set = 18;

}  // namespace

Result<TrainingModel> training_model(const std::filesystem::path& file,
                                     const std::map<std::string, Shape, std::less<>>& shapes,
                                     const TrainingOptions& options,
                                     std::span<const Substitution> rules) {
  ImportOptions reading;
  reading.evaluate = interpreter::evaluate_on_constants;
  reading.shapes = shapes;
  const auto is_weight = [&options](const std::string& name, const TensorType& type,
                                    bool is_statistic) {
    return is_trained(options, name, type, !is_statistic);
  };
  LEMMA_ASSIGN_OR_RETURN(const ModelWithWeights read,
                         import_with_weights(file, is_weight, reading));
  TrainingOptions with_weights = options;
  with_weights.weights = read.weights;
  LEMMA_ASSIGN_OR_RETURN(TrainingStep step, training_step(read.model.graph, with_weights));
  std::set<std::string> used;
  LEMMA_ASSIGN_OR_RETURN(Graph spelled, spelled_gradients(step.graph, rules, &used));
  const int operator_set = std::max(read.model.envelope.operator_set(), least_operator_set);
  return TrainingModel{{std::move(spelled), ModelEnvelope::for_operator_set(operator_set)},
                       std::move(step.parameters),
                       std::move(step.without_gradient),
                       std::move(used)};
}

}  // namespace lemma::training
