#pragma once
// The textual form of graphs, for tests, reports and proofs:
//
//   graph "two_layer"
//     input %0 "x" : f32[N, 64]
//     %1 = constant f32[2] [1, 2.5]
//     %2 = constant f32[64, 128] digest 00a1b2c3d4e5f607
//     %3 = MatMul(%0, %2) : f32[N, 128]
//     %4, %5 = Split{axis=1, split=[64, 64]}(%3) : f32[N, 64], f32[N, 64]
//     %6 = opaque "com.example" "Widget" "payload" "reason" (%4, none) : f32[?]
//     output "y" = %5
//
// Types are printed for the reader and checked by the parser. parse_graph(print_graph(g)) prints
// the same text again.

#include <functional>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace lemma {

/// What the text leaves out.
struct GraphTextOptions {
  /// Constants of more bytes are printed as a digest of their contents.
  std::size_t inline_constant_bytes = 64;
  /// Nodes from which no output can be reached are printed too.
  bool dead_nodes = false;
};

/// Values are numbered in the order in which the text names them, not by their ids.
std::string print_graph(const Graph& graph, const GraphTextOptions& options = {});

/// Finds the contents of a constant that was printed as a digest.
using ConstantResolver = std::function<Result<Constant>(const TensorType&, std::uint64_t digest)>;

/// Errors name the line.
Result<Graph> parse_graph(std::string_view text, const ConstantResolver& resolver = nullptr);

/// Inverse of text(const TensorType&).
Result<TensorType> parse_tensor_type(std::string_view text);

}  // namespace lemma
