#pragma once
// The phases of stitched operators as device functions of their own, which equal phases share, and where a block keeps
// what phases hand to each other.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backend/blocks/attention.h"
#include "backend/blocks/phase_tiles.h"
#include "backend/emit/emit_nest.h"
#include "backend/emit/phase_parameters.h"
#include "backend/program.h"

namespace lemma::backend {

class CudaPhases {
 public:
  /// `limits`: of products in tiles.
  explicit CudaPhases(const ProductLimits& limits) : limits_(limits) {}

  struct Body {
    source::Statements statements = {};
    bool is_in_tiles = false;                 // as a whole: there are no slots
    std::uint64_t tile_bytes = 0;             // that phases take behind the slots
    std::vector<std::size_t> functions = {};  // numbers of the phases' functions
  };
  /// The body of an operator's kernel, where `arguments`, `threads`, `slots` and the bounds of the grid's axes are
  /// declared: calls of the phases, with barriers. `residents`: arguments that the block keeps; with any, there are no tiles.
  Result<Body> emit_body(const TaskOperator& op, const Kernel& kernel, std::vector<LoopBounds> grid,
                         const std::set<std::uint32_t>& residents);

  /// All functions, in the order in which they were first called.
  const std::string& text() const { return text_; }
  struct Function {
    std::string text;   // without its name
    std::string tiles;  // by name, or empty
  };
  const std::vector<Function>& functions() const { return functions_; }

 private:
  struct Place;  // of a phase
  Result<source::Call> call_of(const Place& place, const Phase& phase, Body& body);
  Result<Body> emit_attention_body(const TaskOperator& op, const Attention& attention,
                                   const std::vector<LoopBounds>& grid) const;
  static source::Statements tensors_in_memory(const Phase& phase, const Place& place);
  Result<source::Statements> loop_of(const Place& place, const Phase& phase,
                                     const std::vector<LoopBounds>& bounds,
                                     PhaseParameters& parameters, Body& body,
                                     std::string& tiles) const;

  ProductLimits limits_;
  std::map<std::string, std::size_t> numbers_;  // by text without the name
  std::vector<Function> functions_;
  std::string text_;
};

}  // namespace lemma::backend
