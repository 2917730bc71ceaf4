// In a program that has set a locale with a decimal comma and grouped digits, the library reads and writes the same
// bytes as in any other.

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <locale>
#include <string>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "backend/compile/compile.h"
#include "backend/emit/emit_program.h"
#include "check/compare_files.h"
#include "costmodel/device.h"
#include "egraph/exact/egraph_json.h"
#include "egraph/exact/extract.h"
#include "facts/value_facts.h"
#include "ir/graph_text.h"
#include "pipeline/optimize_model.h"
#include "rule_language/substitution.h"
#include "system/program.h"
#include "tests/frontend_onnx/models.h"

namespace lemma {
namespace {

/// Numbers as in "1.234,5".
class CommaNumbers : public std::numpunct<char> {
 protected:
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

constexpr const char* source = R"(comment_char %
escape_char /
LC_NUMERIC
decimal_point "<U002C>"
thousands_sep "<U002E>"
grouping 3;3
END LC_NUMERIC
LC_CTYPE
END LC_CTYPE
)";
constexpr const char* characters = R"(<code_set_name> ANSI_X3.4-1968
<comment_char> %
<escape_char> /
<mb_cur_min> 1
<mb_cur_max> 1
CHARMAP
<U0000>..<U007F> /x00 NULL
END CHARMAP
)";

/// Locales of C and C++ with a decimal comma, for as long as this lives.
class CommaLocale {
 public:
  /// `folder`: where the locale of C is made, by localedef (which needs no rights for that).
  explicit CommaLocale(const frontend::TemporaryFolder& folder)
      : before_(std::locale::global(std::locale(std::locale(), new CommaNumbers))) {
    frontend::write_file(folder / "comma.source", source);
    frontend::write_file(folder / "ascii.characters", characters);
    if (find_program("localedef").empty()) return;
    // It warns of the categories that are not defined.
    (void)run_program({{"localedef", "--no-archive", "-c", "-i", folder / "comma.source", "-f",
                        folder / "ascii.characters", folder / "comma"}},
                      [] { return false; });
    setenv("LOCPATH", folder.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    std::setlocale(LC_ALL, "comma");              // NOLINT(concurrency-mt-unsafe)
  }
  ~CommaLocale() {
    std::setlocale(LC_ALL, "C");  // NOLINT(concurrency-mt-unsafe)
    std::locale::global(before_);
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  static bool is_of_c() { return std::strtod("0,5", nullptr) == 0.5; }

 private:
  std::locale before_;
};

constexpr std::string_view model = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1200,64] x) => (float[1200,64] y, float[1200,64] z)
  <float[1] a = {0.125}, float[1] b = {-2.5e-3}> {
    l = LeakyRelu <alpha = 0.3> (x)
    h = HardSigmoid <alpha = 0.25, beta = 0.625> (l)
    n = Neg(h)
    m = Neg(n)
    c = Mul(m, a)
    y = Add(c, b)
    z = Celu <alpha = 1.5> (x)
  })";

std::string facts_text() {
  ValueFacts facts;
  facts.lower = -1234.5;
  facts.upper = 0.25;
  const std::string shown = text(facts);
  const auto read = parse_facts(shown);
  return read ? shown + " " + text(*read) : read.error().message;
}

/// The parser of ONNX's textual form follows the locale; it is for tests only.
const std::string& model_bytes() {
  static const std::string bytes = frontend::parse_text(std::string(model)).SerializeAsString();
  return bytes;
}

std::string optimized_text(const frontend::TemporaryFolder& folder) {
  frontend::write_file(folder / "model.onnx", model_bytes());
  const auto rules = load_rules("rules");
  auto device = load_device("targets/devices/cpu.json");
  if (!rules || !device) return "no data";
  const OperatorCosts costs(priced_by_roofline(std::move(*device)));
  OptimizeOptions options;
  options.explanation = folder / "explanation";
  options.threads = 1;
  const auto report =
      optimize_model(folder / "model.onnx", folder / "result.onnx", *rules, costs, options);
  if (!report) return report.error().message;
  return fmt::format("{} {} {}\n", name(report->status), report->before.operators,
                     report->after.operators) +
         frontend::read_file(folder / "explanation") + frontend::read_file(folder / "result.onnx");
}

std::string compared_text(const frontend::TemporaryFolder& folder) {
  FileComparisonRequest request = {
      folder / "model.onnx", folder / "result.onnx", {}, {}, Deadline::after(60), nullptr};
  const auto found = compare_files(request);
  return found ? fmt::format("{} {}", found->check.passed, found->check.samples)
               : found.error().message;
}

std::string graph_and_source_text() {
  auto imported = frontend::import_bytes(model_bytes());
  if (!imported) return imported.error().message;
  const std::string printed = print_graph(imported->graph);
  const auto parsed = parse_graph(printed);
  if (!parsed) return parsed.error().message;
  const auto program = backend::compile(*parsed, {});
  if (!program) return program.error().message;
  backend::ProgramNames names = {"model", "model"};
  names.allowances = {{{1e-6, 2.5e-7, 0.5, 12345}, {1e-6, 0.125, 0, 0}}};
  const auto files = backend::emit_program(std::span(&*program, 1), names);
  if (!files) return files.error().message;
  std::string all = printed + print_graph(*parsed);
  for (const auto& [name, contents] : *files) all += name + "\n" + contents;
  return all;
}

std::string rule_text() {
  const auto rules = parse_substitutions(
      "rule scaled\n  x : [A..]\n  LeakyRelu{alpha=0.25}(x) => LeakyRelu{alpha=0.25}(x)\n",
      "test.rules");
  if (!rules) return rules.error().message;
  std::string all;
  for (const Substitution& rule : *rules) all += text(rule);
  return all;
}

std::string extracted_text() {
  const auto document = exact::read_egraph_json(
      R"({"nodes": {"a": {"op": "f", "children": ["b", "c"], "eclass": "1", "cost": 1.25},
                    "b": {"op": "g", "children": [], "eclass": "2", "cost": 1234.5},
                    "d": {"op": "k", "children": ["c"], "eclass": "2", "cost": 0.75},
                    "c": {"op": "h", "children": [], "eclass": "3", "cost": 0.5}},
          "root_eclasses": ["1"]})");
  if (!document) return document.error().message;
  return exact::write_egraph_json(*document);
}

std::string all_of(const frontend::TemporaryFolder& folder) {
  std::string all = optimized_text(folder);
  for (const std::string& text : {compared_text(folder), facts_text(), graph_and_source_text(),
                                  rule_text(), extracted_text()})
    all += "\n" + text;
  return all;
}

TEST(Locale, NumbersAreReadAndWrittenAlike) {
  const frontend::TemporaryFolder folder, other;
  const std::string expected = all_of(folder);
  EXPECT_NE(expected.find("0.125"), std::string::npos);
  std::string found;
  bool is_of_c = false;
  {
    const CommaLocale locale(other);
    is_of_c = CommaLocale::is_of_c();
    found = all_of(folder);
  }
  EXPECT_EQ(found, expected);
  if (!is_of_c) GTEST_SKIP() << "localedef is not installed: only the locale of C++ was set";
}

}  // namespace
}  // namespace lemma
