#include "tests/targets/toy_target.h"

#include <fmt/format.h>

#include "frontend_onnx/import.h"
#include "outputs/files.h"

namespace lemma::testing {

namespace {

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.live_nodes())
    if (graph.node(id).kind == NodeKind::operation)
      names.emplace_back(graph.op(graph.node(id)).name);
  return names;
}

class ToyModels : public ModelTimer {
 public:
  std::string runtime() override { return "toy 1"; }
  bool was_available() const override { return true; }
  double seconds_to_prepare(std::int64_t /*operators*/) const override { return 0; }
  Result<std::vector<ModelTiming>> time(const TimingRequest& request) override {
    std::vector<ModelTiming> timings;
    for (const std::filesystem::path& file : request.models) {
      LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, {}));
      const auto operators = static_cast<double>(operators_of(model.graph).size());
      timings.push_back(
          {std::vector<double>(static_cast<std::size_t>(request.rounds), 1e-3 * operators), ""});
    }
    return timings;
  }
};

class ToyTarget : public Target {
 public:
  std::string name() const override { return "toy"; }
  std::string summary() const override { return "a millisecond for each operator"; }
  bool runs_models() const override { return true; }
  Result<TargetTimers> timers(const TimerRequest& /*request*/) const override {
    return TargetTimers{nullptr, std::make_unique<ToyModels>()};
  }
  Result<void> admits(const Graph& graph, int /*threads*/) const override {
    for (const std::string& name : operators_of(graph))
      if (name == "Softmax") return unsupported("the toy has no Softmax");
    return {};
  }
  std::filesystem::path program_beside(const std::filesystem::path& model) const override {
    return std::filesystem::path(model).replace_extension(".toy");
  }
  Result<void> write_program(
      const std::filesystem::path& model, const std::filesystem::path& place, int /*threads*/,
      const std::function<void(const std::filesystem::path&)>& /*before*/) const override {
    LEMMA_ASSIGN_OR_RETURN(const OnnxModel read, import_model(model, {}));
    return write_file_atomically(place,
                                 fmt::format("{}\n", fmt::join(operators_of(read.graph), " ")));
  }
};

}  // namespace

std::unique_ptr<Target> toy_target() { return std::make_unique<ToyTarget>(); }

}  // namespace lemma::testing
