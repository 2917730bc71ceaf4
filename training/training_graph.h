#pragma once
// A step of training as one graph: forward, backward and update.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace lemma::training {

enum class Optimizer : std::uint8_t { none, sgd, momentum, adam, adamw };

struct TrainingOptions {
  /// "cross-entropy" and "mse" compare the model's first output with an input `labels` or `target`; anything else is the
  /// name of an output of one element, which is the loss itself.
  std::string loss = "cross-entropy";
  /// The names of what is trained, with `*` and `?`: weights of the model, or inputs. Empty: all weights of real numbers with
  /// an axis, means and variances of batch normalizations left out.
  std::string parameters;
  /// Inputs of the model that are weights of its file (frontend_onnx/weights_as_inputs.h); constants with names are
  /// weights too.
  std::set<std::string, std::less<>> weights;
  Optimizer optimizer = Optimizer::sgd;
  double momentum = 0.9;                                           // momentum
  double first_decay = 0.9, second_decay = 0.999, epsilon = 1e-8;  // adam, adamw
  double weight_decay = 0.01;                                      // adamw
  /// The loss is multiplied by this before it is differentiated, and the gradients are divided by it: in narrow types small
  /// gradients are not lost then. None: 1, or with `half` a scale that each step finds for the next one.
  std::optional<double> loss_scale;
  /// f16 or bf16: the type in which the model and its gradients are computed (training/mixed_precision.h). Weights, the loss,
  /// the state of the optimizer and the update stay f32. A step of which a gradient is not finite changes nothing.
  std::optional<DataType> half;
};

/// Inputs: those of the model, `labels` or `target`, the parameters, the state of the optimizer, and `learning_rate`.
/// Outputs: `loss`, then for each parameter P `P.next` and its state, or `P.gradient` without an optimizer. In half precision
/// also `finite`, whether all gradients were; and where the scale is found, the state `loss_scale` and `good_steps`.
struct TrainingStep {
  Graph graph;
  std::vector<std::string> parameters;
  std::vector<std::string>
      without_gradient;  // parameters that the loss does not depend on; they are not trained
};

/// Gradients are operators of their own there (training/spell.h).
Result<TrainingStep> training_step(const Graph& model, const TrainingOptions& options);

/// Whether a weight, or an input, of this name and type is trained.
bool is_trained(const TrainingOptions& options, std::string_view name, const TensorType& type,
                bool is_weight);

/// Whether the name is like the pattern, in which `*` stands for any text and `?` for one character.
bool is_like(std::string_view name, std::string_view pattern);

}  // namespace lemma::training
