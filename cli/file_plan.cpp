#include "cli/file_plan.h"

#include <iostream>
#include <set>

#include <fmt/format.h>

#include "cli/error_line.h"
#include "frontend_onnx/copy.h"
#include "targets/target.h"

namespace lemma {

namespace fs = std::filesystem;

void read_model(FilePlan& plan, const std::filesystem::path& model, const std::string& role) {
  if (model.empty()) return;
  for (const std::filesystem::path& file : model_files(model)) {
    plan.reads(file, file == model ? role : "the data of " + role);
    limit_permissions_to(file);
  }
}

void choose_program_directories(const Target& target, std::vector<OptimizeRequest>& requests) {
  if (target.program_beside(requests.front().output).empty()) return;
  std::set<fs::path> wanted;  // by results of this call
  for (const OptimizeRequest& request : requests)
    wanted.insert({request.output, target.program_beside(request.output)});
  for (OptimizeRequest& request : requests) {
    const fs::path own = target.program_beside(request.output);
    const auto may_be_taken = [&](const fs::path& directory) {
      if (!target.check_program_directory(directory)) return false;
      if (directory == own) return own != fs::path(request.output);
      // It is another result's, also if that result is of an earlier call.
      const fs::path other =
          fs::path(directory).replace_extension(fs::path(request.output).extension());
      std::error_code error;
      return !wanted.contains(directory) && !fs::exists(fs::symlink_status(other, error));
    };
    request.task_program = free_path(own, may_be_taken).string();
    wanted.insert(request.task_program);
    if (request.task_program != own)
      std::cerr << printable(fmt::format("note: {} is there and is no task program of lemma's; the "
                                         "program of {} is {}",
                                         own.string(), request.output, request.task_program))
                << "\n";
  }
}

Result<void> check_files(FilePlan plan, const std::vector<OptimizeRequest>& requests,
                         const std::string& sent_to) {
  for (const OptimizeRequest& request : requests) read_model(plan, request.model);
  const OptimizeRequest& first = requests.front();
  plan.reads(first.device_file, "--device");
  for (const std::string& folder : first.rules_directories) plan.reads_below(folder, "--rules");
  for (const std::string& file : first.unproved) plan.reads(file, "--unproved");
  plan.writes(first.options.explanation, "--explain");
  plan.fills(first.options.trace, "--trace");
  for (const OptimizeRequest& request : requests) {
    plan.writes(sent_to.empty() ? request.output : sent_to, "the output");
    if (!request.task_program.empty()) plan.fills(request.task_program, "the task program");
  }
  return plan.check();
}

}  // namespace lemma
