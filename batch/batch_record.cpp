#include "batch/batch_record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "facts/outside_operators.h"
#include "frontend_onnx/content_digest.h"
#include "outputs/output_target.h"
#include "targets/target.h"

namespace lemma {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view name_prefix = ".lemma-optimize-";
constexpr std::string_view job = "lemma optimize --out-dir 1";

std::string output_name(const OptimizeRequest& request) {
  return fs::path(request.output).filename().string();
}

std::vector<fs::path> journals_in(const fs::path& folder) {
  std::vector<fs::path> journals;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(name_prefix)) journals.push_back(entry.path());
  std::sort(journals.begin(), journals.end());
  return journals;
}

/// An entry as the journal has it. Names of files may be any bytes, and JSON has only UTF-8.
std::string entry_text(const std::string& output, const nlohmann::json& digests,
                       const std::string& answer) {
  return output + '\n' + digests.dump() + '\n' + answer;
}

struct Entry {
  std::string output, answer;
  nlohmann::json digests;
};

std::optional<Entry> parse_entry(const std::string& text) {
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  if (second == std::string::npos) return std::nullopt;
  nlohmann::json digests =
      nlohmann::json::parse(text.substr(first + 1, second - first - 1), nullptr, false);
  if (!digests.is_object()) return std::nullopt;
  return Entry{text.substr(0, first), text.substr(second + 1), std::move(digests)};
}

/// The digest of what was written for a model: the file, the files that it refers to, and its task
/// program.
std::string result_digest(const std::string& model, const std::string& program,
                          const OptimizeAnswer& answer) {
  if (model.empty() || answer.task_program.empty()) return model;
  return program.empty() ? "" : sha256(model + program);
}

/// The same of what is there now.
std::string digest_of_what_is_there(const std::string& model, const OptimizeRequest& request,
                                    const OptimizeAnswer& answer) {
  const Target* target = find_target(request.target);
  return result_digest(model, target == nullptr ? "" : target->program_digest(answer.task_program),
                       answer);
}

/// Removes the journal of a run that has ended, if it has no entries but for these outputs.
void remove_ended(const fs::path& file, const std::set<std::string>& outputs) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return;
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    const std::vector<std::string> entries = read_journal(file, job);
    if (std::all_of(entries.begin(), entries.end(), [&outputs](const std::string& text) {
          return outputs.contains(text.substr(0, text.find('\n')));
        }))
      unlink(file.c_str());
  }
  close(descriptor);
}

}  // namespace

BatchRecord::BatchRecord(fs::path folder, bool resumes) : folder_(std::move(folder)) {
  if (resumes)
    for (const fs::path& journal : journals_in(folder_))
      for (std::string& entry : read_journal(journal, job)) {
        std::string output = entry.substr(0, entry.find('\n'));
        entries_.emplace(std::move(output), std::move(entry));
      }
  // Between the making of the file and its lock another run may take it for one of a run that has ended.
  for (int attempt = 0; attempt < 10 && !journal_.is_open(); ++attempt) {
    std::string name = (folder_ / (std::string(name_prefix) + "XXXXXX")).string();
    const int descriptor = mkstemp(name.data());
    if (descriptor < 0) return;
    close(descriptor);
    auto opened = Journal::open(name, job);
    std::error_code ignored;
    if (!opened || !fs::exists(name, ignored)) continue;
    file_ = name;
    journal_ = std::move(*opened);
  }
}

const std::string& BatchRecord::digest_of_folder(const std::string& folder) {
  const auto [place, is_new] = digests_.try_emplace(folder);
  if (is_new) place->second = folder_digest(folder).value_or("");
  return place->second;
}

std::string BatchRecord::digest_of_folders(const std::vector<std::string>& folders) {
  if (folders.size() == 1) return digest_of_folder(folders[0]);
  std::string digests;
  for (const std::string& folder : folders) digests += digest_of_folder(folder) + "\n";
  return sha256(digests);
}

const std::string& BatchRecord::digest_of_file(const std::string& file) {
  const auto [place, is_new] = digests_.try_emplace(file);
  if (is_new) place->second = file_digest(file).value_or("");
  return place->second;
}

BatchRecord::Conditions BatchRecord::conditions_of(const OptimizeRequest& request) {
  // Files that are read count by what they hold, not by their paths.
  OptimizeRequest options = request;
  options.model = options.output = options.task_program = "";
  options.device_file = "";
  options.rules_directories.clear();
  options.unproved.clear();
  const auto [program, is_new] = digests_.try_emplace("/proc/self/exe");
  if (is_new) program->second = program_digest().value_or("");
  std::string rules = digest_of_folders(request.rules_directories);
  for (const std::string& file : request.unproved) rules = sha256(rules + digest_of_file(file));
  std::string device = digest_of_file(request.device_file);
  if (!request.options.costs.shipped.empty())
    device = sha256(device + digest_of_file(request.options.costs.shipped.string()));
  // What the program is with the operators that it has loaded.
  std::string whole_program = digests_.at("/proc/self/exe");
  for (const fs::path& library : loaded_operator_libraries())
    whole_program = sha256(whole_program + digest_of_file(library.string()));
  return {{"the device differs", std::move(device)},
          {"the options differ", sha256(to_json(options))},
          {"the program is another one", std::move(whole_program)},
          {"the rules have changed", std::move(rules)}};
}

std::optional<OptimizeAnswer> BatchRecord::answer_to(const OptimizeRequest& request,
                                                     std::string& why_not) {
  const auto [begin, end] = entries_.equal_range(output_name(request));
  if (begin == end) return std::nullopt;
  const Conditions conditions = conditions_of(request);
  const std::string model = model_digest(request.model).value_or("");
  const auto place = output_target(request.output);
  const std::string written =
      model_digest(place ? place->path : fs::path(request.output)).value_or("");
  for (auto candidate = begin; candidate != end; ++candidate) {
    const auto entry = parse_entry(candidate->second);
    auto answer = entry ? parse_answer(entry->answer) : internal_error("damaged");
    if (!answer) continue;
    why_not.clear();
    for (const auto& [difference, digest] : conditions)
      if (entry->digests.value(difference, "") != digest) why_not = difference;
    if (entry->digests.value("model", "") != model) why_not = "the model has changed";
    if (why_not.empty() &&
        entry->digests.value("result", "") != digest_of_what_is_there(written, request, *answer))
      why_not = "what was written has changed";
    if (!why_not.empty()) continue;
    answer->model = request.model;
    answer->output = request.output;
    return std::move(*answer);
  }
  return std::nullopt;
}

void BatchRecord::add(const OptimizeRequest& request, const OptimizeAnswer& answer) {
  const std::string result = result_digest(answer.output_digest, answer.program_digest, answer);
  if (!journal_.is_open() || answer.model_digest.empty() || result.empty()) return;
  nlohmann::json digests = {{"model", answer.model_digest}, {"result", result}};
  for (const auto& [difference, digest] : conditions_of(request)) digests[difference] = digest;
  (void)journal_.add(entry_text(output_name(request), digests, to_json(answer)));
}

void BatchRecord::finish(const std::vector<OptimizeRequest>& requests) {
  std::error_code ignored;
  if (journal_.is_open()) fs::remove(file_, ignored);
  std::set<std::string> outputs;
  for (const OptimizeRequest& request : requests) outputs.insert(output_name(request));
  for (const fs::path& journal : journals_in(folder_)) remove_ended(journal, outputs);
}

}  // namespace lemma
