#include "cli/operator_targets.h"

#include "backend_cuda/execute/program_times.h"

namespace lemma {

namespace {

OperatorTarget task_programs(Target target, int threads,
                             const std::function<bool()>& is_interrupted) {
  const auto cache = backend::default_cache_folder();
  auto builder = cache ? backend::ProgramBuilder::create(*cache)
                       : Result<backend::ProgramBuilder>(tl::unexpected(cache.error()));
  std::shared_ptr<const backend::ProgramBuilder> shared;
  const std::string why_not = builder ? "" : builder.error().message;
  if (builder) shared = std::make_shared<const backend::ProgramBuilder>(std::move(*builder));
  OperatorTarget result;
  result.target = std::move(target);
  result.operators = std::make_unique<backend::TaskProgramOperators>(shared, threads, why_not);
  result.models = std::make_unique<backend::TaskProgramModels>(shared, threads, is_interrupted);
  return result;
}

}  // namespace

Result<OperatorTarget> operator_target(std::string_view name, int threads,
                                       const std::function<bool()>& is_interrupted) {
  LEMMA_ASSIGN_OR_RETURN(const auto file, device_file(std::string(name), "--target"));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(file));
  return task_programs(roofline_target(std::move(device)), threads, is_interrupted);
}

}  // namespace lemma
