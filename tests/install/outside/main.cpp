// Without arguments: the version. With PREFIX MODEL OUTPUT: optimizes a model as a program that uses the
// library does (docs/library.md).

#include <iostream>

#include "all_headers.h"

namespace {

int optimize(const std::filesystem::path& data, const char* model, const char* output) {
  const auto rules = lemma::load_rules(data / "rules");
  auto device = lemma::load_device(data / "devices" / "cpu.json");
  if (!rules || !device) return 1;
  const lemma::OperatorCosts costs(lemma::roofline_target(std::move(*device)));
  const auto report = lemma::optimize_model(model, output, *rules, costs, {});
  if (!report) {
    std::cerr << report.error().message << "\n";
    return 1;
  }
  std::cout << lemma::name(report->status) << " " << report->before.operators << " "
            << report->after.operators << " " << report->check.comparison.samples << "\n";
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count == 4)
    return optimize(std::filesystem::path(words[1]) / "share/lemma", words[2], words[3]);
  std::cout << "Lemma " << lemma::version() << "\n";
}
