#pragma once
// From a model file to the model of a step of training.

#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "frontend_onnx/model.h"
#include "rule_language/substitution.h"
#include "training/training_graph.h"

namespace lemma::training {

struct TrainingModel {
  OnnxModel model;
  std::vector<std::string> parameters, without_gradient;  // as in TrainingStep
  std::set<std::string> rules;                            // that spelled gradients, by name
};

/// Reads the model and makes a step of training of it, in operators of ONNX. `shapes` replace those of inputs.
Result<TrainingModel> training_model(const std::filesystem::path& file,
                                     const std::map<std::string, Shape, std::less<>>& shapes,
                                     const TrainingOptions& options,
                                     std::span<const Substitution> rules);

}  // namespace lemma::training
