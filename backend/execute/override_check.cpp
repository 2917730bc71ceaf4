#include "backend/execute/override_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/compile/compile.h"
#include "base/sha256.h"
#include "interpreter/random.h"
#include "ir/specialize.h"

namespace lemma::backend {

namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

constexpr std::int64_t most_elements = 1 << 15;
constexpr std::size_t most_applications = 72;

std::string kernel_text(const FoundOverride& kernel) {
  return fmt::format("{}kernel of {} for {}",
                     kernel.origin.empty() ? "" : fmt::format("{}: ", kernel.origin),
                     kernel.kernel->op, kernel.kernel->target);
}

/// The first line.
std::string line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

// ---- Applications -------------------------------------------------------------------------------

/// One application with constant sizes, as a graph of its own.
struct Application {
  Graph graph;
  std::vector<TensorType> inputs;  // as the operator has them
  Attributes attributes;

  Instance instance() const { return {inputs, attributes, 1}; }
  std::string text(const FoundOverride& kernel) const {
    std::vector<std::string> types;
    for (const TensorType& type : inputs)
      types.push_back(type.data_type == DataType::undefined ? "-" : lemma::text(type));
    return fmt::format("{}({}){}", kernel.kernel->op, fmt::join(types, ", "),
                       lemma::text(attributes));
  }
};

Result<Graph> graph_of(OperatorId op, const OperatorInstance& instance) {
  Graph graph;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    operands.push_back(ValueId::none());
    if (instance.inputs[i].data_type == DataType::undefined) continue;
    LEMMA_ASSIGN_OR_RETURN(operands.back(),
                           graph.add_input(fmt::format("x{}", i), instance.inputs[i]));
  }
  LEMMA_ASSIGN_OR_RETURN(const NodeId node,
                         graph.add_operation(op, operands, instance.attributes, 1));
  LEMMA_RETURN_IF_ERROR(graph.add_output("y", graph.node(node).output()));
  return graph;
}

DimensionBindings bindings_of(const Graph& graph, std::size_t way) {
  std::map<std::string, int> symbols;
  for (const NodeId id : graph.inputs())
    for (const Dimension& size : *graph.type(graph.node(id).output()).shape)
      collect_symbols(size, symbols);
  constexpr std::array<std::int64_t, 6> different = {3, 2, 4, 7, 5, 6};
  constexpr std::array<std::int64_t, 4> same = {1, 0, 4, 17};
  DimensionBindings bindings;
  for (const auto& [symbol, count] : symbols)
    bindings.emplace(symbol, Dimension(way == 0 ? different[bindings.size() % different.size()]
                                                : same[way - 1]));
  return bindings;
}
constexpr std::size_t ways_to_bind = 5;

/// Of operands and result, if it may be tested.
std::optional<std::int64_t> elements_of(const Graph& graph) {
  std::int64_t elements = 0;
  const auto add = [&elements](const TensorType& type) {
    const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
    if (!sizes) return false;
    elements += interpreter::element_count(*sizes);
    return elements <= most_elements;
  };
  for (const NodeId id : graph.inputs())
    if (!add(graph.type(graph.node(id).output()))) return std::nullopt;
  if (!add(graph.type(graph.outputs().front().value))) return std::nullopt;
  return elements;
}

/// Applications of the kernel, each of which has something that few others have: types, a value of an attribute, ranks, and
/// how sizes were chosen.
class Applications {
 public:
  explicit Applications(const FoundOverride& kernel)
      : kernel_(kernel), op_(operator_named(kernel.kernel->op)) {}

  /// Whether the operator accepts the instance.
  bool add(const OperatorInstance& instance, bool always) {
    if (instance.output_count != 1) return false;
    const auto graph = graph_of(op_, instance);
    if (!graph) return false;
    for (std::size_t way = 0; way < ways_to_bind; ++way) {
      const DimensionBindings bindings = bindings_of(*graph, way);
      if (bindings.empty() && way > 0) break;
      const auto concrete = specialize(*graph, bindings);
      if (concrete) add(*concrete, way, always);
    }
    return true;
  }

  std::vector<Application> take() { return std::move(applications_); }

 private:
  void add(const Graph& graph, std::size_t way, bool always) {
    if (!elements_of(graph)) return;
    const ValueId value = graph.outputs().front().value;
    const Node& node = graph.node(graph.producer(value));
    if (node.kind != NodeKind::operation) return;
    Application application{graph, graph.input_types(node), node.attributes};
    const auto found =
        find_override(graph.op(node), kernel_.kernel->target, application.instance());
    if (!found || found->kernel != kernel_.kernel) return;
    if (!texts_.insert(application.text(kernel_)).second) return;
    if (!is_wanted(application, way) && !always) return;
    if (applications_.size() < most_applications || always)
      applications_.push_back(std::move(application));
  }

  /// How the sizes of an operand are those of the first one, counted from the last axis: broadcasting, above all.
  static void add_relation(const std::vector<TensorType>& inputs, std::size_t i,
                           std::vector<std::string>& features) {
    if (!inputs[0].shape || !inputs[i].shape) return;
    const Shape &first = *inputs[0].shape, &other = *inputs[i].shape;
    if (first.size() != other.size())
      features.push_back(
          fmt::format("{} has {} axes", i, first.size() < other.size() ? "more" : "fewer"));
    for (std::size_t axis = 1; axis <= std::min(first.size(), other.size()); ++axis) {
      const Dimension &a = first[first.size() - axis], &b = other[other.size() - axis];
      if (a == b) continue;
      features.push_back(fmt::format("{} has {} at {}", i,
                                     b.is(1)   ? "1"
                                     : a.is(1) ? "n"
                                               : "another size",
                                     axis == 1 ? "the last axis" : "another axis"));
    }
  }

  bool is_wanted(const Application& application, std::size_t way) {
    std::string types, ranks;
    for (const TensorType& type : application.inputs) {
      types += fmt::format(" {}", name(type.data_type));
      ranks += type.shape ? fmt::format(" {}", type.shape->size()) : " -";
    }
    std::vector<std::string> features = {"types" + types, "ranks" + ranks,
                                         fmt::format("sizes {}", way)};
    for (std::size_t i = 1; i < application.inputs.size(); ++i)
      add_relation(application.inputs, i, features);
    for (const auto& [attribute, value] : application.attributes)
      features.push_back(fmt::format("{}={}", attribute, lemma::text(value)));
    constexpr int most_of_each = 2;
    bool is_wanted = false;
    for (const std::string& feature : features)
      is_wanted = counts_[feature]++ < most_of_each || is_wanted;
    return is_wanted;
  }

  const FoundOverride& kernel_;
  OperatorId op_;
  std::vector<Application> applications_;
  std::set<std::string> texts_;
  std::map<std::string, int> counts_;
};

Result<std::vector<Application>> applications_of(const FoundOverride& kernel,
                                                 std::span<const OperatorInstance> more) {
  Applications applications(kernel);
  const OperatorRecord& op = record(operator_named(kernel.kernel->op));
  for (const OperatorInstance& instance : more) applications.add(instance, true);
  for (const OperatorExample& example : kernel.kernel->examples) {
    auto instance = read_example(op, example);
    if (!instance || !applications.add(*instance, true))
      return bad_input(fmt::format("{}: the example '{}' is no application of the operator{}",
                                   kernel_text(kernel), example.operands,
                                   instance ? "" : ": " + instance.error().message));
  }
  visit_instances(
      op, [&](const OperatorInstance& instance) { return applications.add(instance, false); });
  return applications.take();
}

// ---- Values --------------------------------------------------------------------------------------

struct Values {
  std::vector<NamedTensor> inputs;
  Tensor expected;
};

/// Elements of every so many places are such as are often forgotten.
Tensor with_special(const Tensor& tensor, std::uint64_t seed) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr std::array<double, 7> reals = {
      std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, -0.0, 3e4, -1e-6, 0};
  std::vector<double> elements = tensor.reals();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t word = interpreter::random_word(seed, 1, i);
    if (word % 5 == 0) elements[i] = reals[word / 5 % reals.size()];
  }
  return Tensor::from_reals(tensor.data_type(), tensor.sizes(), elements);
}

/// The greatest and the least integers of a type among others.
Tensor with_extreme(const Tensor& tensor, std::uint64_t seed) {
  std::vector<std::int64_t> elements = tensor.integers();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t word = interpreter::random_word(seed, 2, i);
    if (word % 5 == 0) elements[i] = word / 5 % 2 == 0 ? -1 : std::int64_t{1} << 62U;
  }
  return Tensor::from_integers(tensor.data_type(), tensor.sizes(), elements);
}

enum class Kind : std::uint8_t { plain, special, extreme };

std::vector<NamedTensor> inputs_of(const Graph& graph, const interpreter::RandomRange& range,
                                   Kind kind) {
  std::vector<NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.output());
    const std::uint64_t seed = 17 + inputs.size();
    Tensor tensor =
        interpreter::random_tensor(type.data_type, *constant_sizes(*type.shape), seed, 0, range);
    if (kind == Kind::special && is_real(type.data_type)) tensor = with_special(tensor, seed);
    if (kind == Kind::extreme && is_integer(type.data_type)) tensor = with_extreme(tensor, seed);
    inputs.push_back({graph.input_name(node), std::move(tensor)});
  }
  return inputs;
}

/// Values on which the application is defined, as the interpreter says; none where none are found.
Result<std::vector<Values>> values_of(const Application& application) {
  constexpr std::array<interpreter::RandomRange, 4> ranges = {
      {{-2, 2, -3, 3}, {-2, 2, 0, 3}, {0.25, 2, 1, 3}, {-2, 2, 0, 0}}};
  std::vector<Values> result;
  const bool has_integers = std::ranges::any_of(
      application.inputs, [](const TensorType& type) { return is_integer(type.data_type); });
  std::vector<Kind> kinds = {Kind::plain, Kind::special};
  if (has_integers) kinds.push_back(Kind::extreme);
  for (const Kind kind : kinds)
    for (const interpreter::RandomRange& range : ranges) {
      std::vector<NamedTensor> inputs = inputs_of(application.graph, range, kind);
      auto outputs = interpreter::run(application.graph, inputs);
      if (!outputs) continue;
      result.push_back({std::move(inputs), std::move(outputs->front())});
      break;
    }
  return result;
}

// ---- Runs ----------------------------------------------------------------------------------------

/// All applications are one program, in which each is twice: as one task and as many.
struct Checked {
  std::size_t kernel = 0;  // its number
  Application application;
  std::vector<Values> values;
};

std::string name_in(std::size_t number, const std::string& input) {
  return fmt::format("a{}_{}", number, input);
}

Result<Graph> joined_graph(std::span<const FoundOverride> kernels,
                           const std::vector<Checked>& all) {
  Graph graph;
  for (std::size_t number = 0; number < 2 * all.size(); ++number) {
    const Application& application = all[number / 2].application;
    const OperatorId op = operator_named(kernels[all[number / 2].kernel].kernel->op);
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < application.inputs.size(); ++i) {
      operands.push_back(ValueId::none());
      if (application.inputs[i].data_type == DataType::undefined) continue;
      LEMMA_ASSIGN_OR_RETURN(
          operands.back(),
          graph.add_input(name_in(number, fmt::format("x{}", i)), application.inputs[i]));
    }
    LEMMA_ASSIGN_OR_RETURN(const NodeId node,
                           graph.add_operation(op, operands, application.attributes, 1));
    LEMMA_RETURN_IF_ERROR(graph.add_output(name_in(number, "y"), graph.node(node).output()));
  }
  return graph;
}

/// Odd applications have as many tasks as there are cuts for.
Result<TaskProgram> program_of(const Graph& graph) {
  CompileOptions options;
  options.device.least_task_seconds = 0;
  options.stitching = StitchOptions::none();
  LEMMA_ASSIGN_OR_RETURN(std::vector<OperatorGraph> plans, task_operators(graph, options));
  OperatorGraph& operators = plans.back();
  std::map<BufferNumber, std::size_t> numbers;
  for (std::size_t i = 0; i < operators.outputs.size(); ++i) numbers[operators.outputs[i]] = i;
  std::vector<std::uint32_t> kernels;
  for (const TaskOperator& op : operators.operators) {
    const bool is_cut = numbers.at(op.results().front()) % 2 == 1;
    kernels.push_back(is_cut ? static_cast<std::uint32_t>(op.kernels.size() - 1) : 0);
  }
  return compile_in_order(std::move(operators), std::move(kernels));
}

/// "[2, 0]"
std::string place_text(std::size_t element, const interpreter::Sizes& sizes) {
  std::vector<std::size_t> indices(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    indices[axis] = element % static_cast<std::size_t>(sizes[axis]);
    element /= static_cast<std::size_t>(sizes[axis]);
  }
  return fmt::format("[{}]", fmt::join(indices, ", "));
}

/// What is wrong with the first element that differs by more than the tolerance; empty: nothing.
std::string difference(const Tensor& given, const Tensor& expected, double tolerance) {
  if (!is_real(expected.data_type())) {
    const auto a = given.integers(), b = expected.integers();
    for (std::size_t i = 0; i < b.size(); ++i)
      if (a[i] != b[i])
        return fmt::format("element {} is {}, and {} by the interpreter",
                           place_text(i, expected.sizes()), a[i], b[i]);
    return "";
  }
  const auto a = given.reals(), b = expected.reals();
  double greatest = 0;
  for (const double element : b)
    if (std::isfinite(element)) greatest = std::max(greatest, std::abs(element));
  for (std::size_t i = 0; i < b.size(); ++i) {
    const bool is_same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                         std::abs(a[i] - b[i]) <= tolerance * (std::abs(b[i]) + greatest);
    if (!is_same || std::isnan(a[i]) != std::isnan(b[i]))
      return fmt::format("element {} is {}, and {} by the interpreter",
                         place_text(i, expected.sizes()), a[i], b[i]);
  }
  return "";
}

/// The applications of a kernel that are compared.
Result<std::vector<Checked>> checked_of(const FoundOverride& kernel, std::size_t number,
                                        std::span<const OperatorInstance> more) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Application> applications, applications_of(kernel, more));
  const OperatorRecord& op = record(operator_named(kernel.kernel->op));
  std::vector<Checked> all;
  for (Application& application : applications) {
    const TensorType& result = application.graph.type(application.graph.outputs().front().value);
    const auto own = own_kernel_for(op, kernel.kernel->target, application.instance(),
                                    element_count(*result.shape).offset());
    if (!own) return tl::unexpected(own.error());
    LEMMA_ASSIGN_OR_RETURN(std::vector<Values> values, values_of(application));
    if (!values.empty()) all.push_back({number, std::move(application), std::move(values)});
  }
  if (all.empty())
    return bad_input(fmt::format(
        "{}: it applies to none of the instances that it is tested on; it needs examples",
        kernel_text(kernel)));
  return all;
}

/// The programs of checks are built as well, and are not checked in turn.
class Checking {
 public:
  Checking() : was_(std::exchange(is_on_, true)) {}
  ~Checking() { is_on_ = was_; }
  Checking(const Checking&) = delete;
  Checking& operator=(const Checking&) = delete;
  static bool is_on() { return is_on_; }

 private:
  static thread_local bool is_on_;
  bool was_;
};

thread_local bool Checking::is_on_ = false;

class Check {
 public:
  explicit Check(std::span<const FoundOverride> kernels)
      : kernels_(kernels), results_(kernels.size(), OverrideCheck{}) {}

  /// `more`: by kernel, applications beside the usual ones; or none.
  void add(std::size_t kernel, std::span<const OperatorInstance> more) {
    auto checked = checked_of(kernels_[kernel], kernel, more);
    if (!checked) {
      results_[kernel] = tl::unexpected(std::move(checked.error()));
      return;
    }
    results_[kernel]->applications = checked->size();
    std::ranges::move(*checked, std::back_inserter(all_));
  }

  std::vector<Result<OverrideCheck>> run(const ProgramBuilder& builder) {
    if (all_.empty()) return results_;
    if (auto done = build_and_run(builder); !done)
      for (Result<OverrideCheck>& result : results_)
        if (result) result = tl::unexpected(done.error());
    return std::move(results_);
  }

 private:
  Result<void> build_and_run(const ProgramBuilder& builder) {
    const Checking checking;
    LEMMA_ASSIGN_OR_RETURN(const Graph graph, joined_graph(kernels_, all_));
    LEMMA_ASSIGN_OR_RETURN(const TaskProgram program, program_of(graph));
    LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path folder, builder.write(program));
    if (auto built = builder.build(folder, [] { return false; }); !built)
      return bad_input(fmt::format("{}: its source does not compile: {}",
                                   kernel_text(kernels_[all_.front().kernel]),
                                   line_of(built.error().message)));
    LEMMA_ASSIGN_OR_RETURN(const BuiltProgram opened, BuiltProgram::open(folder));
    std::size_t rounds = 0;
    for (const Checked& checked : all_) rounds = std::max(rounds, checked.values.size());
    for (std::size_t round = 0; round < rounds; ++round)
      LEMMA_RETURN_IF_ERROR(compare(program, opened, round));
    return {};
  }

  static const Values& values(const Checked& checked, std::size_t round) {
    return checked.values[std::min(round, checked.values.size() - 1)];
  }

  Result<void> compare(const TaskProgram& program, const BuiltProgram& built, std::size_t round) {
    std::vector<NamedTensor> inputs;
    for (std::size_t number = 0; number < 2 * all_.size(); ++number)
      for (const NamedTensor& input : values(all_[number / 2], round).inputs)
        inputs.push_back({name_in(number, input.name), input.value});
    ProgramCall call(program, inputs_by_position(program, inputs));
    LEMMA_RETURN_IF_ERROR(built.run(call));
    for (std::size_t number = 0; number < 2 * all_.size(); ++number) {
      const Checked& checked = all_[number / 2];
      const FoundOverride& kernel = kernels_[checked.kernel];
      Result<OverrideCheck>& result = results_[checked.kernel];
      if (!result) continue;
      ++result->comparisons;
      const std::string wrong = difference(call.outputs()[number], values(checked, round).expected,
                                           kernel.kernel->tolerance);
      if (!wrong.empty())
        result = bad_input(fmt::format("{} is wrong: of {}, {}", kernel_text(kernel),
                                       checked.application.text(kernel), wrong));
    }
    return {};
  }

  std::span<const FoundOverride> kernels_;
  std::vector<Result<OverrideCheck>> results_;
  std::vector<Checked> all_;
};

}  // namespace

Result<OverrideCheck> check_override(const FoundOverride& kernel,
                                     std::span<const OperatorInstance> more,
                                     const ProgramBuilder& builder) {
  Check check(std::span(&kernel, 1));
  check.add(0, more);
  return check.run(builder).front();
}

std::vector<Result<OverrideCheck>> check_overrides(std::span<const FoundOverride> kernels,
                                                   const ProgramBuilder& builder) {
  Check check(kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) check.add(i, {});
  return check.run(builder);
}

namespace {

/// The applications of each kernel from outside, by what they are.
using OutsideApplications =
    std::map<const KernelOverride*,
             std::pair<FoundOverride, std::map<std::string, OperatorInstance>>>;

OutsideApplications outside_applications(std::span<const TaskProgram> programs) {
  OutsideApplications result;
  for (const TaskProgram& program : programs)
    for (const TaskOperator& op : program.graph.operators) {
      if (!op.own || op.own->from.origin.empty()) continue;
      auto& [found, applications] = result[op.own->from.kernel];
      found = op.own->from;
      applications.emplace(op.digest, OperatorInstance{op.own->inputs, op.own->attributes, 1});
    }
  return result;
}

}  // namespace

Result<void> check_outside_kernels(std::span<const TaskProgram> programs,
                                   const ProgramBuilder& builder) {
  static std::mutex mutex;
  static std::set<std::pair<const KernelOverride*, std::string>> found_right;
  if (Checking::is_on()) return {};
  const OutsideApplications all = outside_applications(programs);
  if (all.empty()) return {};
  const std::lock_guard lock(mutex);
  for (const auto& [kernel, of_kernel] : all) {
    std::vector<OperatorInstance> open;
    for (const auto& [digest, instance] : of_kernel.second)
      if (!found_right.contains({kernel, digest})) open.push_back(instance);
    if (open.empty()) continue;
    const auto checked = check_override(of_kernel.first, open, builder);
    if (!checked) return tl::unexpected(checked.error());
    for (const auto& [digest, instance] : of_kernel.second) found_right.emplace(kernel, digest);
  }
  return {};
}

Result<void> check_outside_kernels(std::span<const TaskProgram> programs) {
  if (outside_applications(programs).empty()) return {};
  LEMMA_ASSIGN_OR_RETURN(const std::filesystem::path cache, default_cache_folder());
  auto builder = ProgramBuilder::create(cache);
  if (!builder)
    return with_context("kernels from outside are tested before they are emitted",
                        std::move(builder.error()));
  return check_outside_kernels(programs, *builder);
}

std::string outside_kernels_digest() {
  constexpr std::size_t digest_length = 12;
  std::string all;
  for (const FoundOverride& found : all_overrides()) {
    if (found.origin.empty()) continue;
    std::ifstream file(std::filesystem::path(found.origin), std::ios::binary);
    const std::string contents{std::istreambuf_iterator<char>(file), {}};
    all += fmt::format("{} {} {}\n", found.kernel->op, found.kernel->target,
                       sha256(contents.empty() ? std::string(found.origin) : contents));
  }
  return all.empty() ? "" : sha256(all).substr(0, digest_length);
}

}  // namespace lemma::backend
