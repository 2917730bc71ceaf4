#include "pipeline/second_judge.h"

#include <array>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "search/deadline.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// As numpy calls them; nothing for types that it does not have.
std::optional<std::string_view> numpy_name(DataType type) {
  switch (type) {
    case DataType::f32: return "float32";
    case DataType::f64: return "float64";
    case DataType::f16: return "float16";
    case DataType::i8: return "int8";
    case DataType::i16: return "int16";
    case DataType::i32: return "int32";
    case DataType::i64: return "int64";
    case DataType::u8: return "uint8";
    case DataType::u16: return "uint16";
    case DataType::u32: return "uint32";
    case DataType::u64: return "uint64";
    case DataType::boolean: return "bool";
    default: return std::nullopt;
  }
}

/// The elements of all inputs one after the other, and where they are.
std::optional<Json> write_inputs(const JudgeRequest& request, const fs::path& file) {
  std::ofstream data(file, std::ios::binary);
  std::int64_t offset = 0;
  Json sets = Json::array();
  for (const auto& inputs : request.sets) {
    Json set = Json::array();
    for (const auto& [name, tensor] : inputs) {
      const auto type = numpy_name(tensor.data_type());
      if (!type) return std::nullopt;
      set.push_back(
          {{"name", name}, {"type", *type}, {"shape", tensor.sizes()}, {"offset", offset}});
      const auto bytes = tensor.bytes();
      data.write(reinterpret_cast<const char*>(bytes.data()),  // NOLINT: bytes as they are
                 static_cast<std::streamsize>(bytes.size()));
      offset += static_cast<std::int64_t>(bytes.size());
    }
    sets.push_back(std::move(set));
  }
  data.close();
  if (!data) return std::nullopt;
  return sets;
}

}  // namespace

std::string_view name(JudgeVerdict verdict) {
  constexpr std::array<std::string_view, 4> names = {"not available", "too late", "agrees",
                                                     "differs"};
  return names[static_cast<std::size_t>(verdict)];
}

SecondJudge::SecondJudge(const SecondJudgeProgram& program) {
  std::error_code ignored;
  if (!fs::exists(program.script, ignored)) return;
  auto judge = RunningProgram::start({{program.python, program.script.string()}});
  if (judge) judge_ = std::move(*judge);
}

JudgeAnswer SecondJudge::ask(const JudgeRequest& request) {
  if (!judge_) return {JudgeVerdict::not_available, "there is no Python", 0, 0};
  if (request.sets.empty()) return {JudgeVerdict::not_available, "there are no inputs", 0, 0};
  const Deadline deadline = Deadline::after(request.time_limit_seconds);
  const auto no_answer = [&deadline] {
    return JudgeAnswer{deadline.passed() ? JudgeVerdict::too_late : JudgeVerdict::not_available,
                       "it gave no answer", 0, 0};
  };
  try {
    if (!greeted_) {
      const auto line = judge_->read_line(deadline.remaining());
      if (!line) return no_answer();
      const Json greeting = Json::parse(*line);
      if (!greeting.at("available").get<bool>()) {
        judge_.reset();
        return {JudgeVerdict::not_available, greeting.at("message").get<std::string>(), 0, 0};
      }
      greeted_ = true;
    }
    const fs::path data = request.scratch_folder / "inputs";
    const auto sets = write_inputs(request, data);
    if (!sets) return {JudgeVerdict::not_available, "an input has a type of its own", 0, 0};
    const Json asked = {{"original", request.original.string()},
                        {"result", request.result.string()},
                        {"data", data.string()},
                        {"threads", request.threads},
                        {"relative", request.tolerance.relative},
                        {"absolute", request.tolerance.absolute},
                        {"of_largest", request.tolerance.of_largest},
                        {"sets", *sets}};
    std::optional<std::string> line;
    if (judge_->send(asked.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"))
      line = judge_->read_line(deadline.remaining());
    std::error_code ignored;
    fs::remove(data, ignored);
    if (!line) {
      const JudgeAnswer answer = no_answer();
      judge_.reset();  // a late answer would be taken for that of the next request
      return answer;
    }
    const Json answer = Json::parse(*line);
    const std::string verdict = answer.at("verdict").get<std::string>();
    return {verdict == "agrees"    ? JudgeVerdict::agrees
            : verdict == "differs" ? JudgeVerdict::differs
                                   : JudgeVerdict::not_available,
            answer.at("message").get<std::string>(), answer.value("sets", 0),
            answer.value("max_error", 0.0)};
  } catch (const Json::exception& error) {
    judge_.reset();
    return {JudgeVerdict::not_available, std::string("its answer is malformed: ") + error.what(), 0,
            0};
  }
}

}  // namespace lemma
