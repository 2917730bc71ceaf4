#include "runner/body_runner.h"

#include <fmt/format.h>

namespace lemma::runner {

namespace {

/// Larger contents are no parameters of operators (shapes, axes, bounds).
constexpr std::size_t largest_captured_parameter = 4096;

}  // namespace

std::string place_of_body(const ControlFlowCall& call, const KeptBody& body) {
  return fmt::format("{}{}{} '{}', {}", call.options.place, call.options.place.empty() ? "" : " / ",
                     call.node.name(), call.label, body.attribute);
}

BodyRunner::BodyRunner(const ControlFlowCall& call, const KeptBody& body)
    : call_(&call), body_(&body), options_(call.options) {
  if (options_.coverage != nullptr) options_.place = place_of_body(call, body);
}

Result<BodyRunner> BodyRunner::create(const ControlFlowCall& call, std::string_view attribute) {
  const KeptBody* body = call.node.body(attribute);
  if (body == nullptr) return bad_input(fmt::format("{} has no {}", call.node.name(), attribute));
  return BodyRunner(call, *body);
}

/// Imports the body for values of these types. Only captured ones keep their contents from step to
/// step.
Result<void> BodyRunner::import_for(std::span<const RunTimeValue> values) {
  std::vector<TensorType> types;
  for (const RunTimeValue& value : values) types.push_back(type_of(value));
  if (graph_ && types == types_) return {};
  std::vector<KnownInput> own, captured;
  for (const TensorType& type : types) own.push_back({type, std::nullopt});
  for (const RunTimeValue& value : call_->captured) {
    KnownInput& input = captured.emplace_back(type_of(value), std::nullopt);
    const Constant* tensor = value.tensor();
    if (tensor != nullptr && tensor->bytes().size() <= largest_captured_parameter)
      input.contents = *tensor;
  }
  LEMMA_ASSIGN_OR_RETURN(graph_, call_->node.graph_of(*body_, own, captured));
  types_ = std::move(types);
  return {};
}

Result<TensorType> BodyRunner::output_type(std::size_t i, std::span<const RunTimeValue> own) {
  LEMMA_RETURN_IF_ERROR(import_for(own));
  const TensorType& type = graph_->type(graph_->outputs()[i].value);
  return type.is_known() ? type : body_->outputs[i];
}

Result<std::vector<RunTimeValue>> BodyRunner::run(std::vector<RunTimeValue> own) {
  LEMMA_RETURN_IF_ERROR(import_for(own));
  own.insert(own.end(), call_->captured.begin(), call_->captured.end());
  if (options_.coverage != nullptr) (*options_.coverage)[options_.place] = true;
  auto outputs = run_graph(*graph_, call_->envelope, own, options_);
  if (!outputs) return with_context(body_->attribute, std::move(outputs.error()));
  return outputs;
}

}  // namespace lemma::runner
