#pragma once
// ONNX Runtime, asked through a Python program that lives as long as this object: comparing, timing and
// saving models. onnxruntime_worker.py has the requests and answers.

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "interpreter/run.h"
#include "ir/run_time_value.h"
#include "system/program.h"

namespace lemma {

/// How to start it.
struct OnnxRuntimeProgram {
  std::string python;            // a program's name or file
  std::filesystem::path script;  // onnxruntime_worker.py
};

/// One request at a time.
class OnnxRuntimeWorker {
 public:
  /// Returns at once: importing ONNX Runtime takes some tenths of a second, in which the caller can do
  /// something else.
  explicit OnnxRuntimeWorker(const OnnxRuntimeProgram& program);
  OnnxRuntimeWorker(const OnnxRuntimeWorker&) = delete;
  OnnxRuntimeWorker& operator=(const OnnxRuntimeWorker&) = delete;

  /// The version of ONNX Runtime. An error says why there is none, or why it was given up.
  Result<std::string> version(double time_limit_seconds);

  /// Whether it has answered, though it may have been given up since.
  bool was_available() const { return !version_.empty(); }

  /// An error: it is not there, or gave no answer in time, or none that can be read. After that it is not
  /// asked again, because a late answer would be taken for that of the next request.
  Result<nlohmann::json> ask(const nlohmann::json& request, double time_limit_seconds);

 private:
  Result<nlohmann::json> read_answer(double time_limit_seconds);
  Result<nlohmann::json> give_up(std::string why);

  std::optional<RunningProgram> program_;
  std::string version_, failure_;
};

/// The name that numpy has for an element type; nothing for types that it does not have.
std::optional<std::string_view> numpy_name(DataType type);
std::optional<DataType> type_of_numpy(std::string_view name);

struct NamedValue {
  std::string name;
  RunTimeValue value;
};
using NamedValues = std::vector<NamedValue>;
NamedValues values_of(std::span<const interpreter::NamedTensor> tensors);

/// Sets of inputs, as requests name them: elements of tensors of numbers are in the file. An error names an input whose
/// type numpy does not have.
Result<nlohmann::json> write_inputs(const std::vector<NamedValues>& sets,
                                    const std::filesystem::path& file);
Result<nlohmann::json> write_inputs(const std::vector<std::vector<interpreter::NamedTensor>>& sets,
                                    const std::filesystem::path& file);

}  // namespace lemma
