#include "training/training_file.h"

#include <algorithm>

#include "frontend_onnx/import.h"
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
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, reading));
  LEMMA_ASSIGN_OR_RETURN(TrainingStep step, training_step(model.graph, options));
  LEMMA_ASSIGN_OR_RETURN(Graph spelled, spelled_gradients(step.graph, rules));
  const int operator_set = std::max(model.envelope.operator_set(), least_operator_set);
  return TrainingModel{{std::move(spelled), ModelEnvelope::for_operator_set(operator_set)},
                       std::move(step.parameters),
                       std::move(step.without_gradient)};
}

}  // namespace lemma::training
