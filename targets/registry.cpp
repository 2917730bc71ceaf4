#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <utility>

#include "targets/target.h"

namespace lemma {

namespace {

std::vector<std::unique_ptr<Target>>& registered() {
  static std::vector<std::unique_ptr<Target>> targets;
  return targets;
}

}  // namespace

void add_target(std::unique_ptr<Target> target) {
  assert(find_target(target->name()) == nullptr);
  registered().push_back(std::move(target));
}

std::vector<const Target*> all_targets() {
  std::vector<const Target*> targets;
  for (const auto& target : registered()) targets.push_back(target.get());
  return targets;
}

const Target* find_target(std::string_view name) {
  const auto place = std::find_if(registered().begin(), registered().end(),
                                  [name](const auto& target) { return target->name() == name; });
  return place == registered().end() ? nullptr : place->get();
}

std::vector<std::string> names_of_targets(const std::function<bool(const Target&)>& is_meant) {
  std::vector<std::string> names;
  for (const auto& target : registered())
    if (is_meant(*target)) names.push_back(target->name());
  return names;
}

std::optional<ProgramSource> find_source(std::string_view word) {
  if (word == "cpu") return ProgramSource::cpp;
  if (word == "cuda") return ProgramSource::cuda;
  if (word == "hip") return ProgramSource::hip;
  const Target* target = find_target(word);
  if (target == nullptr || target->source() == ProgramSource::none) return std::nullopt;
  return target->source();
}

std::vector<std::string> source_words() {
  std::vector<std::string> words =
      names_of_targets([](const Target& target) { return target.source() != ProgramSource::none; });
  words.insert(words.begin(), {"cpu", "cuda", "hip"});
  return words;
}

std::string default_target() {
  const char* chosen = std::getenv("LEMMA_TARGET");
  if (chosen != nullptr && *chosen != 0) return chosen;
  return registered().empty() ? "" : registered().front()->name();
}

}  // namespace lemma
