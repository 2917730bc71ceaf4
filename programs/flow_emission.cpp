#include "programs/flow_emission.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "backend/execute/prepared_graph.h"
#include "backend/flow/make_flow_program.h"
#include "backend/prove/check_flow.h"
#include "frontend_onnx/import.h"
#include "pipeline/taken_branches.h"
#include "programs/flow_model.h"

namespace lemma {

Result<OnnxModel> read_program_model(const std::string& file,
                                     const std::map<std::string, Shape, std::less<>>& shapes,
                                     bool trusts_declarations) {
  ImportOptions reading;
  reading.fix_overridable_initializers = true;
  reading.writes_out_recurrences = true;
  reading.trusts_declarations = trusts_declarations;
  reading.shapes = shapes;
  LEMMA_ASSIGN_OR_RETURN(OnnxModel read, import_model(file, reading));
  return with_taken_branches(std::move(read), std::filesystem::path(file).parent_path(), reading,
                             {});
}

Result<backend::FlowProgram> compile_flow(const OnnxModel& model,
                                          const backend::CompileOptions& options,
                                          std::int64_t most_rows) {
  LEMMA_ASSIGN_OR_RETURN(FlowModel flow, flow_model(model, most_rows));
  std::vector<Graph> graphs;
  for (const Graph& segment : flow.segments) {
    LEMMA_ASSIGN_OR_RETURN(graphs.emplace_back(), backend::program_graph(segment));
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<backend::TaskProgram> segments,
                         backend::compile_sizes(graphs, options));
  backend::FlowProgram program =
      backend::make_flow_program(std::move(flow.blocks), std::move(segments));
  LEMMA_RETURN_IF_ERROR(backend::check_flow(program));
  return program;
}

}  // namespace lemma
