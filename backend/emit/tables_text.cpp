#include "backend/emit/tables_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::backend {

Table::Table(std::string_view type, std::string_view name, std::string_view qualifier)
    : text_(fmt::format("{} {} {}[] = {{\n   ", qualifier, type, name)) {}

void Table::add(const std::string& entry) {
  if (width_ + entry.size() > 110) {
    text_ += "\n   ";
    width_ = 0;
  }
  text_ += " " + entry + ",";
  width_ += entry.size() + 2;
  is_empty_ = false;
}

void Table::start_group(const std::string& comment) {
  text_ += fmt::format("{}    // {}\n   ", width_ == 0 ? "\n" : "\n", comment);
  width_ = 0;
}

std::string Table::finish(const std::string& if_empty) {
  if (is_empty_) add(if_empty);
  return text_ + "\n};\n\n";
}

std::string location_text(const TaskProgram& program, const Buffer& buffer) {
  switch (buffer.memory) {
    case Memory::arena: return fmt::format("{{0, {}}}", buffer.offset);
    case Memory::weights: return fmt::format("{{1, {}}}", buffer.offset);
    case Memory::input: return fmt::format("{{{}, 0}}", 2 + buffer.position);
    case Memory::output: break;
  }
  return fmt::format("{{{}, 0}}", 2 + program.graph.inputs.size() + buffer.position);
}

namespace {

std::string tensors_of_program(const TaskProgram& program, std::string_view name,
                               const std::vector<BufferNumber>& buffers) {
  Table table("Tensor", fmt::format("{}_tensors", name));
  for (const BufferNumber number : buffers) {
    const Buffer& buffer = program.graph.buffers[number];
    table.add(fmt::format("{{{}, {}}}", buffer.bytes(), byte_size(buffer.type)));
  }
  return table.finish("{0, 1}");
}

std::string operators_text(const TaskProgram& program, const std::vector<std::uint32_t>& kernels,
                           std::size_t& most_arguments) {
  Table arguments("Location", "arguments"), operators("Operator", "operators");
  std::size_t count = 0;
  for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op) {
    const TaskOperator& task_operator = program.graph.operators[op];
    operators.add(fmt::format("{{{}, {}, {}}}", kernel_name(kernels[op]), count,
                              task_operator.arguments.size()));
    for (const BufferNumber argument : task_operator.arguments)
      arguments.add(location_text(program, program.graph.buffers[argument]));
    count += task_operator.arguments.size();
    most_arguments = std::max(most_arguments, task_operator.arguments.size());
  }
  return arguments.finish("{0, 0}") + operators.finish("{nullptr, 0, 0}");
}

}  // namespace

std::string steps_text(const TaskProgram& program, const std::string& qualifier) {
  Table waits("Wait", "waits", qualifier), steps("Step", "steps", qualifier);
  Table first("std::uint32_t", "first_step", qualifier);
  Table signals("std::uint32_t", "signals", qualifier);
  Table per_run("std::uint32_t", "signals_per_run", qualifier);
  std::vector<std::uint32_t> signal_counts(program.counters, 0);
  std::size_t wait_total = 0, step_total = 0, signal_total = 0;
  for (std::size_t unit = 0; unit < program.units.size(); ++unit) {
    steps.start_group(fmt::format("unit {}", unit));
    first.add(fmt::format("{}", step_total));
    for (const Step& step : program.units[unit]) {
      steps.add(fmt::format("{{{}, {}, {}, {}, {}, {}}}", step.task.op, step.task.number,
                            wait_total, step.waits.size(), signal_total, step.signals.size()));
      for (const Wait& wait : step.waits)
        waits.add(fmt::format("{{{}, {}}}", wait.counter, wait.value));
      wait_total += step.waits.size();
      for (const CounterNumber counter : step.signals) {
        signals.add(fmt::format("{}", counter));
        ++signal_counts[counter];
      }
      signal_total += step.signals.size();
    }
    step_total += program.units[unit].size();
  }
  first.add(fmt::format("{}", step_total));
  for (const std::uint32_t count : signal_counts) per_run.add(fmt::format("{}", count));
  return waits.finish("{0, 0}") + signals.finish("0") + steps.finish("{0, 0, 0, 0, 0, 0}") +
         first.finish("0") + per_run.finish("0");
}

namespace {

/// The sizes of an axis: one, or one for each program.
std::vector<std::int64_t> sizes_along(std::span<const TaskProgram> programs,
                                      const std::vector<BufferNumber> OperatorGraph::*buffers,
                                      std::size_t position, std::size_t axis) {
  std::vector<std::int64_t> sizes;
  for (const TaskProgram& program : programs)
    sizes.push_back(program.graph.buffers[(program.graph.*buffers)[position]].sizes[axis]);
  const bool is_fixed = std::all_of(sizes.begin(), sizes.end(),
                                    [&sizes](std::int64_t size) { return size == sizes.front(); });
  if (is_fixed) sizes.resize(1);
  return sizes;
}

/// "dimension 0, 'N', has to be 1, 4 or 16", for each dimension that has several sizes.
std::string choices_text(std::span<const TaskProgram> programs,
                         const std::vector<BufferNumber> OperatorGraph::*buffers,
                         std::size_t position, const DimensionNames& dimensions) {
  const Buffer& first = programs.front().graph.buffers[(programs.front().graph.*buffers)[position]];
  const auto names = dimensions.find(first.name);
  std::string text;
  for (std::size_t axis = 0; axis < first.sizes.size(); ++axis) {
    std::vector<std::int64_t> sizes = sizes_along(programs, buffers, position, axis);
    if (sizes.size() == 1) continue;
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    const std::int64_t last = sizes.back();
    sizes.pop_back();
    const bool is_named =
        names != dimensions.end() && axis < names->second.size() && !names->second[axis].empty();
    text += fmt::format("{}dimension {}{} has to be {} or {}", text.empty() ? "" : ", and ", axis,
                        is_named ? fmt::format(", '{}',", names->second[axis]) : "",
                        fmt::join(sizes, ", "), last);
  }
  return text;
}

std::string descriptions_text(std::span<const TaskProgram> programs, std::string_view name,
                              const std::vector<BufferNumber> OperatorGraph::*buffers,
                              const DimensionNames& dimensions) {
  Table table("Description", fmt::format("{}_descriptions", name));
  const std::vector<BufferNumber>& numbers = programs.front().graph.*buffers;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    table.add(fmt::format("{{{}, {}, {}}}",
                          quoted_text(programs.front().graph.buffers[numbers[i]].name),
                          quoted_text(type_text(programs, buffers, i)),
                          quoted_text(choices_text(programs, buffers, i, dimensions))));
  return fmt::format("constexpr std::size_t {}_count = {};\n", name, numbers.size()) +
         table.finish("{nullptr, nullptr, nullptr}");
}

/// The tables of one program.
std::string program_text(const TaskProgram& program, const std::vector<std::uint32_t>& kernels) {
  std::size_t most_arguments = 0;
  std::string text =
      "// A memory (0 the arena, 1 the weights, then inputs and outputs) and an offset.\n";
  text += operators_text(program, kernels, most_arguments);
  text += "// A counter, and how far it must have grown in this run.\n";
  text += steps_text(program, "constexpr");
  text += fmt::format(
      "constexpr Schedule schedule = {{arguments, operators, waits, signals, steps, first_step, "
      "{}, "
      "signals_per_run, {}, {}}};\n\n",
      program.units.size(), program.counters, most_arguments);
  return text;
}

}  // namespace

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (const char character : text) {
    const auto code = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\')
      result += fmt::format("\\{}", character);
    else if (code < ' ' || code >= 127 || character == '?')
      result += fmt::format("\\{:03o}", code);
    else
      result += character;
  }
  return result + "\"";
}

std::string type_text(std::span<const TaskProgram> programs,
                      const std::vector<BufferNumber> OperatorGraph::*buffers,
                      std::size_t position) {
  const auto buffer = [&](const TaskProgram& program) -> const Buffer& {
    return program.graph.buffers[(program.graph.*buffers)[position]];
  };
  const Buffer& first = buffer(programs.front());
  std::vector<std::string> axes;
  for (std::size_t axis = 0; axis < first.sizes.size(); ++axis)
    axes.push_back(
        fmt::format("{}", fmt::join(sizes_along(programs, buffers, position, axis), "/")));
  return fmt::format("{}[{}]", name(first.type), fmt::join(axes, ", "));
}

std::size_t wait_count(const TaskProgram& program) {
  std::size_t count = 0;
  for (const std::vector<Step>& unit : program.units)
    for (const Step& step : unit) count += step.waits.size();
  return count;
}

std::string in_namespace(std::size_t size, const std::string& text) {
  return fmt::format("namespace size_{0} {{\n\n{1}}}  // namespace size_{0}\n\n", size, text);
}

std::string tables_text(std::span<const TaskProgram> programs, const KernelTexts& kernels,
                        const std::string& name, const std::string& weight_digest,
                        std::uint64_t arena_bytes) {
  std::string text =
      "#pragma once\n"
      "// The schedule: which unit runs which parts of which operators, and what it waits for.\n\n"
      "#include \"kernels.h\"\n#include \"run_time.h\"\n\nnamespace {\n\n";
  text += fmt::format("using namespace {}_kernels;\n\n", name);
  text += fmt::format("constexpr std::size_t arena_bytes = {};\n", arena_bytes);
  text += fmt::format("constexpr std::size_t weight_bytes = {};\n", programs.front().weight_bytes);
  text += fmt::format("constexpr char weight_digest[] = {};\n\n", quoted_text(weight_digest));
  std::vector<std::string> schedules;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    text += in_namespace(i, program_text(programs[i], kernels.by_operator[i]));
    schedules.push_back(fmt::format("size_{}::schedule", i));
  }
  return text + fmt::format("constexpr Schedule schedules[] = {{{}}};\n\n}}  // namespace\n",
                            fmt::join(schedules, ", "));
}

std::string tensor_tables(std::span<const TaskProgram> programs, const DimensionNames& dimensions) {
  std::string text = descriptions_text(programs, "input", &OperatorGraph::inputs, dimensions) +
                     descriptions_text(programs, "output", &OperatorGraph::outputs, {});
  std::vector<std::string> inputs, outputs;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const OperatorGraph& graph = programs[i].graph;
    text += in_namespace(i, tensors_of_program(programs[i], "input", graph.inputs) +
                                tensors_of_program(programs[i], "output", graph.outputs));
    inputs.push_back(fmt::format("size_{}::input_tensors", i));
    outputs.push_back(fmt::format("size_{}::output_tensors", i));
  }
  text += fmt::format("constexpr std::size_t size_count = {};\n", programs.size());
  text +=
      fmt::format("constexpr const Tensor* inputs_of_size[] = {{{}}};\n", fmt::join(inputs, ", "));
  return text + fmt::format("constexpr const Tensor* outputs_of_size[] = {{{}}};\n",
                            fmt::join(outputs, ", "));
}

}  // namespace lemma::backend
