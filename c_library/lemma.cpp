#include "c_library/lemma.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>

#include "base/version.h"
#include "batch/optimize_request.h"
#include "c_library/call_options.h"
#include "check/compare_files.h"
#include "costmodel/device.h"
#include "costmodel/roofline.h"
#include "engines/shipped_targets.h"
#include "outputs/files.h"
#include "outputs/scratch.h"
#include "pipeline/optimize_model.h"
#include "programs/compilation.h"
#include "programs/shape_option.h"
#include "report/comparison_report.h"
#include "report/compilation_report.h"
#include "report/optimize_report.h"
#include "report/rule_verdicts.h"
#include "rule_language/rule_database.h"
#include "search/optimize.h"
#include "targets/data_files.h"
#include "verifier/verify_database.h"

namespace lemma::c_library {

namespace {

namespace fs = std::filesystem;

lemma_code status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input: return LEMMA_BAD_INPUT;
    case ErrorKind::unsupported: return LEMMA_UNSUPPORTED;
    case ErrorKind::internal: return LEMMA_INTERNAL_ERROR;
  }
  return LEMMA_INTERNAL_ERROR;
}

/// The data beside this library: ../share/lemma, or as many levels up as the library folder has.
void find_data() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&lemma_version), &info) == 0) return;
  std::error_code error;
  fs::path folder = fs::canonical(info.dli_fname, error).parent_path();
  if (error) return;
  for (int level = 0; level < 4 && folder.has_relative_path(); ++level) {
    if (fs::is_directory(folder / "share" / "lemma", error))
      return use_data_directory(folder / "share" / "lemma");
    folder = folder.parent_path();
  }
}

void prepare() {
  static std::once_flag once;
  std::call_once(once, [] {
    find_data();
    add_shipped_targets();
  });
}

void give(const std::string& text, lemma_bytes* to) {
  if (to == nullptr) return;
  to->data = static_cast<unsigned char*>(std::malloc(text.size() + 1));
  if (to->data == nullptr) throw std::bad_alloc();
  std::memcpy(to->data, text.c_str(), text.size() + 1);
  to->size = text.size();
}

/// Runs `work`, which gives a status and fills outputs; what it throws or fails with goes to `error`.
template <typename Work>
lemma_code call(lemma_bytes* error, std::initializer_list<lemma_bytes*> outputs, Work work) {
  for (lemma_bytes* output : outputs)
    if (output != nullptr) *output = {nullptr, 0};
  if (error != nullptr) *error = {nullptr, 0};
  lemma_code status = LEMMA_INTERNAL_ERROR;
  std::string message;
  try {
    prepare();
    const Result<lemma_code> done = work();
    if (done) return *done;
    status = status_of(done.error().kind);
    message = done.error().message;
  } catch (const std::exception& fault) {
    message = fault.what();
  } catch (...) {
    message = "an unknown fault";
  }
  for (lemma_bytes* output : outputs) lemma_free(output);
  try {
    give(message, error);
  } catch (const std::exception&) {
  }
  return status;
}

/// A model of the caller's, as a file in a private folder.
class ModelFile {
 public:
  Result<void> write(const void* model, std::size_t size, const char* name) {
    if (model == nullptr || size == 0) return bad_input("the model is empty");
    LEMMA_RETURN_IF_ERROR(folder_.require());
    path_ = folder_.path() / name;
    return write_file_atomically(path_, std::string(static_cast<const char*>(model), size));
  }
  const fs::path& path() const { return path_; }

 private:
  TemporaryDirectory folder_;
  fs::path path_;
};

/// Without the path of a file that the caller has never seen.
template <typename T>
Result<T> of_caller(Result<T> result, const fs::path& file, std::string_view what) {
  if (result) return result;
  std::string& message = result.error().message;
  for (std::size_t at; (at = message.find(file.string())) != std::string::npos;)
    message.replace(at, file.string().size(), what);
  return result;
}

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// ---- Optimizing ---------------------------------------------------------------------------------

struct Optimization {
  OptimizeOptions options;
  RuleDatabase rules;
  fs::path device;
};

Result<Optimization> optimization_of(const char* given) {
  LEMMA_ASSIGN_OR_RETURN(
      const CallOptions options,
      CallOptions::parse(given, {"time_limit", "threads", "strategy", "rounding_class", "device",
                                 "rules", "unproved", "shapes"}));
  Optimization result;
  std::string strategy(name(Strategy::automatic)), rounding(name(RoundingClass::rounding)),
      device = "cpu", unproved;
  std::vector<std::string> folders = {std::string(shipped_rules)}, shapes;
  LEMMA_RETURN_IF_ERROR(options.take("time_limit", result.options.time_limit_seconds));
  LEMMA_RETURN_IF_ERROR(options.take("threads", result.options.threads));
  LEMMA_RETURN_IF_ERROR(options.take("strategy", strategy));
  LEMMA_RETURN_IF_ERROR(options.take("rounding_class", rounding));
  LEMMA_RETURN_IF_ERROR(options.take("device", device));
  LEMMA_RETURN_IF_ERROR(options.take("rules", folders));
  LEMMA_RETURN_IF_ERROR(options.take("unproved", unproved));
  LEMMA_RETURN_IF_ERROR(options.take("shapes", shapes));
  const auto known_strategy = strategy_named(strategy);
  if (!known_strategy) return bad_input("options: no strategy is named '" + strategy + "'");
  result.options.search.strategy = *known_strategy;
  const auto known_class = rounding_class_named(rounding);
  if (!known_class) return bad_input("options: " + unknown_rounding_class(rounding));
  result.options.rules.rounding_class = *known_class;
  LEMMA_ASSIGN_OR_RETURN(result.options.reading.shapes, parse_shape_options(shapes, "shapes"));
  LEMMA_ASSIGN_OR_RETURN(result.device, device_file(device, DevicePart::operators, "device"));
  std::vector<fs::path> directories;
  for (const std::string& folder : folders) directories.push_back(rules_folder(folder));
  LEMMA_ASSIGN_OR_RETURN(result.rules, load_rules(directories));
  if (!unproved.empty()) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> mine,
                           parse_substitutions(unproved, "unproved"));
    LEMMA_RETURN_IF_ERROR(
        result.rules.add(RuleDatabase::without_proof(std::move(mine)), "unproved"));
  }
  return result;
}

Result<lemma_code> optimize(const void* model, std::size_t size, const char* given,
                            lemma_bytes* result, lemma_bytes* report) {
  LEMMA_ASSIGN_OR_RETURN(Optimization optimization, optimization_of(given));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(optimization.device));
  ModelFile file;
  LEMMA_RETURN_IF_ERROR(file.write(model, size, "model.onnx"));
  OptimizeAnswer answer;
  const fs::path output = file.path().parent_path() / "result.onnx";
  answer.model = "model";
  answer.output = "result";
  optimization.options.writing.external_data = ExternalData::never;
  LEMMA_ASSIGN_OR_RETURN(
      answer.report, of_caller(optimize_model(file.path(), output, optimization.rules,
                                              OperatorCosts(priced_by_roofline(std::move(device))),
                                              optimization.options),
                               file.path(), "the model"));
  answer.status = name(answer.report.status);
  LEMMA_ASSIGN_OR_RETURN(const std::string written, read_text_file(output));
  give(written, result);
  give(report_json({answer}), report);
  if (answer.report.status == OptimizeStatus::mismatch) return LEMMA_CHECK_FAILED;
  return answer.report.search.unproved.empty() ? LEMMA_OK : LEMMA_UNPROVED;
}

// ---- Comparing, compiling, proving --------------------------------------------------------------

Result<lemma_code> compare(const ModelFile& original, const ModelFile& other, const char* given,
                           lemma_bytes* report) {
  LEMMA_ASSIGN_OR_RETURN(
      const CallOptions options,
      CallOptions::parse(given, {"time_limit", "threads", "samples", "seed", "shapes"}));
  double seconds = 60;
  SampledCheckOptions check;
  std::vector<std::string> shapes;
  LEMMA_RETURN_IF_ERROR(options.take("time_limit", seconds));
  LEMMA_RETURN_IF_ERROR(options.take("threads", check.threads));
  LEMMA_RETURN_IF_ERROR(options.take("samples", check.samples));
  LEMMA_RETURN_IF_ERROR(options.take("seed", check.seed));
  LEMMA_RETURN_IF_ERROR(options.take("shapes", shapes));
  FileComparisonRequest request = {original.path(),          other.path(), {}, std::move(check),
                                   Deadline::after(seconds), nullptr};
  LEMMA_ASSIGN_OR_RETURN(request.reading.shapes, parse_shape_options(shapes, "shapes"));
  auto compared = of_caller(compare_files(request), original.path(), "the original");
  LEMMA_ASSIGN_OR_RETURN(const FileComparison comparison,
                         of_caller(std::move(compared), other.path(), "the other model"));
  give(text_of(comparison_json(comparison)), report);
  return comparison.check.passed ? LEMMA_OK : LEMMA_CHECK_FAILED;
}

Result<lemma_code> compile(const ModelFile& model, const char* directory, const char* given,
                           lemma_bytes* report) {
  LEMMA_ASSIGN_OR_RETURN(const CallOptions options,
                         CallOptions::parse(given, {"name", "threads", "shapes"}));
  if (directory == nullptr || *directory == '\0') return bad_input("a directory is needed");
  CompilationRequest request;
  std::vector<std::string> shapes;
  LEMMA_RETURN_IF_ERROR(options.take("name", request.name));
  LEMMA_RETURN_IF_ERROR(options.take("threads", request.threads));
  LEMMA_RETURN_IF_ERROR(options.take("shapes", shapes));
  LEMMA_ASSIGN_OR_RETURN(request.shapes, parse_shape_lists(shapes, "shapes"));
  request.model = model.path().string();
  request.directory = directory;
  LEMMA_ASSIGN_OR_RETURN(const Compilation compilation,
                         of_caller(compile_model(request), model.path(), "the model"));
  give(text_of(compilation_json(request, compilation)), report);
  return LEMMA_OK;
}

Result<lemma_code> prove(const char* rules, const char* given, lemma_bytes* report,
                         lemma_bytes* certificates) {
  LEMMA_ASSIGN_OR_RETURN(const CallOptions options,
                         CallOptions::parse(given, {"threads", "axioms"}));
  if (rules == nullptr) return bad_input("there are no rules");
  verifier::VerifyOptions verifying;
  std::string axioms(shipped_rules);
  LEMMA_RETURN_IF_ERROR(options.take("threads", verifying.threads));
  LEMMA_RETURN_IF_ERROR(options.take("axioms", axioms));
  LEMMA_ASSIGN_OR_RETURN(const auto parsed, parse_substitutions(rules, "rules"));
  LEMMA_ASSIGN_OR_RETURN(const verifier::DatabaseVerification verification,
                         verifier::verify_candidates(rules_folder(axioms), parsed, verifying));
  std::string pack;
  for (const verifier::VerifiedRule& rule : verification.rules)
    if (const auto* proved = std::get_if<verifier::Proved>(&rule.verdict()))
      pack += proved->certificate;
  give(verdict_lines(verification), report);
  give(pack, certificates);
  const bool is_complete = verification.proved_twice() == verification.rules.size();
  return is_complete ? LEMMA_OK : LEMMA_CHECK_FAILED;
}

}  // namespace

}  // namespace lemma::c_library

namespace of_c = lemma::c_library;

const char* lemma_version() {
  static const std::string version(lemma::version());
  return version.c_str();
}

void lemma_free(lemma_bytes* bytes) {
  if (bytes == nullptr) return;
  std::free(bytes->data);
  *bytes = {nullptr, 0};
}

lemma_code lemma_optimize(const void* model, size_t size, const char* options, lemma_bytes* result,
                          lemma_bytes* report, lemma_bytes* error) {
  return of_c::call(error, {result, report},
                    [&] { return of_c::optimize(model, size, options, result, report); });
}

lemma_code lemma_compare(const void* original, size_t original_size, const void* other,
                         size_t other_size, const char* options, lemma_bytes* report,
                         lemma_bytes* error) {
  return of_c::call(error, {report}, [&]() -> lemma::Result<lemma_code> {
    of_c::ModelFile first, second;
    LEMMA_RETURN_IF_ERROR(first.write(original, original_size, "original.onnx"));
    LEMMA_RETURN_IF_ERROR(second.write(other, other_size, "other.onnx"));
    return of_c::compare(first, second, options, report);
  });
}

lemma_code lemma_compile(const void* model, size_t size, const char* directory, const char* options,
                         lemma_bytes* report, lemma_bytes* error) {
  return of_c::call(error, {report}, [&]() -> lemma::Result<lemma_code> {
    of_c::ModelFile file;
    LEMMA_RETURN_IF_ERROR(file.write(model, size, "model.onnx"));
    return of_c::compile(file, directory, options, report);
  });
}

lemma_code lemma_prove(const char* rules, const char* options, lemma_bytes* report,
                       lemma_bytes* certificates, lemma_bytes* error) {
  return of_c::call(error, {report, certificates},
                    [&] { return of_c::prove(rules, options, report, certificates); });
}
