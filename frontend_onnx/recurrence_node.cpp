#include "frontend_onnx/recurrence_node.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <onnx/onnx_pb.h>

#include "frontend_onnx/functions.h"

namespace lemma::frontend {

namespace {

using NodeMessage = ::onnx::NodeProto;
using Kind = RecurrenceNode::Kind;

struct KnownKind {
  std::string_view name;
  Kind kind;
  int gates, states;
  std::vector<std::string> activations;  // where the file names none
};

const std::array known_kinds = {
    KnownKind{"LSTM", Kind::lstm, 4, 2, {"Sigmoid", "Tanh", "Tanh"}},
    KnownKind{"GRU", Kind::gru, 3, 1, {"Sigmoid", "Tanh"}},
    KnownKind{"RNN", Kind::rnn, 1, 1, {"Tanh"}},
};

/// Parameters have a number where ONNX gives one for a file that has none; NaN where the file has to give it.
struct KnownActivation {
  std::string_view name, op;
  std::optional<float> alpha, beta;
};

constexpr float required = std::numeric_limits<float>::quiet_NaN();

constexpr std::array<KnownActivation, 11> known_activations = {{
    {"affine", "", required, required},
    {"elu", "Elu", 1.0F, std::nullopt},
    {"hardsigmoid", "HardSigmoid", 0.2F, 0.5F},
    {"leakyrelu", "LeakyRelu", 0.01F, std::nullopt},
    {"relu", "Relu", std::nullopt, std::nullopt},
    {"scaledtanh", "Tanh", required, required},
    {"sigmoid", "Sigmoid", std::nullopt, std::nullopt},
    {"softplus", "Softplus", std::nullopt, std::nullopt},
    {"softsign", "Softsign", std::nullopt, std::nullopt},
    {"tanh", "Tanh", std::nullopt, std::nullopt},
    {"thresholdedrelu", "ThresholdedRelu", 1.0F, std::nullopt},
}};

std::string in_small_letters(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

/// The lists of a file: those functions that take a parameter take the next one.
struct Parameters {
  std::vector<float> alphas, betas;
  std::size_t next_alpha = 0, next_beta = 0;

  static std::optional<float> next(const std::vector<float>& given, std::size_t& position,
                                   std::optional<float> otherwise) {
    if (!otherwise || position >= given.size()) return otherwise;
    return given[position++];
  }
  bool are_all_taken() const { return next_alpha == alphas.size() && next_beta == betas.size(); }
};

std::optional<GateActivation> activation_of(const std::string& name, Parameters& parameters) {
  const auto* const known =
      std::find_if(known_activations.begin(), known_activations.end(),
                   [wanted = in_small_letters(name)](const auto& a) { return a.name == wanted; });
  if (known == known_activations.end()) return std::nullopt;
  const auto alpha = Parameters::next(parameters.alphas, parameters.next_alpha, known->alpha),
             beta = Parameters::next(parameters.betas, parameters.next_beta, known->beta);
  if ((alpha && *alpha != *alpha) || (beta && *beta != *beta)) return std::nullopt;
  GateActivation activation{std::string(known->op), alpha, beta};
  if (known->name != "affine" && known->name != "scaledtanh") return activation;
  activation = {std::string(known->op), std::nullopt, std::nullopt, *alpha};
  (known->op.empty() ? activation.addend : activation.inner_factor) = *beta;
  return activation;
}

/// What is read of the attributes before it is known to be valid.
struct Attributes {
  std::vector<std::string> activations;
  Parameters parameters;
  std::string direction = "forward";
  std::int64_t layout = 0;
};

/// False if an attribute is not known.
bool read(const ::onnx::AttributeProto& attribute, RecurrenceNode& recurrence, Attributes& all) {
  const std::string& name = attribute.name();
  if (name == "hidden_size")
    recurrence.size = attribute.i();
  else if (name == "direction")
    all.direction = attribute.s();
  else if (name == "activations")
    all.activations.assign(attribute.strings().begin(), attribute.strings().end());
  else if (name == "activation_alpha")
    all.parameters.alphas.assign(attribute.floats().begin(), attribute.floats().end());
  else if (name == "activation_beta")
    all.parameters.betas.assign(attribute.floats().begin(), attribute.floats().end());
  else if (name == "clip")
    recurrence.limit = attribute.f();
  else if (name == "input_forget")
    recurrence.couples_gates = attribute.i() != 0;
  else if (name == "linear_before_reset")
    recurrence.resets_after_product = attribute.i() != 0;
  else if (name == "layout")
    all.layout = attribute.i();
  else
    return false;
  return true;
}

}  // namespace

std::optional<RecurrenceNode> recurrence_of(const NodeMessage& node) {
  const auto* const known = std::find_if(known_kinds.begin(), known_kinds.end(),
                                         [&](const auto& k) { return k.name == node.op_type(); });
  if (known == known_kinds.end() || !canonical_domain(node.domain()).empty()) return std::nullopt;
  RecurrenceNode recurrence;
  recurrence.kind = known->kind;
  recurrence.gates = known->gates;
  recurrence.states = known->states;
  Attributes all;
  for (const auto& attribute : node.attribute())
    if (!read(attribute, recurrence, all)) return std::nullopt;
  const bool both = all.direction == "bidirectional";
  if (!both && all.direction != "forward" && all.direction != "reverse") return std::nullopt;
  recurrence.reversed.assign(1, all.direction == "reverse");
  if (both) recurrence.reversed.push_back(true);
  recurrence.batch_first = all.layout == 1;
  if (all.layout != 0 && all.layout != 1) return std::nullopt;
  const std::size_t functions = known->activations.size(), directions = recurrence.reversed.size();
  if (all.activations.empty())
    for (std::size_t direction = 0; direction < directions; ++direction)
      all.activations.insert(all.activations.end(), known->activations.begin(),
                             known->activations.end());
  if (all.activations.size() != functions * directions) return std::nullopt;
  for (std::size_t direction = 0; direction < directions; ++direction)
    for (std::size_t k = 0; k < functions; ++k) {
      auto activation = activation_of(all.activations[direction * functions + k], all.parameters);
      if (!activation) return std::nullopt;
      if (k == 0) recurrence.activations.emplace_back();
      recurrence.activations.back().push_back(std::move(*activation));
    }
  if (!all.parameters.are_all_taken() || recurrence.size < 1) return std::nullopt;
  return recurrence;
}

}  // namespace lemma::frontend
