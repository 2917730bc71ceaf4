#pragma once
// The stages of ranks as sources of task programs; equal ones are written once.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "backend/program.h"
#include "base/result.h"
#include "ir/graph.h"

namespace lemma::plans {

class StageSources {
 public:
  /// A task program, and which inputs of the stage it takes, in its order.
  struct Stage {
    backend::TaskProgram program;
    std::vector<std::size_t> inputs;
  };

  /// The number of a stage's program. An error (`unsupported`): an operator has none.
  Result<std::size_t> add(const Graph& graph);

  const std::vector<Stage>& all() const { return stages_; }
  static std::string name(std::size_t number);

  /// Writes a folder for each, and removes those that were written before under higher numbers.
  Result<void> write(const std::filesystem::path& directory) const;

 private:
  std::vector<Stage> stages_;
  std::map<std::string, std::size_t> numbers_;  // by digest of the sources
};

}  // namespace lemma::plans
