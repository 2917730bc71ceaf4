#include "programs/task_program_target.h"

#include <utility>

#include "backend/emit/emit_program.h"
#include "backend/execute/program_times.h"
#include "backend/execute/schedule_file.h"
#include "programs/emission.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using SharedBuilder = std::shared_ptr<const backend::ProgramBuilder>;

/// Null, with the reason, if there is no compiler.
SharedBuilder builder_in(const Result<fs::path>& folder, double seconds, std::string& why_not) {
  auto builder = folder ? backend::ProgramBuilder::create(*folder, seconds)
                        : Result<backend::ProgramBuilder>(tl::unexpected(folder.error()));
  if (builder) return std::make_shared<const backend::ProgramBuilder>(std::move(*builder));
  why_not = builder.error().message;
  return nullptr;
}

class TaskProgramTarget : public Target {
 public:
  std::string name() const override { return "rtask-cpu"; }
  std::string summary() const override {
    return "the same with task programs; the program of OUT.onnx is written to OUT.rtask/";
  }
  std::string measured_part() const override { return "operators as task programs, compiled here"; }
  std::optional<CostSource> measured_costs() const override {
    CostSource source;
    source.runtime = std::string(backend::task_program_runtime);
    source.by_default = true;
    return source;
  }
  bool runs_models() const override { return true; }

  Result<TargetTimers> timers(const TimerRequest& request) const override {
    std::string why_not;
    const double seconds = request.seconds_to_start;
    const SharedBuilder builder = builder_in(backend::default_cache_folder(), seconds, why_not);
    const SharedBuilder models = request.model_programs.empty() || builder == nullptr
                                     ? builder
                                     : builder_in(request.model_programs, seconds, why_not);
    LEMMA_ASSIGN_OR_RETURN(const auto schedules,
                           backend::load_schedules(request.database, request.threads));
    return TargetTimers{std::make_unique<backend::TaskProgramOperators>(builder, request.threads,
                                                                        why_not, schedules),
                        std::make_unique<backend::TaskProgramModels>(
                            models, request.threads, request.is_interrupted, schedules)};
  }
  Result<void> admits(const Graph& graph, int threads) const override {
    return check_emission(graph, threads);
  }

  ProgramSource source() const override { return ProgramSource::cpp; }
  fs::path program_beside(const fs::path& model) const override {
    return fs::path(model).replace_extension(".rtask");
  }
  Result<void> check_program_directory(const fs::path& directory) const override {
    return backend::check_program_directory(directory, true);
  }
  Result<void> write_program(
      const fs::path& model, const fs::path& directory, int threads,
      const std::function<void(const fs::path&)>& before_publishing) const override {
    EmissionRequest emission;
    emission.model = model.string();
    emission.directory = directory.string();
    emission.threads = threads;
    emission.replaces = true;
    emission.before_publishing = before_publishing;
    if (auto emitted = emit_model(emission); !emitted)
      return tl::unexpected(std::move(emitted.error()));
    return {};
  }
  std::string program_digest(const fs::path& directory) const override {
    return backend::written_digest(directory);
  }
};

}  // namespace

std::unique_ptr<Target> task_program_target() { return std::make_unique<TaskProgramTarget>(); }

}  // namespace lemma
