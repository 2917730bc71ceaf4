#include "profiler/onnxruntime_worker.h"

#include <array>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::array<std::pair<DataType, std::string_view>, 12> numpy_types = {
    {{DataType::f32, "float32"},
     {DataType::f64, "float64"},
     {DataType::f16, "float16"},
     {DataType::i8, "int8"},
     {DataType::i16, "int16"},
     {DataType::i32, "int32"},
     {DataType::i64, "int64"},
     {DataType::u8, "uint8"},
     {DataType::u16, "uint16"},
     {DataType::u32, "uint32"},
     {DataType::u64, "uint64"},
     {DataType::boolean, "bool"}}};

}  // namespace

std::optional<std::string_view> numpy_name(DataType type) {
  for (const auto& [known, name] : numpy_types)
    if (known == type) return name;
  return std::nullopt;
}

std::optional<DataType> type_of_numpy(std::string_view name) {
  for (const auto& [type, known] : numpy_types)
    if (known == name) return type;
  return std::nullopt;
}

OnnxRuntimeWorker::OnnxRuntimeWorker(const OnnxRuntimeProgram& program)
    : failure_("there is no Python") {
  std::error_code ignored;
  if (!fs::exists(program.script, ignored)) {
    failure_ = program.script.string() + ": there is no such file";
    return;
  }
  auto started = RunningProgram::start({{program.python, program.script.string()}});
  if (started) program_ = std::move(*started);
}

Result<Json> OnnxRuntimeWorker::give_up(std::string why) {
  program_.reset();
  failure_ = std::move(why);
  return bad_input(failure_);
}

Result<Json> OnnxRuntimeWorker::read_answer(double time_limit_seconds) {
  const auto line = program_->read_line(time_limit_seconds);
  if (!line)
    return give_up(program_->is_output_closed()
                       ? "the Python program ended without an answer"
                       : fmt::format("no answer within {:.1f} s", time_limit_seconds));
  Json answer = Json::parse(*line, nullptr, false);
  if (!answer.is_object()) return give_up("its answer is malformed");
  return answer;
}

Result<std::string> OnnxRuntimeWorker::version(double time_limit_seconds) {
  if (!program_) return bad_input(failure_);
  if (!version_.empty()) return version_;
  LEMMA_ASSIGN_OR_RETURN(const Json greeting, read_answer(time_limit_seconds));
  if (!greeting.value("available", false))
    return give_up(greeting.value("message", "ONNX Runtime is not installed")).map([](const Json&) {
      return std::string();
    });
  version_ = greeting.value("version", "");
  return version_;
}

namespace {

bool is_utf8(const Json& text) {
  try {
    (void)text.dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

/// JSON holds Unicode, and names of files are any bytes: those that are no UTF-8 become {"bytes": "6d2e6f6e6e78ff"}.
Json without_loss(const Json& request) {
  if (request.is_string()) {
    if (is_utf8(request)) return request;
    std::string digits;
    for (const char byte : request.get_ref<const std::string&>())
      digits += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return {{"bytes", digits}};
  }
  Json result = request;
  if (request.is_structured())
    for (auto& [key, value] : result.items()) value = without_loss(value);
  return result;
}

}  // namespace

Result<Json> OnnxRuntimeWorker::ask(const Json& request, double time_limit_seconds) {
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_RETURN_IF_ERROR(version(time_limit_seconds));
  const double taken =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!program_->send(without_loss(request).dump() + "\n"))
    return give_up("the Python program ended");
  return read_answer(time_limit_seconds - taken);
}

NamedValues values_of(std::span<const interpreter::NamedTensor> tensors) {
  NamedValues values;
  for (const auto& [name, tensor] : tensors) values.push_back({name, tensor.constant()});
  return values;
}

namespace {

/// Describes values; the elements of tensors go to a file.
class InputWriter {
 public:
  explicit InputWriter(const fs::path& file) : data_(file, std::ios::binary) {}

  // NOLINTNEXTLINE(misc-no-recursion): values are nested as deeply as files can say.
  Result<Json> describe(const std::string& name, const RunTimeValue& value) {
    if (const Constant* tensor = value.tensor()) return describe_tensor(name, *tensor);
    if (const Strings* strings = value.strings())
      return Json{{"strings", strings->elements}, {"shape", strings->sizes}};
    if (value.is_nothing()) return Json{{"nothing", true}};
    Json elements = Json::array();
    for (const RunTimeValue& element : *value.sequence()) {
      LEMMA_ASSIGN_OR_RETURN(Json described, describe(name, element));
      elements.push_back(std::move(described));
    }
    return Json{{"sequence", std::move(elements)}};
  }

  bool finish() {
    data_.close();
    return static_cast<bool>(data_);
  }

 private:
  Result<Json> describe_tensor(const std::string& name, const Constant& tensor) {
    const auto type = numpy_name(tensor.type().data_type);
    if (!type)
      return bad_input(fmt::format("input '{}' has a type that numpy does not have", name));
    const Json described = {{"type", *type}, {"shape", sizes_of(tensor)}, {"offset", offset_}};
    const auto bytes = tensor.bytes();
    data_.write(reinterpret_cast<const char*>(bytes.data()),  // NOLINT: bytes as they are
                static_cast<std::streamsize>(bytes.size()));
    offset_ += static_cast<std::int64_t>(bytes.size());
    return described;
  }

  std::ofstream data_;
  std::int64_t offset_ = 0;
};

}  // namespace

Result<Json> write_inputs(const std::vector<NamedValues>& sets, const fs::path& file) {
  InputWriter writer(file);
  Json result = Json::array();
  for (const NamedValues& inputs : sets) {
    Json set = Json::array();
    for (const auto& [name, value] : inputs) {
      LEMMA_ASSIGN_OR_RETURN(Json described, writer.describe(name, value));
      described["name"] = name;
      set.push_back(std::move(described));
    }
    result.push_back(std::move(set));
  }
  if (!writer.finish()) return bad_input(file.string() + ": cannot be written");
  return result;
}

Result<Json> write_inputs(const std::vector<std::vector<interpreter::NamedTensor>>& sets,
                          const fs::path& file) {
  std::vector<NamedValues> values;
  values.reserve(sets.size());
  for (const auto& inputs : sets) values.push_back(values_of(inputs));
  return write_inputs(values, file);
}

}  // namespace lemma
