#pragma once
// Which models were compiled into the cache, so that a model that is compiled again is neither read nor planned again.

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "programs/compilation.h"

namespace lemma {

/// The place in the cache for what is known of one request. It is named by the contents of the model and of the files that it
/// refers to, by the request, by this program, and by the compiler and the processor.
class CompiledModel {
 public:
  /// Errors where the model cannot be read, or where there is no compiler.
  static Result<CompiledModel> of(const CompilationRequest& request,
                                  const std::filesystem::path& cache);

  /// What was kept, if all files that it names are as they were then.
  std::optional<Compilation> find() const;
  /// Keeps what was compiled, unless the model has changed meanwhile.
  Result<void> keep(const Compilation& compilation) const;

 private:
  CompiledModel() = default;
  std::filesystem::path model_, file_;
  std::string state_;  // of the model's files
};

}  // namespace lemma
