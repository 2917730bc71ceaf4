#include "backend/emit/emit_cpp.h"

#include "backend/emit/emit_nest.h"
#include "backend/emit/print.h"
#include "backend/emit/source_types.h"
#include "lowering/merge_axes.h"

namespace lemma::backend {

namespace {

Result<source::Block> output_block(const lowering::LoweredOutput& output, std::size_t number,
                                   bool in_blocks) {
  LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(output.type));
  source::Builder body;
  body.add(
      source::TensorDeclaration{.name = "y", .type = type, .array = "outputs", .number = number});
  LEMMA_ASSIGN_OR_RETURN(source::Statements nest,
                         in_blocks ? emit_blocked_nest(output, all_of(output), "y")
                                   : emit_nest(output, all_of(output), "y"));
  body.add(std::move(nest));
  return source::Block{body.take()};
}

}  // namespace

std::string_view cpp_prelude() {
  return R"(#include <cstdint>
#include <limits>

#define EXACT_FUNCTIONS
#include "backend/emit/parts/fast_functions.h"
#include "backend/emit/parts/half_types.h"
#include "backend/emit/parts/vectors.h"
#include "lowering/fourier.h"
#include "lowering/rank_selection.h"
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
  source::Builder body;
  body.add(source::Declaration{
      .type = "std::uint8_t", .name = "ok", .value = "1", .may_be_unused = true});
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type == DataType::undefined) continue;
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(inputs[i].type));
    body.add(source::TensorDeclaration{.name = input_name(i),
                                       .type = type,
                                       .array = "inputs",
                                       .number = i,
                                       .is_read = true,
                                       .may_be_unused = true});
  }
  for (std::size_t i = 0; i < definition.outputs().size(); ++i) {
    const DefinedOutput& defined = definition.outputs()[i];
    LEMMA_ASSIGN_OR_RETURN(
        const lowering::LoweredOutput output,
        in_blocks
            ? lowering::lower_to_long_loops(definition, defined, inputs, lowering::Domain::native)
            : lowering::lower(definition, defined, inputs, lowering::Domain::native));
    LEMMA_ASSIGN_OR_RETURN(source::Block block, output_block(output, i, in_blocks));
    body.add(std::move(block));
  }
  const source::Function function = {
      {{"const void* const*", "inputs"}, {"void* const*", "outputs"}}, body.take()};
  return source::print(function, source::Linkage::exported, name, source::Dialect::cpp);
}

}  // namespace lemma::backend
