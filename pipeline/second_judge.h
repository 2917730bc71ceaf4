#pragma once
// ONNX Runtime as a second judge of a result, so that a fault of our own interpreter shows. It is
// asked through a Python program, second_judge.py, which is started early: importing ONNX Runtime
// takes some tenths of a second.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "interpreter/run.h"
#include "search/sampled_check.h"
#include "system/program.h"

namespace lemma {

struct JudgeRequest {
  std::filesystem::path original, result;
  std::vector<std::vector<interpreter::NamedTensor>> sets;  // of inputs
  SampledTolerance tolerance;
  int threads = 0;
  /// For the contents of the inputs; it exists, and what is put there is removed again.
  std::filesystem::path scratch_folder;
  double time_limit_seconds = 10;
};

enum class JudgeVerdict { not_available, too_late, agrees, differs };
std::string_view name(JudgeVerdict verdict);

struct JudgeAnswer {
  JudgeVerdict verdict = JudgeVerdict::not_available;
  std::string message;  // why it is not available, or what differs
  int sets = 0;
  double max_error = 0;
};

/// How to start it.
struct SecondJudgeProgram {
  std::string python;            // a program's name or file
  std::filesystem::path script;  // second_judge.py
};

class SecondJudge {
 public:
  /// Returns at once.
  explicit SecondJudge(const SecondJudgeProgram& program);
  SecondJudge(const SecondJudge&) = delete;
  SecondJudge& operator=(const SecondJudge&) = delete;

  JudgeAnswer ask(const JudgeRequest& request);

 private:
  std::optional<RunningProgram> judge_;
  bool greeted_ = false;
};

}  // namespace lemma
