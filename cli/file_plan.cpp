#include "cli/file_plan.h"

#include "frontend_onnx/copy.h"
#include "targets/target.h"

namespace lemma {

void read_model(FilePlan& plan, const std::filesystem::path& model, const std::string& role) {
  if (model.empty()) return;
  for (const std::filesystem::path& file : model_files(model)) {
    plan.reads(file, file == model ? role : "the data of " + role);
    limit_permissions_to(file);
  }
}

Result<void> check_files(FilePlan plan, const std::vector<OptimizeRequest>& requests,
                         const std::string& sent_to) {
  for (const OptimizeRequest& request : requests) read_model(plan, request.model);
  const OptimizeRequest& first = requests.front();
  plan.reads(first.device_file, "--device");
  plan.reads_below(first.rules_directory, "--rules");
  plan.writes(first.options.explanation, "--explain");
  plan.fills(first.options.trace, "--trace");
  for (const OptimizeRequest& request : requests) {
    plan.writes(sent_to.empty() ? request.output : sent_to, "the output");
    if (const Target* target = find_target(request.target))
      plan.fills(target->program_beside(request.output), "the task program");
  }
  return plan.check();
}

}  // namespace lemma
