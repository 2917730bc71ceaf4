#include "cli/version_text.h"

#include <fmt/format.h>

#include "base/version.h"
#include "check/compare_files.h"
#include "frontend_onnx/import.h"
#include "lemma_commit.h"
#include "report/printable.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

std::string runtime_text() {
  constexpr double seconds_to_start = 10;
  OnnxRuntimeWorker worker({python_program(), data_directory() / "onnxruntime_worker.py"});
  const auto found = worker.version(seconds_to_start);
  return found ? "ONNX Runtime " + *found : "no ONNX Runtime: " + found.error().message;
}

}  // namespace

std::string version_text() {
  std::string text = fmt::format("lemma {}\n", version());
  if (const std::string_view commit = built_from_commit; !commit.empty())
    text += fmt::format("commit {}\n", commit);
  text += fmt::format("ONNX operator sets {} to {}, IR versions to {}\n", oldest_operator_set,
                      newest_operator_set, newest_ir_version);
  return text + printable(runtime_text());
}

}  // namespace lemma
