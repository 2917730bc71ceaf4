#include "backend/lower/computation_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::backend {

namespace {

std::string_view name(Memory memory) {
  switch (memory) {
    case Memory::arena: return "arena";
    case Memory::weights: return "weights";
    case Memory::input: return "input";
    case Memory::output: break;
  }
  return "output";
}

std::string buffer_text(BufferNumber number, const Buffer& buffer) {
  std::string text =
      fmt::format("  %{} \"{}\" : {}[{}] {}", number, buffer.name, lemma::name(buffer.type),
                  fmt::join(buffer.sizes, ", "), name(buffer.memory));
  if (buffer.contents) text += fmt::format(" digest {:016x}", buffer.contents->digest());
  return text;
}

std::string operands_text(const ComputationGraph& graph, const Computation& computation) {
  std::vector<std::string> operands;
  for (std::size_t i = 0; i < computation.operands.size(); ++i) {
    const BufferNumber operand = computation.operands[i];
    if (operand == no_buffer) {
      operands.emplace_back("none");
      continue;
    }
    const lowering::Sizes& sizes = computation.views[i].sizes;
    operands.push_back(sizes == graph.buffers[operand].sizes
                           ? fmt::format("%{}", operand)
                           : fmt::format("%{} as [{}]", operand, fmt::join(sizes, ", ")));
  }
  return fmt::format("{}", fmt::join(operands, ", "));
}

/// How many nodes the text of a definition has, in which what is used several times is written as often; or a little more
/// than the most that are printed.
std::size_t printed_nodes(const Definition& definition, std::size_t most) {
  std::vector<std::size_t> counts;
  for (const ExpressionNode& node : definition.nodes()) {
    std::size_t count = 1;
    for (const ExpressionId operand : node.operands)
      count = std::min(count + counts[operand.v], most + 1);
    counts.push_back(count);
  }
  std::size_t all = 0;
  for (const DefinedOutput& output : definition.outputs())
    all = std::min(all + counts[output.value.v], most + 1);
  return all;
}

std::string definition_text(const Definition& definition) {
  constexpr std::size_t most_nodes = 2000;
  const std::string space(7, ' ');
  if (printed_nodes(definition, most_nodes) > most_nodes)
    return fmt::format("{}(a definition of {} nodes)\n", space, definition.nodes().size());
  std::string lines = space;
  for (const char letter : lemma::text(definition)) {
    lines += letter;
    if (letter == '\n') lines += space;
  }
  return lines + "\n";
}

std::string computation_text(const ComputationGraph& graph, std::size_t number) {
  const Computation& computation = graph.computations[number];
  const bool is_one_of_several = computation.definition.outputs().size() > 1;
  return fmt::format("  {}: %{} \"{}\" = {}({}){}\n", number, computation.result, computation.name,
                     computation.description, operands_text(graph, computation),
                     is_one_of_several ? fmt::format(", y{}", computation.output) : "") +
         definition_text(computation.definition);
}

std::vector<bool> used_buffers(const ComputationGraph& graph) {
  std::vector<bool> is_used(graph.buffers.size(), false);
  for (const Computation& computation : graph.computations) {
    is_used[computation.result] = true;
    for (const BufferNumber operand : computation.operands)
      if (operand != no_buffer) is_used[operand] = true;
  }
  for (const auto* numbers : {&graph.inputs, &graph.outputs})
    for (const BufferNumber number : *numbers) is_used[number] = true;
  return is_used;
}

}  // namespace

std::string text(const ComputationGraph& graph) {
  std::string result = "buffers\n";
  const std::vector<bool> is_used = used_buffers(graph);
  for (BufferNumber number = 0; number < graph.buffers.size(); ++number)
    if (is_used[number]) result += buffer_text(number, graph.buffers[number]) + "\n";
  result += "computations\n";
  for (std::size_t number = 0; number < graph.computations.size(); ++number)
    result += computation_text(graph, number);
  if (!graph.groups.empty()) result += "groups\n";
  for (const Group& group : graph.groups)
    result +=
        fmt::format("  {}, {} points: {}\n", group.stitching == Stitching::warp ? "warp" : "block",
                    group.points, fmt::join(group.members, " "));
  std::vector<std::string> outputs;
  for (const BufferNumber number : graph.outputs) outputs.push_back(fmt::format("%{}", number));
  return result + fmt::format("outputs: {}\n", fmt::join(outputs, ", "));
}

std::string program_text(const TaskProgram& program) {
  std::string result = "buffers\n";
  for (BufferNumber number = 0; number < program.graph.buffers.size(); ++number) {
    const Buffer& buffer = program.graph.buffers[number];
    result += buffer_text(number, buffer);
    if (buffer.memory == Memory::arena || buffer.memory == Memory::weights)
      result += fmt::format(" at {}", buffer.offset);
    result += "\n";
  }
  return result +
         fmt::format("arena: {} bytes, weights: {} bytes\nsteps\n", program.arena_bytes,
                     program.weight_bytes) +
         text(program);
}

}  // namespace lemma::backend
