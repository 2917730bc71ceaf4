#include "backend_cuda/emit_calls/graph_tables.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend_cuda/libraries/library_call.h"
#include "base/shown_text.h"

namespace lemma::backend {

namespace {

std::string place_text(const Buffer& buffer, std::int64_t first = 0) {
  return fmt::format("{{{}, {}}}", buffer.memory == Memory::weights ? 1 : 0,
                     buffer.offset + static_cast<std::uint64_t>(first) * byte_size(buffer.type));
}

std::string list_text(const std::vector<std::int64_t>& values) {
  return fmt::format("{{{}}}", fmt::join(values, ", "));
}

/// "f32" as a library calls it.
std::string_view type_of_call(DataType type, bool is_cudnn) {
  switch (type) {
    case DataType::f16: return is_cudnn ? "CUDNN_DATA_HALF" : "CUDA_R_16F";
    case DataType::bf16: return is_cudnn ? "CUDNN_DATA_BFLOAT16" : "CUDA_R_16BF";
    default: return is_cudnn ? "CUDNN_DATA_FLOAT" : "CUDA_R_32F";
  }
}

/// A literal of float that reads back as the same number.
std::string float_text(double value) {
  const std::string text = fmt::format("{:.9g}", value);
  return text + (text.find_first_of(".e") == std::string::npos ? ".0f" : "f");
}

class GraphWriter {
 public:
  explicit GraphWriter(const RegionProgram& program)
      : program_(program), used_(called_libraries(program)) {}

  std::string run() {
    for (const LibraryStep& step : program_.calls)
      std::visit([&](const auto& problem) { add(step, problem); }, step.call.problem);
    return head() + call_tables() + libraries_text() + node_tables() + "}  // namespace\n";
  }

 private:
  struct Table {
    std::string text;
    std::size_t count = 0;
  };

  const Buffer& operand(const LibraryStep& step, std::size_t i) const {
    return program_.buffers[step.operands[i]];
  }
  std::string operand_text(const LibraryStep& step, std::size_t i) const {
    if (i >= step.operands.size()) return "{0, 0}";
    return place_text(operand(step, i), step.call.operands[i].first);
  }
  std::string result_text(const LibraryStep& step) const {
    return place_text(program_.buffers[step.result]);
  }

  void add_line(Table& table, std::string_view kind, const LibraryStep& step,
                const std::string& line) {
    table.text += fmt::format("    // {}: {}\n    {},\n", shown(step.name, ShownIn::comment),
                              shown(step.description, ShownIn::comment), line);
    calls_ += fmt::format("    {{CallKind::{}, {}, {}}},\n", kind, table.count, step.workspace);
    ++table.count;
  }

  void add(const LibraryStep& step, const MatrixProduct& problem) {
    const ColumnMajorProduct call = column_major(problem);
    const auto matrix = [](const ColumnMajorMatrix& m, const std::string& place) {
      return fmt::format("{{{}, {}, {}, {}, {}, {}}}", m.rows, m.columns, m.leading, m.batch_stride,
                         m.transposed, place);
    };
    const char* addend = problem.addend == MatrixProduct::Addend::none            ? "none"
                         : problem.addend == MatrixProduct::Addend::column_vector ? "bias"
                                                                                  : "matrix";
    // In column-major order the right matrix comes first.
    add_line(
        products_, "product", step,
        fmt::format("{{{}, {}, {}, {}, {}, Addend::{}, {}, {}, {}, {}}}",
                    type_of_call(problem.type, false), call.batches,
                    matrix(call.a, operand_text(step, 1)), matrix(call.b, operand_text(step, 0)),
                    matrix(call.d, result_text(step)), addend, operand_text(step, 2), problem.relu,
                    float_text(step.call.factor), float_text(step.call.addend_factor)));
  }

  void add(const LibraryStep& step, const Convolution& problem) {
    const Convolution call = with_two_axes(problem);
    add_line(convolutions_, "convolution", step,
             fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}",
                         type_of_call(call.type, true), call.input.size(), list_text(call.input),
                         list_text(call.weight), list_text(call.output), call.groups,
                         list_text(call.strides), list_text(call.dilations), list_text(call.pads),
                         call.bias, call.relu, operand_text(step, 0), operand_text(step, 1),
                         operand_text(step, 2), result_text(step)));
  }

  void add(const LibraryStep& step, const Pool& problem) {
    const Pool call = with_two_axes(problem);
    add_line(pools_, "pool", step,
             fmt::format(
                 "{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", type_of_call(call.type, true),
                 call.kind == Pool::Kind::maximum ? "CUDNN_POOLING_MAX"
                                                  : "CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING",
                 call.input.size(), list_text(call.input), list_text(call.output),
                 list_text(call.windows), list_text(call.strides), list_text(call.pads),
                 operand_text(step, 0), result_text(step)));
  }

  std::string head() const {
    return fmt::format(
        "#pragma once\n"
        "// The graph: what each call computes, and what each node comes after.\n\n"
        "#include <cstddef>\n#include <cstdint>\n\n#include \"library_codes.cuh\"\n{}{}\n"
        "namespace {{\n\n",
        used_.cublas ? "#include \"products.cuh\"\n" : "",
        used_.cudnn ? "#include \"windows.cuh\"\n" : "");
  }

  std::string call_tables() const {
    std::string text;
    const auto add_table = [&text](std::string_view type, std::string_view name,
                                   const Table& table) {
      if (table.count > 0)
        text += fmt::format("constexpr {} {}[] = {{\n{}}};\n\n", type, name, table.text);
    };
    add_table("Product", "products", products_);
    add_table("Convolution", "convolutions", convolutions_);
    add_table("Pool", "pools", pools_);
    return text +
           fmt::format(
               "enum class CallKind {{ product, convolution, pool }};\n"
               "/// A call: its number in the table of its kind, and which workspace it may take.\n"
               "struct LibraryCall {{\n  CallKind kind;\n  std::uint32_t number, workspace;\n}};\n"
               "constexpr std::size_t library_call_count = {}, workspace_count = {};\n"
               "constexpr LibraryCall library_calls[] = {{\n{}}};\n\n",
               program_.calls.size(), program_.workspaces, calls_);
  }

  /// One object for the libraries that are called.
  std::string libraries_text() const {
    std::string members, open, prepare, issue;
    const auto add_library = [&](std::string_view type, std::string_view name) {
      members += fmt::format("  {} {};\n", type, name);
      open += fmt::format("    if (code == 0) code = {}.open();\n", name);
    };
    const auto add_kind = [&](std::string_view kind, std::string_view library) {
      prepare += fmt::format(
          "      if (call.kind == CallKind::{0}) code = {1}.prepare({0}s[call.number], bytes);\n",
          kind, library);
      issue += fmt::format(
          "    if (call.kind == CallKind::{0})\n"
          "      return {1}.issue({0}s[call.number], call.number, arenas, workspace, stream);\n",
          kind, library);
    };
    if (used_.cublas) add_library("ProductCalls", "of_products");
    if (used_.cudnn) add_library("WindowCalls", "of_windows");
    if (products_.count > 0) add_kind("product", "of_products");
    if (convolutions_.count > 0) add_kind("convolution", "of_windows");
    if (pools_.count > 0) add_kind("pool", "of_windows");
    return "struct Libraries {\n" + members +
           "\n  /// Asks for the algorithms of all calls; workspaces are as large as the largest "
           "that one needs.\n"
           "  int prepare(Workspace* workspaces) {\n    int code = 0;\n" +
           open +
           "    for (const LibraryCall& call : library_calls) {\n      if (code != 0) return "
           "code;\n"
           "      std::size_t bytes = 0;\n" +
           prepare +
           "      if (workspaces[call.workspace].bytes < bytes) workspaces[call.workspace].bytes = "
           "bytes;\n"
           "    }\n    return code;\n  }\n\n"
           "  int issue(const LibraryCall& call, const Arenas& arenas, const Workspace& workspace, "
           "cudaStream_t "
           "stream) {\n" +
           issue + "    return 0;\n  }\n};\n\n";
  }

  /// What a node copies: its place in the arena, and bytes.
  std::string copied(const RegionNode& node) const {
    if (node.kind != RegionNode::Kind::input && node.kind != RegionNode::Kind::output)
      return "0, 0";
    const Buffer& buffer =
        program_.buffers[node.kind == RegionNode::Kind::input ? program_.inputs[node.number]
                                                              : program_.outputs[node.number]];
    return fmt::format("{}, {}", buffer.offset, buffer.bytes());
  }

  std::string node_tables() const {
    constexpr const char* kinds[] = {"input", "kernel", "call", "output"};
    std::string nodes, edges;
    std::size_t count = 0;
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const RegionNode& node = program_.nodes[i];
      nodes += fmt::format("    {{NodeKind::{}, {}, {}, {}, {}}},  // {}\n",
                           kinds[static_cast<std::size_t>(node.kind)], node.number, count,
                           node.after.size(), copied(node), i);
      edges += fmt::format("{}{}", edges.empty() || node.after.empty() ? "" : ", ",
                           fmt::join(node.after, ", "));
      count += node.after.size();
    }
    return fmt::format(
        "enum class NodeKind {{ input, kernel, call, output }};\n"
        "/// A copy of an input or output, a persistent kernel or a call: its number among those "
        "of its kind, what it comes\n"
        "/// after, and the place and the bytes of a copy.\n"
        "struct GraphNode {{\n  NodeKind kind;\n  std::uint32_t number, first_after, after_count;\n"
        "  std::size_t offset, bytes;\n}};\n"
        "constexpr std::size_t node_count = {};\n"
        "constexpr GraphNode graph_nodes[] = {{\n{}}};\n"
        "constexpr std::uint32_t nodes_before[] = {{{}}};\n\n",
        program_.nodes.size(), nodes, edges.empty() ? "0" : edges);
  }

  const RegionProgram& program_;
  const CalledLibraries used_;
  Table products_, convolutions_, pools_;
  std::string calls_;
};

}  // namespace

CalledLibraries called_libraries(const RegionProgram& program) {
  CalledLibraries used;
  for (const LibraryStep& step : program.calls)
    (std::holds_alternative<MatrixProduct>(step.call.problem) ? used.cublas : used.cudnn) = true;
  return used;
}

std::string graph_tables(const RegionProgram& program) { return GraphWriter(program).run(); }

}  // namespace lemma::backend
