// What reads as a graph is well formed, and prints as a text that reads back and prints the same.
//   build/fuzz/bin/graph_text_fuzz -max_total_time=60 tests/fuzz/graph_text

#include <cstdio>
#include <cstdlib>

#include "ir/check.h"
#include "ir/graph_text.h"

namespace {

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph = lemma::parse_graph(text);
  if (!graph) {
    require(!graph.error().message.empty(), "an error without words");
    require(graph.error().kind != lemma::ErrorKind::internal, graph.error().message);
    return 0;
  }
  const auto checked = lemma::check(*graph, lemma::Stage::imported);
  require(checked.has_value(), checked ? "" : checked.error().message);
  const lemma::GraphTextOptions options{.inline_constant_bytes = size, .dead_nodes = true};
  const std::string printed = lemma::print_graph(*graph, options);
  const auto again = lemma::parse_graph(printed);
  require(again.has_value(), again ? "" : again.error().message + "\n" + printed);
  require(lemma::print_graph(*again, options) == printed, printed);
  return 0;
}
