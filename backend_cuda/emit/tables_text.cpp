#include "backend_cuda/emit/tables_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::backend {

namespace {

/// "QUALIFIER TYPE NAME[] = {...};", several entries a line. An array of C has at least one element.
class Table {
 public:
  Table(std::string_view type, std::string_view name, std::string_view qualifier = "constexpr")
      : text_(fmt::format("{} {} {}[] = {{\n   ", qualifier, type, name)) {}

  void add(const std::string& entry) {
    if (width_ + entry.size() > 110) {
      text_ += "\n   ";
      width_ = 0;
    }
    text_ += " " + entry + ",";
    width_ += entry.size() + 2;
    is_empty_ = false;
  }
  void start_group(const std::string& comment) {
    text_ += fmt::format("{}    // {}\n   ", width_ == 0 ? "\n" : "\n", comment);
    width_ = 0;
  }
  std::string finish(const std::string& if_empty) {
    if (is_empty_) add(if_empty);
    return text_ + "\n};\n\n";
  }

 private:
  std::string text_;
  std::size_t width_ = 0;
  bool is_empty_ = true;
};

}  // namespace

std::string location_text(const TaskProgram& program, const Buffer& buffer) {
  switch (buffer.memory) {
    case Memory::arena: return fmt::format("{{0, {}}}", buffer.offset);
    case Memory::weights: return fmt::format("{{1, {}}}", buffer.offset);
    case Memory::input: return fmt::format("{{{}, 0}}", 2 + buffer.position);
    case Memory::output: break;
  }
  return fmt::format("{{{}, 0}}", 2 + program.graph.inputs.size() + buffer.position);
}

std::string tensors_text(const TaskProgram& program, std::string_view name,
                         const std::vector<BufferNumber>& buffers) {
  Table table("Tensor", fmt::format("{}_tensors", name));
  for (const BufferNumber number : buffers) {
    const Buffer& buffer = program.graph.buffers[number];
    table.add(fmt::format("{{{}, {}, {}, {}}}", quoted_text(buffer.name),
                          quoted_text(type_text(buffer)), buffer.bytes(), byte_size(buffer.type)));
  }
  return fmt::format("constexpr std::size_t {}_count = {};\n", name, buffers.size()) +
         table.finish("{nullptr, nullptr, 0, 1}");
}

namespace {

std::string operators_text(const TaskProgram& program, const KernelTexts& kernels,
                           std::size_t& most_arguments) {
  Table arguments("Location", "arguments"), operators("Operator", "operators");
  std::size_t count = 0;
  for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op) {
    const TaskOperator& one = program.graph.operators[op];
    operators.add(fmt::format("{{{}, {}, {}}}", kernel_name(kernels.by_operator[op]), count,
                              one.arguments.size()));
    for (const BufferNumber argument : one.arguments)
      arguments.add(location_text(program, program.graph.buffers[argument]));
    count += one.arguments.size();
    most_arguments = std::max(most_arguments, one.arguments.size());
  }
  return arguments.finish("{0, 0}") + operators.finish("{nullptr, 0, 0}");
}

}  // namespace

std::string steps_text(const TaskProgram& program, const std::string& qualifier) {
  Table waits("Wait", "waits", qualifier), steps("Step", "steps", qualifier);
  Table first("std::uint32_t", "first_step", qualifier);
  Table signals("std::uint32_t", "signals_per_run", qualifier);
  std::vector<std::uint32_t> signal_counts(program.counters, 0);
  std::size_t wait_total = 0, step_total = 0;
  for (std::size_t unit = 0; unit < program.units.size(); ++unit) {
    steps.start_group(fmt::format("unit {}", unit));
    first.add(fmt::format("{}", step_total));
    for (const Step& step : program.units[unit]) {
      steps.add(fmt::format("{{{}, {}, {}, {}, {}}}", step.task.op, step.task.number, wait_total,
                            step.waits.size(), step.signal ? static_cast<int>(*step.signal) : -1));
      for (const Wait& wait : step.waits)
        waits.add(fmt::format("{{{}, {}}}", wait.counter, wait.value));
      wait_total += step.waits.size();
      if (step.signal) ++signal_counts[*step.signal];
    }
    step_total += program.units[unit].size();
  }
  first.add(fmt::format("{}", step_total));
  for (const std::uint32_t count : signal_counts) signals.add(fmt::format("{}", count));
  return waits.finish("{0, 0}") + steps.finish("{0, 0, 0, 0, -1}") + first.finish("0") +
         signals.finish("0");
}

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\')
      result += fmt::format("\\{}", each);
    else if (code < ' ' || code >= 127 || each == '?')
      result += fmt::format("\\{:03o}", code);
    else
      result += each;
  }
  return result + "\"";
}

std::string type_text(const Buffer& buffer) {
  return fmt::format("{}[{}]", name(buffer.type), fmt::join(buffer.sizes, ", "));
}

std::size_t wait_count(const TaskProgram& program) {
  std::size_t count = 0;
  for (const std::vector<Step>& unit : program.units)
    for (const Step& step : unit) count += step.waits.size();
  return count;
}

std::string tables_text(const TaskProgram& program, const KernelTexts& kernels,
                        const std::string& weight_digest) {
  std::size_t most_arguments = 0;
  std::string text =
      "#pragma once\n"
      "// The schedule: which unit runs which parts of which operators, and what it waits for.\n\n"
      "#include \"kernels.h\"\n#include \"run_time.h\"\n\nnamespace {\n\n"
      "struct Tensor {\n  const char* name;\n  const char* type;\n  std::size_t bytes, alignment;\n"
      "};\n\n";
  text += fmt::format("constexpr std::size_t arena_bytes = {};\n", program.arena_bytes);
  text += fmt::format("constexpr std::size_t weight_bytes = {};\n", program.weight_bytes);
  text += fmt::format("constexpr char weight_digest[] = {};\n\n", quoted_text(weight_digest));
  text += tensors_text(program, "input", program.graph.inputs);
  text += tensors_text(program, "output", program.graph.outputs);
  text += "// A memory (0 the arena, 1 the weights, then inputs and outputs) and an offset.\n";
  text += operators_text(program, kernels, most_arguments);
  text += "// A counter, and how far it must have grown in this run.\n";
  text += steps_text(program, "constexpr");
  text += fmt::format(
      "constexpr Schedule schedule = {{arguments, operators, waits, steps, first_step, {}, "
      "signals_per_run, {}, {}}};\n\n}}  // namespace\n",
      program.units.size(), program.counters, most_arguments);
  return text;
}

}  // namespace lemma::backend
