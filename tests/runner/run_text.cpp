#include "tests/runner/run_text.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "tests/frontend_onnx/models.h"

namespace lemma::runner {

Result<std::vector<RunTimeValue>> run_text(const std::string& text,
                                           const std::vector<RunTimeValue>& inputs,
                                           const RunOptions& options) {
  const ::onnx::ModelProto message = frontend::parse_text(text);
  ImportOptions reading;
  reading.trusts_declarations = false;
  for (int i = 0; i < message.graph().input_size(); ++i)
    if (const auto type = type_of(inputs.at(static_cast<std::size_t>(i))); type.shape)
      reading.shapes.emplace(message.graph().input(i).name(), *type.shape);
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, frontend::import_message(message, reading));
  return run_graph(model.graph, model.envelope, inputs, options);
}

RunTimeValue floats(const std::vector<std::int64_t>& sizes, const std::vector<float>& elements) {
  return Constant::of(DataType::f32, sizes, elements);
}

RunTimeValue integers(const std::vector<std::int64_t>& sizes,
                      const std::vector<std::int64_t>& elements) {
  return Constant::of(DataType::i64, sizes, elements);
}

RunTimeValue boolean(bool value) {
  return Constant::of(DataType::boolean, {},
                      std::vector<std::uint8_t>{value ? std::uint8_t{1} : std::uint8_t{0}});
}

// NOLINTNEXTLINE(misc-no-recursion): values are nested.
std::string shown(const RunTimeValue& value) {
  if (const auto* sequence = value.sequence()) {
    std::vector<std::string> parts;
    for (const RunTimeValue& element : *sequence) parts.push_back(shown(element));
    return fmt::format("({})", fmt::join(parts, "; "));
  }
  std::string result = text(value);
  if (const Strings* strings = value.strings())
    for (const std::string& element : strings->elements) result += fmt::format(" '{}'", element);
  if (const Constant* tensor = value.tensor())
    for (const double element : tensor->reals()) result += fmt::format(" {}", element);
  return result;
}

std::string shown(const Result<std::vector<RunTimeValue>>& values) {
  if (!values) return "error: " + values.error().message;
  std::vector<std::string> parts;
  for (const RunTimeValue& value : *values) parts.push_back(shown(value));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace lemma::runner
