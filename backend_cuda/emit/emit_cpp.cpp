#include "backend_cuda/emit/emit_cpp.h"

#include <fmt/format.h>

#include "backend_cuda/emit/nest_text.h"
#include "backend_cuda/emit/source_types.h"
#include "lowering/merge_axes.h"

namespace lemma::backend {

namespace {

Result<std::string> loops_text(const lowering::LoweredOutput& output, std::size_t number,
                               bool in_blocks) {
  LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(output.type));
  LEMMA_ASSIGN_OR_RETURN(const std::string nest, (in_blocks ? blocked_nest_text : nest_text)(
                                                     output, all_of(output), "y", 4));
  return fmt::format("  {{\n    auto* const y = static_cast<{}*>(outputs[{}]);\n{}  }}\n", type,
                     number, nest);
}

}  // namespace

std::string_view cpp_prelude() {
  return R"(#include <cstdint>
#include <limits>

#define EXACT_FUNCTIONS
#include "backend_cuda/emit/parts/fast_functions.h"
#include "backend_cuda/emit/parts/half_types.h"
#include "backend_cuda/emit/parts/vectors.h"
#include "lowering/scalar_operations.h"

using namespace lemma::lowering;

static inline bool is_inside(std::int64_t index, std::int64_t size) {
  return 0 <= index && index < size;
}
)";
}

Result<std::string> emit_cpp(const Definition& definition,
                             const std::vector<lowering::InputView>& inputs, std::string_view name,
                             bool in_blocks) {
  std::string text = fmt::format(
      "extern \"C\" GUARDED_LOADS void {}(const void* const* inputs, void* const* outputs) {{\n"
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
    const DefinedOutput& defined = definition.outputs()[i];
    LEMMA_ASSIGN_OR_RETURN(
        const lowering::LoweredOutput output,
        in_blocks
            ? lowering::lower_to_long_loops(definition, defined, inputs, lowering::Domain::native)
            : lowering::lower(definition, defined, inputs, lowering::Domain::native));
    LEMMA_ASSIGN_OR_RETURN(const std::string block, loops_text(output, i, in_blocks));
    text += block;
  }
  return text + "}\n";
}

}  // namespace lemma::backend
