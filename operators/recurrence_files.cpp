#include <algorithm>

#include <fmt/format.h>

#include "operators/recurrence.h"
#include "operators/sizes.h"

// GRU, LSTM and RNN in ONNX files.

namespace lemma::operators {
namespace {

// In files the lengths of the sequences stand before the states, and weights of peepholes after them.
constexpr std::size_t lengths_input = 4, first_state_input = 5;
constexpr std::int64_t most_steps = 1024;  // each is written out where the operator is evaluated

bool is_present(const OnnxCall& call, std::size_t input) {
  return input < call.inputs.size() && call.inputs[input].present();
}

/// The names that the file gives, or those that it leaves out.
Result<std::vector<std::string>> activations_of(const OnnxCall& call, const RecurrenceKind& kind,
                                                std::size_t directions) {
  for (const auto& [name, values] : call.strings) {
    if (name == "activations") return values;
    return unsupported(fmt::format("attribute '{}' is a list of strings", name));
  }
  std::vector<std::string> standard;
  for (std::size_t direction = 0; direction < directions; ++direction)
    for (const std::string_view name : kind.activations)
      if (!name.empty()) standard.emplace_back(name);
  if (kind.option == activation_option) standard.assign(directions, "Tanh");
  return standard;
}

/// Sets the attribute that names the activation, if there is one.
Result<void> read_activations(const OnnxCall& call, const RecurrenceKind& kind,
                              std::size_t directions, Attributes& attributes) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> given,
                         activations_of(call, kind, directions));
  if (kind.option == activation_option) {
    if (given.size() != directions) return bad_input("not one activation for each direction");
    if (std::find(activations_of_rnn.begin(), activations_of_rnn.end(), given.front()) ==
        activations_of_rnn.end())
      return unsupported(fmt::format("the activation {}", given.front()));
    if (given.front() != given.back()) return unsupported("directions of different activations");
    attributes.set(std::string(activation_option), given.front());
    return {};
  }
  std::size_t position = 0;
  for (std::size_t direction = 0; direction < directions; ++direction)
    for (const std::string_view name : kind.activations) {
      if (name.empty()) continue;
      if (position >= given.size() || given[position++] != name)
        return unsupported("other activations");
    }
  if (position != given.size()) return bad_input("more activations than gates have");
  return {};
}

Result<void> check_operands(const OnnxCall& call, const RecurrenceKind& kind, bool batch_first) {
  if (is_present(call, lengths_input)) return unsupported("lengths of sequences");
  for (std::size_t i = first_state_input + kind.states; i < call.inputs.size(); ++i)
    if (call.inputs[i].present()) return unsupported("peepholes");
  for (const std::size_t i : {0, 1, 2})
    if (!is_present(call, i)) return bad_input(fmt::format("input {} is absent", i));
  const auto& shape = call.inputs[0].type.shape;
  const std::size_t axis = batch_first ? 1 : 0;
  if (!shape || shape->size() <= axis || !(*shape)[axis].is_constant())
    return unsupported("a number of steps that is not known before run time");
  if ((*shape)[axis].offset() > most_steps) return unsupported("so many steps");
  return {};
}

}  // namespace

Result<ImportedCall> import_recurrence(const OnnxCall& call, ImportedCall imported,
                                       const RecurrenceKind& kind, bool as_layer) {
  LEMMA_RETURN_IF_ERROR(only_attributes(
      call, {"hidden_size", "direction", "layout", "input_forget", linear_before_reset}));
  const std::string direction(string_or(call, "direction", "forward"));
  const bool both = direction == "bidirectional";
  if (!both && direction != "forward" && direction != "reverse")
    return bad_input(fmt::format("the direction '{}'", direction));
  const std::int64_t layout = integer_or(call, "layout", 0);
  if (layout != 0 && layout != 1) return bad_input(fmt::format("layout is {}", layout));
  if (integer_or(call, "input_forget", 0) != 0) return unsupported("gates that are coupled");
  LEMMA_RETURN_IF_ERROR(check_operands(call, kind, layout == 1));
  imported.attributes = {};
  LEMMA_RETURN_IF_ERROR(read_activations(call, kind, both ? 2 : 1, imported.attributes));
  if (kind.option == linear_before_reset)
    imported.attributes.set(
        std::string(linear_before_reset),
        static_cast<std::int64_t>(integer_or(call, linear_before_reset, 0) != 0));

  imported.inputs.clear();
  for (std::size_t i = 0; i < kind.operands(); ++i) {
    const std::size_t input = i < lengths_input ? i : i + 1;
    imported.inputs.push_back(is_present(call, input) ? static_cast<int>(input) : -1);
  }
  imported.outputs.emplace();  // whether or not the file names them
  for (std::size_t k = 0; k <= kind.states; ++k) imported.outputs->push_back(k);
  if (as_layer) {
    imported.attributes.set("direction", direction);
    imported.attributes.set("layout", layout);
    while (imported.inputs.back() < 0) imported.inputs.pop_back();
    return imported;
  }
  if (direction != "forward" || layout != 0) return unsupported("another direction or layout");
  if (std::count(imported.inputs.begin(), imported.inputs.end(), -1) != 0)
    return unsupported("a bias or an initial state that is absent");
  return imported;
}

Result<ExportedCall> export_recurrence(const Instance& in, ExportedCall exported,
                                       const RecurrenceKind& kind) {
  const Dimension& size = in.shape(recurrence_operand::hidden_weight)[2];
  if (!size.is_constant()) return unsupported("a size of the state that is not known");
  exported.attributes.set("hidden_size", size.offset());
  const bool is_layer = in.attributes.has("direction");
  if (is_layer && in.attributes.string("direction") == "forward")
    exported.attributes.erase("direction");
  if (is_layer && in.attributes.integer("layout") == 0) exported.attributes.erase("layout");
  if (kind.option == linear_before_reset && in.attributes.integer(linear_before_reset) == 0)
    exported.attributes.erase(linear_before_reset);
  if (kind.option == activation_option) {
    const std::string& name = in.attributes.string(activation_option);
    const bool both = is_layer && in.attributes.string("direction") == "bidirectional";
    exported.attributes.erase(activation_option);
    if (name != "Tanh")
      exported.strings.emplace_back("activations", std::vector<std::string>(both ? 2 : 1, name));
  }
  if (exported.inputs.size() > lengths_input)
    exported.inputs.insert(exported.inputs.begin() + lengths_input, OnnxAbsent{});
  return exported;
}

}  // namespace lemma::operators
