#pragma once
// ONNX Runtime as a second judge of a result, so that a fault of our own interpreter shows. It is
// asked through a Python program, second_judge.py, which is started early: importing ONNX Runtime
// takes some tenths of a second.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "interpreter/run.h"
#include "search/sampled_check.h"

namespace lemma {

struct JudgeQuestion {
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

class SecondJudge {
 public:
  /// Returns at once. The Python of the checkout (.venv) is taken if there is one, else `python3`.
  SecondJudge();
  SecondJudge(const SecondJudge&) = delete;
  SecondJudge& operator=(const SecondJudge&) = delete;
  ~SecondJudge();

  JudgeAnswer ask(const JudgeQuestion& question);

 private:
  bool read_line(double seconds, std::string& line);
  void end();

  pid_t process_ = -1;
  int input_ = -1, output_ = -1;  // ours
  std::string pending_;
  bool greeted_ = false;
};

}  // namespace lemma
