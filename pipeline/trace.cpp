#include "pipeline/trace.h"

#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "base/number_text.h"
#include "ir/graph_text.h"
#include "outputs/files.h"
#include "outputs/plan.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

/// "saturation round 1" becomes "saturation-round-1".
std::string file_name(int number, const std::string& step) {
  std::string name = fmt::format("{:02}-", number);
  for (const char letter : step) name += is_ascii_letter_or_digit(letter) ? letter : '-';
  return name + ".txt";
}

constexpr std::string_view first_words = "# lemma trace: ";

bool is_of_a_trace(const fs::path& file) {
  std::ifstream stream(file);
  std::string start(first_words.size(), ' ');
  return stream.read(start.data(), static_cast<std::streamsize>(start.size())) &&
         start == first_words;
}

}  // namespace

Trace::Trace(fs::path folder, const OperatorCosts& costs)
    : folder_(std::move(folder)), costs_(costs) {
  if (folder_.empty()) return;
  outcome_ = make_folder(folder_);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored))
    if (entry.is_regular_file(ignored) && is_of_a_trace(entry.path()))
      fs::remove(entry.path(), ignored);
}

void Trace::add(const std::string& step, const Graph& graph) {
  if (folder_.empty() || !outcome_) return;
  const GraphCost cost = cost_of(graph, costs_);
  outcome_ = write_file_atomically(
      free_path(folder_ / file_name(++count_, step), first_words),
      fmt::format("{}{}: {} operators, predicted cost {:.3f} us\n{}", first_words, step,
                  cost.operators, cost.seconds * 1e6, print_graph(graph)));
}

}  // namespace lemma
