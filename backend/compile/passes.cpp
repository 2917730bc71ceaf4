#include "backend/compile/passes.h"

#include <utility>

#include "backend/fuse/fuse.h"
#include "backend/lower/computation_key.h"
#include "backend/lower/computation_text.h"
#include "backend/lower/join_products.h"
#include "backend/lower/own_computation.h"
#include "backend/lower/separate_algorithms.h"
#include "backend/lower/split_attention.h"
#include "backend/lower/split_reductions.h"
#include "backend/memory/plan_memory.h"
#include "backend/prove/check_program.h"
#include "backend/schedule/schedule.h"
#include "ir/expand.h"
#include "ir/graph_text.h"

namespace lemma::backend {

namespace {

bool always(const CompileOptions&) { return true; }

/// A pass that needs no options.
template <ComputationGraph (*pass)(ComputationGraph)>
Result<ComputationGraph> plain(ComputationGraph graph, const CompileOptions&, ReadBy) {
  return pass(std::move(graph));
}

constexpr GraphPass graph_list[] = {
    {"expand_composites", expand_but_kernels},
    {"join_products",
     [](const Graph& graph, std::string_view) -> Result<Graph> { return join_products(graph); }},
};

constexpr ComputationPass computation_list[] = {
    {"take_schedules",
     [](const CompileOptions& options) { return options.schedules && !options.schedules->empty(); },
     [](ComputationGraph graph, const CompileOptions& options,
        ReadBy by) -> Result<ComputationGraph> {
       if (by == ReadBy::lanes) return graph;
       return take_schedules(std::move(graph), *options.schedules);
     }},
    {"fold_factors",
     // Residues are exact, and have no inverse of a rounded number.
     [](const CompileOptions& options) { return options.domain == lowering::Domain::native; },
     [](ComputationGraph graph, const CompileOptions&, ReadBy by) -> Result<ComputationGraph> {
       if (by == ReadBy::lanes) return graph;
       return fold_factors(std::move(graph));
     }},
    {"separate_algorithms", always,
     [](ComputationGraph graph, const CompileOptions&, ReadBy by) -> Result<ComputationGraph> {
       // Kernels for GPUs go through all terms.
       if (by == ReadBy::lanes) return graph;
       return separate_algorithms(std::move(graph));
     }},
    {"split_by_stride", always,
     [](ComputationGraph graph, const CompileOptions&, ReadBy by) -> Result<ComputationGraph> {
       if (by == ReadBy::lanes) return graph;
       return split_by_stride(std::move(graph));
     }},
    {"store_padding", always,
     [](ComputationGraph graph, const CompileOptions&, ReadBy by) -> Result<ComputationGraph> {
       return store_padding(std::move(graph), by);
     }},
    {"pair_integers", always,
     [](ComputationGraph graph, const CompileOptions&, ReadBy by) -> Result<ComputationGraph> {
       if (by == ReadBy::lanes) return graph;
       return pair_integers(std::move(graph));
     }},
    {"narrow_whole_numbers",
     [](const CompileOptions& options) { return options.domain == lowering::Domain::native; },
     [](ComputationGraph graph, const CompileOptions&, ReadBy by) -> Result<ComputationGraph> {
       if (by == ReadBy::lanes) return graph;
       return narrow_whole_numbers(std::move(graph));
     }},
    {"tile_windows", [](const CompileOptions& options) { return options.tiles_windows; },
     [](ComputationGraph graph, const CompileOptions& options, ReadBy) {
       return tile_windows(std::move(graph), options.domain);
     }},
    {"store_windows", always, plain<store_windows>},
    {"widen_rows", always, plain<widen_rows>},
    {"fuse", [](const CompileOptions& options) { return options.fuses; },
     [](ComputationGraph graph, const CompileOptions&, ReadBy by) -> Result<ComputationGraph> {
       return fuse(std::move(graph), by == ReadBy::lanes ? FuseFor::lanes : FuseFor::vectors);
     }},
    {"split_attention", always,
     [](ComputationGraph graph, const CompileOptions& options, ReadBy) -> Result<ComputationGraph> {
       return split_attention(std::move(graph), options.device);
     }},
    {"split_reductions", always,
     [](ComputationGraph graph, const CompileOptions& options, ReadBy) -> Result<ComputationGraph> {
       return split_reductions(std::move(graph), options.device);
     }},
    {"turn_weights", always,
     [](ComputationGraph graph, const CompileOptions&, ReadBy by) -> Result<ComputationGraph> {
       return turn_weights(std::move(graph), by);
     }},
};

constexpr ProgramPass program_list[] = {
    {"plan_memory",
     [](TaskProgram& program) -> Result<void> {
       plan_memory(program);
       return {};
     }},
    {"share_counters",
     [](TaskProgram& program) -> Result<void> {
       share_counters(program);
       return {};
     }},
    {"check_program", [](TaskProgram& program) { return check_program(program); }},
};

}  // namespace

std::span<const GraphPass> graph_passes() { return graph_list; }
std::span<const ComputationPass> computation_passes() { return computation_list; }
std::span<const ProgramPass> program_passes() { return program_list; }

std::string_view kernels_of(const CompileOptions& options) {
  // Kernels are text for processors and numbers of C++: residues are none.
  const bool has_kernels = options.takes_own_kernels && !options.device.multiprocessor &&
                           !options.device.exchange && options.domain == lowering::Domain::native;
  return has_kernels ? "rtask-cpu" : "";
}

Result<ComputationGraph> lowered(const Graph& graph, const PassObserver& observer,
                                 std::string_view kernels_of) {
  Graph current = graph;
  for (const GraphPass& pass : graph_passes()) {
    LEMMA_ASSIGN_OR_RETURN(current, pass.run(current, kernels_of));
    if (observer) observer(pass.name, print_graph(current));
  }
  LEMMA_ASSIGN_OR_RETURN(ComputationGraph computations, lower_graph(current, kernels_of));
  if (observer) observer("lower_graph", text(computations));
  return computations;
}

Result<ComputationGraph> laid_out(ComputationGraph computations, const CompileOptions& options,
                                  ReadBy by) {
  HiddenComputations own;
  computations = own.hide(std::move(computations));
  for (const ComputationPass& pass : computation_passes()) {
    if (!pass.is_used(options)) continue;
    LEMMA_ASSIGN_OR_RETURN(computations, pass.run(std::move(computations), options, by));
    if (options.observer) options.observer(pass.name, text(computations));
  }
  return own.shown(std::move(computations));
}

Result<void> complete(TaskProgram& program, const PassObserver& observer) {
  for (const ProgramPass& pass : program_passes()) {
    LEMMA_RETURN_IF_ERROR(pass.run(program));
    if (observer) observer(pass.name, program_text(program));
  }
  return {};
}

}  // namespace lemma::backend
