#include "backend/execute/program_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "backend/execute/code_digest.h"
#include "backend/execute/override_check.h"
#include "backend/execute/prepared_graph.h"
#include "backend/execute/rounds.h"
#include "backend/execute/timing_lock.h"
#include "frontend_onnx/import.h"
#include "profiler/operator_measurement.h"
#include "profiler/single_operator.h"

namespace lemma::backend {

namespace {

namespace fs = std::filesystem;
using interpreter::NamedTensor;
using interpreter::Tensor;

constexpr double least_seconds = 1e-8;  // no operator takes less
constexpr double most_weight_bytes = 256e6;
constexpr double most_instances = 64;
constexpr double most_seconds_of_instances = 0.02;

/// What is built of a graph and what it is called with.
struct ProgramOfGraph {
  fs::path folder;
  std::shared_ptr<ProgramCall> call;
};

Result<ProgramOfGraph> program_of(const Graph& graph, std::span<const NamedTensor> inputs,
                                  const ProgramBuilder& builder, int threads,
                                  std::shared_ptr<const LoopSchedules> schedules) {
  CompileOptions options = compile_options(threads);
  options.schedules = std::move(schedules);
  LEMMA_ASSIGN_OR_RETURN(const TaskProgram program, compile(graph, options));
  ProgramOfGraph result;
  LEMMA_ASSIGN_OR_RETURN(result.folder, builder.write(program));
  std::vector<Tensor> ordered;
  for (const BufferNumber number : program.graph.inputs)
    for (const NamedTensor& tensor : inputs)
      if (tensor.name == program.graph.buffers[number].name) ordered.push_back(tensor.value);
  result.call = std::make_shared<ProgramCall>(program, ordered);
  return result;
}

/// One compiler for each program, at the same time. Empty folders are none.
std::vector<Result<void>> build_all(const ProgramBuilder& builder,
                                    const std::vector<fs::path>& folders,
                                    const std::function<bool()>& is_over) {
  std::vector<Result<void>> results(folders.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < folders.size(); ++i)
    if (!folders[i].empty())
      threads.emplace_back([&, i] { results[i] = builder.build(folders[i], is_over); });
  for (std::thread& thread : threads) thread.join();
  return results;
}

/// What is measured belongs to what emits code, to kernels from outside, and to the compiler.
std::string runtime_text(const ProgramBuilder& builder) {
  const std::string kernels = outside_kernels_digest();
  return fmt::format("{}{}{}, {}", task_program_runtime, code_digest,
                     kernels.empty() ? "" : " with kernels " + kernels, builder.identity());
}

}  // namespace

CompileOptions compile_options(int threads, const std::optional<VirtualDevice>& device) {
  CompileOptions options;
  options.device = device ? *device : cpu_device(thread_count(threads));
  options.chooses_units = !device;
  options.policy = place_by_best;
  options.tiles_windows = true;
  return options;
}

/// Instances of one program that run in turn.
class TaskProgramOperators::TimedProgram {
 public:
  explicit TimedProgram(ProgramOfGraph program) : program_(std::move(program)) {}

  /// The new instance has run.
  Result<void> add_instance() {
    LEMMA_ASSIGN_OR_RETURN(BuiltProgram instance, BuiltProgram::open(program_.folder));
    instances_.push_back(std::move(instance));
    return instances_.back().run(*program_.call);
  }

  Result<void> run() { return instances_[next_++ % instances_.size()].run(*program_.call); }

 private:
  ProgramOfGraph program_;
  std::vector<BuiltProgram> instances_;
  std::size_t next_ = 0;
};

TaskProgramOperators::TaskProgramOperators(std::shared_ptr<const ProgramBuilder> builder,
                                           int threads, std::string why_not,
                                           std::shared_ptr<const LoopSchedules> schedules)
    : builder_(std::move(builder)),
      threads_(threads),
      why_not_(std::move(why_not)),
      schedules_(std::move(schedules)) {}

TaskProgramOperators::~TaskProgramOperators() = default;

Result<RuntimeIdentity> TaskProgramOperators::identity() {
  if (!builder_) return unsupported(why_not_);
  return RuntimeIdentity{runtime_text(*builder_), processor_identity(),
                         static_cast<int>(thread_count(threads_))};
}

Result<TaskProgramOperators::TimedProgram*> TaskProgramOperators::empty_program(
    const std::function<bool()>& is_over) {
  if (empty_) return empty_.get();
  Graph graph;
  LEMMA_ASSIGN_OR_RETURN(const ValueId input,
                         graph.add_input("in", {DataType::f32, Shape{Dimension(1)}}));
  LEMMA_RETURN_IF_ERROR(graph.add_output("out", input));
  const std::vector<NamedTensor> inputs = {
      {"in", contents_for(tensor_of({DataType::f32, Shape{Dimension(1)}}, false))}};
  LEMMA_ASSIGN_OR_RETURN(ProgramOfGraph program,
                         program_of(graph, inputs, *builder_, threads_, nullptr));
  LEMMA_RETURN_IF_ERROR(builder_->build(program.folder, is_over));
  auto timed = std::make_unique<TimedProgram>(std::move(program));
  LEMMA_RETURN_IF_ERROR(timed->add_instance());
  empty_ = std::move(timed);
  return empty_.get();
}

Result<void> TaskProgramOperators::build_with_next(const CostKey& key, const fs::path& folder,
                                                   const std::function<bool()>& is_over) {
  std::error_code ignored;
  std::vector<fs::path> folders = {folder};
  auto next = std::find_if(expected_.begin(), expected_.end(),
                           [&](const CostKey& other) { return text(other) == text(key); });
  if (fs::exists(folder / "program.so", ignored)) return {};
  const std::size_t wanted = std::max(1U, std::thread::hardware_concurrency());
  while (next != expected_.end() && ++next != expected_.end() && folders.size() < wanted) {
    // What has no program is refused when its turn comes.
    const auto single = single_operator(*next);
    if (!single) continue;
    const auto program = program_of(single->graph, single->inputs, *builder_, threads_, schedules_);
    if (program && std::find(folders.begin(), folders.end(), program->folder) == folders.end())
      folders.push_back(program->folder);
  }
  return build_all(*builder_, folders, is_over).front();
}

Result<OperatorTime> TaskProgramOperators::time(const CostKey& key, WeightPlace weights,
                                                const MeasurementOptions& options) {
  const auto is_over = [&options] { return options.is_interrupted && options.is_interrupted(); };
  LEMMA_ASSIGN_OR_RETURN(TimedProgram* const empty, empty_program(is_over));
  LEMMA_ASSIGN_OR_RETURN(const SingleOperator single, single_operator(key));
  LEMMA_ASSIGN_OR_RETURN(ProgramOfGraph program,
                         program_of(single.graph, single.inputs, *builder_, threads_, schedules_));
  LEMMA_RETURN_IF_ERROR(build_with_next(key, program.folder, is_over));
  TimedProgram timed(std::move(program));
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_RETURN_IF_ERROR(timed.add_instance());
  const double once =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const RuntimeNode node = profiled_operator(key, weights);
  if (!node.weights.is_near()) {
    const double wanted =
        std::ceil(std::min(static_cast<double>(node.weights.among_bytes), most_weight_bytes) /
                  node.weight_bytes);
    const double affordable = std::max(4.0, most_seconds_of_instances / once);
    const double count = std::min({wanted, affordable, most_instances});
    for (int i = 1; i < static_cast<int>(count); ++i) LEMMA_RETURN_IF_ERROR(timed.add_instance());
  }
  RoundOptions rounds;
  rounds.one_thread = thread_count(threads_) == 1;
  const TimingLock alone(most_seconds_of_waiting);
  LEMMA_ASSIGN_OR_RETURN(
      const auto seconds,
      time_in_rounds({[empty] { return empty->run(); }, [&timed] { return timed.run(); }}, rounds));
  run_ = OperatorTime{median(seconds[0]), quartile_deviation(seconds[0]),
                      static_cast<int>(seconds[0].size())};
  std::vector<double> differences;
  for (std::size_t i = 0; i < seconds[1].size(); ++i)
    differences.push_back(seconds[1][i] - seconds[0][i]);
  return OperatorTime{std::max(least_seconds, median(differences)), quartile_deviation(differences),
                      static_cast<int>(differences.size())};
}

TaskProgramModels::TaskProgramModels(std::shared_ptr<const ProgramBuilder> builder, int threads,
                                     std::function<bool()> is_interrupted,
                                     std::shared_ptr<const LoopSchedules> schedules)
    : builder_(std::move(builder)),
      threads_(threads),
      is_interrupted_(std::move(is_interrupted)),
      schedules_(std::move(schedules)) {}

std::string TaskProgramModels::runtime() { return builder_ ? runtime_text(*builder_) : ""; }

/// Compilers take a second for the run time, and about this for each kernel.
double TaskProgramModels::seconds_to_prepare(std::int64_t operators) const {
  return 1 + 0.15 * static_cast<double>(operators);
}

namespace {

Result<ProgramOfGraph> program_of_model(const TimingRequest& request, std::size_t model,
                                        const ProgramBuilder& builder, int threads,
                                        const std::shared_ptr<const LoopSchedules>& schedules) {
  ImportOptions reading;
  reading.fix_overridable_initializers = true;
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel read, import_model(request.models[model], reading));
  const auto& inputs = request.inputs.size() == 1 ? request.inputs[0] : request.inputs[model];
  LEMMA_ASSIGN_OR_RETURN(const Graph graph, prepared_graph(read.graph, inputs));
  return program_of(graph, inputs, builder, threads, schedules);
}

/// Instances made anew, so that their places in memory differ, and rounds of all of them.
Result<void> time_session(const std::vector<ProgramOfGraph>& programs, const RoundOptions& rounds,
                          std::vector<ModelTiming>& timings) {
  std::vector<BuiltProgram> instances;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (!programs[i].call) continue;
    LEMMA_ASSIGN_OR_RETURN(BuiltProgram instance, BuiltProgram::open(programs[i].folder));
    instances.push_back(std::move(instance));
    numbers.push_back(i);
  }
  std::vector<std::function<Result<void>()>> runs;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    runs.emplace_back([&, i] { return instances[i].run(*programs[numbers[i]].call); });
  LEMMA_ASSIGN_OR_RETURN(const auto seconds, time_in_rounds(runs, rounds));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    timings[numbers[i]].seconds.insert(timings[numbers[i]].seconds.end(), seconds[i].begin(),
                                       seconds[i].end());
  return {};
}

}  // namespace

Result<std::vector<ModelTiming>> TaskProgramModels::time(const TimingRequest& request) {
  if (!builder_) return unsupported("there is no C++ compiler to build the program with; set CXX");
  const auto begin = std::chrono::steady_clock::now();
  const auto taken = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto is_over = [&] {
    return taken() > request.time_limit_seconds || (is_interrupted_ && is_interrupted_());
  };
  std::vector<ModelTiming> timings(request.models.size());
  std::vector<ProgramOfGraph> programs(request.models.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    auto program = program_of_model(request, i, *builder_, threads_, schedules_);
    if (program)
      programs[i] = std::move(*program);
    else
      timings[i].failure = program.error().message;
  }
  std::vector<fs::path> folders;
  for (const ProgramOfGraph& program : programs) folders.push_back(program.folder);
  const auto built = build_all(*builder_, folders, is_over);
  if (is_over()) return bad_input("there was no time to compile the programs");
  for (std::size_t i = 0; i < programs.size(); ++i) {
    if (built[i]) continue;
    timings[i].failure = built[i].error().message;
    programs[i].call = nullptr;
  }
  const TimingLock alone(std::min(request.seconds, request.time_limit_seconds - taken()));
  const double begin_of_rounds = taken();
  for (int session = 0; session < request.sessions; ++session) {
    RoundOptions rounds;
    rounds.rounds = (request.rounds + request.sessions - 1) / request.sessions;
    rounds.least_rounds = (request.least_rounds + request.sessions - 1) / request.sessions;
    rounds.block_seconds = request.block_seconds;
    rounds.one_thread = thread_count(threads_) == 1;
    const double left = request.seconds - (taken() - begin_of_rounds);
    rounds.seconds = std::max(0.0, left / (request.sessions - session));
    rounds.hard_limit_seconds = std::max(1e-3, request.time_limit_seconds - taken());
    LEMMA_RETURN_IF_ERROR(time_session(programs, rounds, timings));
  }
  return timings;
}

}  // namespace lemma::backend
