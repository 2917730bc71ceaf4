#include "egraph/exact/egraph_json.h"

#include <gtest/gtest.h>

#include "egraph/exact/extract.h"

namespace lemma::exact {
namespace {

std::string with_node(const std::string& fields) {
  return R"({"nodes": {"n": {"op": "f", "children": [], "eclass": "c", )" + fields +
         R"(}}, "root_eclasses": ["c"]})";
}

void expect_refused(const std::string& text, const std::string& words) {
  const auto result = read_egraph_json(text);
  ASSERT_FALSE(result.has_value()) << text;
  EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
  EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
}

TEST(EGraphJson, Reads) {
  const auto document = read_egraph_json(R"({
    "version": [1, {"deep": []}],
    "nodes": {
      "n1": {"op": "+", "children": ["n2", "n3", "n2"], "eclass": "a", "cost": 1.5, "data": {"x": [1]}},
      "n2": {"op": "x", "children": [], "eclass": "b"},
      "n3": {"op": "y", "children": [], "eclass": "c", "cost": -2e-3},
      "n4": {"op": "z", "children": [], "eclass": "c", "cost": 0, "subsumed": true}
    },
    "root_eclasses": ["a", "gone"],
    "class_data": {"a": {"type": "i"}}
  })");
  ASSERT_TRUE(document.has_value()) << document.error().message;
  const Problem& problem = document->problem;
  EXPECT_EQ(problem.class_count, 3);
  EXPECT_EQ(problem.roots, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(document->absent_roots, (std::vector<std::string>{"gone"}));
  EXPECT_EQ(problem.nodes[0].children, (std::vector<std::uint32_t>{1, 2, 1}));
  EXPECT_EQ(document->scale.digits, 3);
  EXPECT_EQ(document->scale.text(problem.nodes[0].cost), "1.5");
  EXPECT_EQ(document->scale.text(problem.nodes[1].cost), "1");
  EXPECT_EQ(document->scale.text(problem.nodes[2].cost), "-0.002");
  const auto result = extract(problem);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(document->scale.text(result->selection.cost), "2.498");
}

TEST(EGraphJson, WritesWhatItReads) {
  const std::string text = R"({"nodes": {
    "\"q\"": {"op": "+", "children": ["n2", "n3"], "eclass": "a", "cost": 0.1},
    "n2": {"op": "x", "children": [], "eclass": "b", "cost": 12345678901234567.25},
    "n3": {"op": "y", "children": ["n2"], "eclass": "c", "cost": -3}},
    "root_eclasses": ["c", "a"]})";
  const auto first = read_egraph_json(text);
  ASSERT_TRUE(first.has_value());
  const auto second = read_egraph_json(write_egraph_json(*first));
  ASSERT_TRUE(second.has_value()) << second.error().message;
  EXPECT_EQ(first->node_names, second->node_names);
  EXPECT_EQ(first->class_names, second->class_names);
  EXPECT_EQ(first->problem.roots, second->problem.roots);
  EXPECT_EQ(write_egraph_json(*first), write_egraph_json(*second));
  EXPECT_EQ(second->scale.text(second->problem.nodes[1].cost), "12345678901234567.25");
}

TEST(EGraphJson, Refuses) {
  expect_refused("", "not JSON");
  expect_refused("{\"nodes\": {", "not JSON");
  expect_refused(std::string("\xff\xfe\x00garbage", 10), "not JSON");
  expect_refused("[]", "cannot be an array");
  expect_refused("3", "cannot be a number");
  expect_refused("{}", "nodes are missing");
  expect_refused(R"({"nodes": {}})", "root_eclasses are missing");
  expect_refused(R"({"nodes": {}, "root_eclasses": []})", "empty");
  expect_refused(R"({"nodes": [], "root_eclasses": []})", "nodes cannot be an array");
  expect_refused(R"({"nodes": {}, "root_eclasses": [1]})", "root_eclasses cannot be a number");
  expect_refused(R"({"nodes": {}, "root_eclasses": ["c"]})", "no class");
  expect_refused(R"({"nodes": {"n": 1}, "root_eclasses": ["c"]})", "a node cannot be a number");
  expect_refused(R"({"nodes": {"n": {"op": "f"}}, "root_eclasses": ["c"]})", "no eclass");
  expect_refused(R"({"nodes": {"n": {"op": "f", "eclass": "c", "children": ["m"]}},
                     "root_eclasses": ["c"]})",
                 "there is no node \"m\"");
  expect_refused(
      R"({"nodes": {"n": {"eclass": "c"}, "n": {"eclass": "c"}}, "root_eclasses": ["c"]})",
      "twice");
  expect_refused(with_node(R"("cost": "1")"), "cost cannot be text");
  expect_refused(with_node(R"("cost": null)"), "cost cannot be null");
  expect_refused(with_node(R"("cost": NaN)"), "not JSON");
  expect_refused(with_node(R"("cost": 1e40)"), "10^30");
  expect_refused(with_node(R"("cost": 1e999999999)"), "");
  expect_refused(with_node(R"("eclass": 4)"), "eclass cannot be a number");
}

TEST(EGraphJson, DeepNestingIsPassedOver) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_TRUE(read_egraph_json(with_node("\"data\": " + deep)).has_value());
}

TEST(Cost, DecimalsAreExact) {
  const auto shown = [](std::string_view text) {
    const auto scaled = scale_costs({parse_decimal(text).value()});
    return scaled->scale.text(scaled->costs[0]);
  };
  EXPECT_EQ(shown("0"), "0");
  EXPECT_EQ(shown("-0.0"), "0");
  EXPECT_EQ(shown("98.12107067189143"), "98.12107067189143");
  EXPECT_EQ(shown("-0.005"), "-0.005");
  EXPECT_EQ(shown("1.5e3"), "1500");
  EXPECT_EQ(shown("25E-4"), "0.0025");
  EXPECT_FALSE(parse_decimal("").has_value());
  EXPECT_FALSE(parse_decimal("1.2.3").has_value());
  EXPECT_FALSE(parse_decimal("1e").has_value());
  EXPECT_FALSE(parse_decimal("-").has_value());
}

TEST(Cost, RoundingIsSaid) {
  const auto scaled = scale_costs({*parse_decimal("1e20"), *parse_decimal("1e-30")});
  ASSERT_TRUE(scaled.has_value());
  EXPECT_EQ(scaled->scale.rounded, 1);
  EXPECT_TRUE(scaled->costs[1] == 0);
  const auto fits = scale_costs({*parse_decimal("1e10"), *parse_decimal("1e-20")});
  ASSERT_TRUE(fits.has_value());
  EXPECT_EQ(fits->scale.rounded, 0);
}

TEST(EGraphJson, AProhibitiveCostDoesNotSpoilTheOthers) {
  const auto document = read_egraph_json(R"({
    "nodes": {
      "r": {"op": "f", "children": ["a"], "eclass": "R", "cost": 0},
      "a": {"op": "f", "children": [], "eclass": "S", "cost": 3e-07},
      "b": {"op": "f", "children": [], "eclass": "S", "cost": 1e-07},
      "c": {"op": "f", "children": [], "eclass": "S", "cost": 9e+31}
    },
    "root_eclasses": ["R"]})");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->never_chosen, 1U);
  EXPECT_EQ(document->scale.rounded, 0U);
  EXPECT_EQ(document->scale.text(document->problem.nodes[2].cost), "0.0000001");
}

TEST(EGraphJson, AProhibitiveCostThatARootNeedsCounts) {
  const auto document = read_egraph_json(R"({
    "nodes": {
      "r": {"op": "f", "children": ["a"], "eclass": "R", "cost": 1e-07},
      "a": {"op": "f", "children": [], "eclass": "S", "cost": 9e+28}
    },
    "root_eclasses": ["R"]})");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ(document->never_chosen, 0U);
  EXPECT_EQ(document->scale.rounded, 1U);
}

}  // namespace
}  // namespace lemma::exact
