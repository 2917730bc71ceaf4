#include "pipeline/declared_sizes.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "pipeline/staged_model.h"

namespace lemma {

namespace {

/// Why the second model cannot be loaded, if the first one can.
std::string refusal_to_load(OnnxRuntimeWorker& worker, const std::filesystem::path& original,
                            const std::filesystem::path& changed, double seconds) {
  const auto answer = worker.ask({{"action", "load"},
                                  {"models",
                                   {std::filesystem::absolute(original).string(),
                                    std::filesystem::absolute(changed).string()}},
                                  {"threads", 1}},
                                 seconds);
  if (!answer || !answer->contains("failures")) return "";
  const auto failures = (*answer)["failures"].get<std::vector<std::string>>();
  return failures.size() == 2 && failures[0].empty() ? failures[1] : "";
}

}  // namespace

std::string objection_to_sizes(OnnxRuntimeWorker* worker, const OnnxModel& sized,
                               const std::filesystem::path& file,
                               const std::filesystem::path& output, const OptimizeOptions& options,
                               const Deadline& deadline) {
  if (worker == nullptr || options.reading.shapes.empty()) return "";
  const auto staged = StagedModel::write(sized, output, options.writing);
  if (!staged) return "";
  return refusal_to_load(*worker, file, staged->file(), 0.3 * deadline.remaining());
}

OptimizeOptions with_open_sizes(OptimizeOptions options) {
  for (auto& [name, shape] : options.reading.shapes)
    if (std::all_of(shape.begin(), shape.end(),
                    [](const Dimension& size) { return size.constant().has_value(); }))
      options.sample_shapes.try_emplace(name, std::move(shape));
  options.reading.shapes.clear();
  return options;
}

}  // namespace lemma
