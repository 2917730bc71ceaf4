#include "backend_cuda/emit_cpp.h"

#include <fmt/format.h>

#include "backend_cuda/emit_element.h"
#include "backend_cuda/source_types.h"

namespace lemma::backend {

namespace {

using lowering::LoweredOutput;

/// A loop for each axis, the last one fastest, and the element's place in row-major order.
Result<std::string> nest_text(const LoweredOutput& output, std::size_t number) {
  std::string text = "  {\n";
  lowering::Linear place;
  int indent = 4;
  const auto line = [&text, &indent](std::string_view part) {
    text += std::string(static_cast<std::size_t>(indent), ' ') + std::string(part) + "\n";
  };
  LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(output.type));
  line(fmt::format("auto* const y = static_cast<{}*>(outputs[{}]);", type, number));
  for (const lowering::LoopVariable axis : output.axes) {
    const std::string name = variable_name(axis);
    const std::int64_t extent = output.graph.extent(axis);
    line(fmt::format("for (std::int64_t {} = 0; {} < {}; ++{}) {{", name, name, extent, name));
    indent += 2;
    place = lowering::combine(lowering::scale(place, extent), lowering::Linear::atom(axis));
  }
  LEMMA_ASSIGN_OR_RETURN(const ElementSource element, emit_element(output, indent));
  text += element.statements;
  line(fmt::format("y[{}] = static_cast<{}>({});", linear_text(output.graph, place), type,
                   element.value));
  for (std::size_t i = 0; i < output.axes.size(); ++i) {
    indent -= 2;
    line("}");
  }
  return text + "  }\n";
}

}  // namespace

std::string_view cpp_prelude() {
  return R"(#include <cstdint>
#include <limits>

#include "lowering/scalar_operations.h"

using namespace lemma::lowering;

static inline bool is_inside(std::int64_t index, std::int64_t size) {
  return 0 <= index && index < size;
}
)";
}

Result<std::string> emit_cpp(const Definition& definition,
                             const std::vector<lowering::InputView>& inputs,
                             std::string_view name) {
  std::string text = fmt::format(
      "extern \"C\" void {}(const void* const* inputs, void* const* outputs) {{\n"
      "  [[maybe_unused]] std::uint8_t ok = 1;\n",
      name);
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type == DataType::undefined) continue;
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(inputs[i].type));
    text += fmt::format(
        "  [[maybe_unused]] const auto* const {} = static_cast<const {}*>(inputs[{}]);\n",
        input_name(i), type, i);
  }
  for (std::size_t i = 0; i < definition.outputs().size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(
        const LoweredOutput output,
        lowering::lower(definition, definition.outputs()[i], inputs, lowering::Domain::native));
    LEMMA_ASSIGN_OR_RETURN(const std::string nest, nest_text(output, i));
    text += nest;
  }
  return text + "}\n";
}

}  // namespace lemma::backend
