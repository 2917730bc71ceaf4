#include "cli/operator_targets.h"

#include "backend_cuda/execute/program_times.h"
#include "backend_cuda/libraries/library_operators.h"

namespace lemma {

namespace {

using SharedBuilder = std::shared_ptr<const backend::ProgramBuilder>;

/// Null, with the reason, if there is no compiler.
SharedBuilder builder_in(const Result<std::filesystem::path>& folder, double seconds,
                         std::string& why_not) {
  auto builder = folder ? backend::ProgramBuilder::create(*folder, seconds)
                        : Result<backend::ProgramBuilder>(tl::unexpected(folder.error()));
  if (builder) return std::make_shared<const backend::ProgramBuilder>(std::move(*builder));
  why_not = builder.error().message;
  return nullptr;
}

OperatorTarget task_programs(Target target, int threads,
                             const std::function<bool()>& is_interrupted,
                             const std::filesystem::path& model_programs, double seconds) {
  std::string why_not;
  const SharedBuilder builder = builder_in(backend::default_cache_folder(), seconds, why_not);
  const SharedBuilder models = model_programs.empty() || builder == nullptr
                                   ? builder
                                   : builder_in(model_programs, seconds, why_not);
  OperatorTarget result;
  result.target = std::move(target);
  result.operators = std::make_unique<backend::TaskProgramOperators>(builder, threads, why_not);
  result.models = std::make_unique<backend::TaskProgramModels>(models, threads, is_interrupted);
  return result;
}

/// Beside the data folder, in a build folder and once installed.
std::filesystem::path cuda_module() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "lib" / "lemma" / "lemma_cuda.so";
}

}  // namespace

Result<OperatorTarget> operator_target(std::string_view name, int threads,
                                       const std::function<bool()>& is_interrupted,
                                       const std::filesystem::path& model_programs,
                                       double seconds_for_version) {
  LEMMA_ASSIGN_OR_RETURN(const auto file, device_file(std::string(name), "--target"));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(file));
  if (name == rtask_cuda_target) {
    OperatorTarget result;
    result.target = roofline_target(std::move(device));
    result.operators = std::make_unique<backend::LibraryOperators>(cuda_module());
    return result;
  }
  return task_programs(roofline_target(std::move(device)), threads, is_interrupted, model_programs,
                       seconds_for_version);
}

}  // namespace lemma
