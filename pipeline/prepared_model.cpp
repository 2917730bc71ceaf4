#include "pipeline/prepared_model.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "frontend_onnx/operator_set.h"
#include "interpreter/constant_operation.h"
#include "pipeline/declared_sizes.h"

namespace lemma {

namespace {

/// Many steps are simpler as a loop, and smaller.
constexpr std::int64_t most_unrolled_when_small = 64;

/// What inputs with default values cost; empty: there are none.
std::string defaults_note(const ModelEnvelope& envelope) {
  const std::size_t count = envelope.default_count();
  if (count == 0) return {};
  return fmt::format(
      "inputs with default values: {}; a runtime cannot take them for constants, --fix-defaults "
      "makes constants of them",
      count);
}

/// The model with bodies optimized.
OnnxModel resolved_model(OnnxModel read, const std::filesystem::path& file,
                         const RuleDatabase& rules, const OperatorCosts& costs,
                         const OptimizeOptions& options, const Deadline& deadline,
                         BodyExplanations& bodies) {
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  return with_optimized_bodies(std::move(read), folder, rules, costs, options,
                               deadline.within(0.4 * deadline.remaining()), bodies);
}

}  // namespace

Result<ReadModel> read_and_prepare(const std::filesystem::path& file,
                                   const std::filesystem::path& output, const RuleDatabase& rules,
                                   const OperatorCosts& costs, OptimizeOptions& options,
                                   const Deadline& deadline) {
  if (options.searches) options.reading.evaluate = interpreter::evaluate_on_constants;
  if (options.cleans || options.most_growth)
    options.reading.unrolled_node_limit =
        std::min(options.reading.unrolled_node_limit, most_unrolled_when_small);
  LEMMA_ASSIGN_OR_RETURN(OnnxModel read, import_model(file, options.reading));
  std::string note = defaults_note(read.envelope);
  if (const std::string objection =
          objection_to_sizes(options.worker, read, file, output, options, deadline);
      !objection.empty()) {
    note += note.empty() ? "" : "; ";
    note += fmt::format(
        "the sizes of --shape are those of the check alone: ONNX Runtime loads the model, but not "
        "with them ({})",
        objection);
    options = with_open_sizes(std::move(options));
    LEMMA_ASSIGN_OR_RETURN(read, import_model(file, options.reading));
  }
  BodyExplanations bodies;
  if (options.searches)
    read = resolved_model(std::move(read), file, rules, costs, options, deadline, bodies);
  const int own_operator_set = read.envelope.operator_set();
  if (options.operator_set != 0) {
    auto other = for_operator_set(std::move(read), options.operator_set);
    if (!other) return with_context(file.string(), std::move(other.error()));
    read = std::move(*other);
  }
  if (options.cleans) {
    LEMMA_ASSIGN_OR_RETURN(read, with_initializers(std::move(read)));
  }
  return ReadModel{std::move(read), own_operator_set, std::move(bodies), std::move(note)};
}

}  // namespace lemma
