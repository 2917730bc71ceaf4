// Operators on elements written out by hand: tests/operators/examples/NAME.graph has an operator NAME, and outputs in pairs, a
// result and what is expected of it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "interpreter/compare.h"
#include "interpreter/run.h"
#include "ir/graph_text.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> example_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(LEMMA_OPERATOR_EXAMPLES))
    if (entry.path().extension() == ".graph") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class OperatorExamples : public ::testing::TestWithParam<fs::path> {};

TEST_P(OperatorExamples, give_what_is_expected) {
  const auto graph = parse_graph(text_of(GetParam()));
  ASSERT_TRUE(graph) << GetParam() << ": " << graph.error().message;
  const std::vector<NodeId> nodes = graph->live_nodes();
  EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(),
                          [&](NodeId id) {
                            const Node& node = graph->node(id);
                            return node.kind == NodeKind::operation &&
                                   graph->op(node).name == GetParam().stem().string();
                          }))
      << GetParam() << " does not apply the operator that it is named after";
  const auto values = interpreter::run(*graph, {});
  ASSERT_TRUE(values) << GetParam() << ": " << values.error().message;
  ASSERT_FALSE(values->empty());
  ASSERT_EQ(values->size() % 2, 0U) << "outputs are pairs of a result and what is expected";
  const interpreter::Tolerance tolerance{.absolute = 1e-6, .relative = 1e-5};
  for (std::size_t i = 0; i < values->size(); i += 2) {
    const auto comparison = interpreter::compare((*values)[i], (*values)[i + 1], tolerance);
    EXPECT_TRUE(comparison.equal) << GetParam() << ": output " << i << ": "
                                  << comparison.description;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, OperatorExamples, ::testing::ValuesIn(example_files()),
                         [](const auto& given) { return given.param.stem().string(); });

}  // namespace
}  // namespace lemma
