#include "facts/outside_operators.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/number_text.h"
#include "base/version.h"
#include "facts/operator_example.h"
#include "facts/operator_instances.h"
#include "ir/graph.h"
#include "ir/kernel_override.h"
#include "ir/operator_registration.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

// ---- The file of a library ----------------------------------------------------------------------

/// The mark of a library up to where it differs between versions.
std::string_view mark_of_all() {
  const std::string_view mark = operator_library_mark();
  return mark.substr(0, mark.find(version()));
}

/// The mark of the file; empty if it has none. A compiler may also keep the part by itself that comes before the version.
std::string_view mark_in(std::string_view bytes) {
  for (std::size_t at = bytes.find(mark_of_all()); at != std::string_view::npos;
       at = bytes.find(mark_of_all(), at + 1)) {
    const std::string_view found = bytes.substr(at, bytes.find('\0', at) - at);
    if (found.size() > mark_of_all().size() && is_ascii_digit(found[mark_of_all().size()]))
      return found;
  }
  return {};
}

/// The file says what it is for before anything of it runs.
Result<void> check_mark(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return bad_input("it cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!bytes.starts_with("\177ELF")) return bad_input("this is no shared library");
  const std::string_view given = mark_in(bytes);
  if (given.empty())
    return bad_input("this is no library of operators: it has no LEMMA_OPERATOR_LIBRARY");
  if (given == operator_library_mark()) return {};
  const auto tail = [](std::string_view mark) { return mark.substr(mark_of_all().size()); };
  return bad_input(fmt::format("it was built for Lemma {}, and this is {}; build it again",
                               tail(given).substr(0, 60), tail(operator_library_mark())));
}

using OperatorEntry = void (*)(std::span<const OperatorRecord>*);
using KernelEntry = void (*)(std::span<const KernelOverride>*);

/// What a library has.
struct LoadedLibrary {
  std::string file;
  std::span<const OperatorRecord> records;
  std::span<const KernelOverride> kernels;
};

/// Libraries stay loaded: records and kernels point into them.
Result<LoadedLibrary> contents_of(const fs::path& file) {
  LEMMA_RETURN_IF_ERROR(check_mark(file));
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return bad_input(fmt::format("it cannot be loaded: {}", dlerror()));
  const auto entry = reinterpret_cast<OperatorEntry>(dlsym(library, "lemma_operators_v1"));
  if (entry == nullptr) return bad_input("it has no function lemma_operators_v1");
  LoadedLibrary loaded{file.string(), {}, {}};
  entry(&loaded.records);
  if (const auto kernels = reinterpret_cast<KernelEntry>(dlsym(library, "lemma_kernels_v1")))
    kernels(&loaded.kernels);
  return loaded;
}

// ---- Which libraries ----------------------------------------------------------------------------

/// Those that are named and those of the environment, each once.
Result<std::set<fs::path>> all_libraries(const std::vector<fs::path>& named) {
  std::vector<fs::path> files = named;
  const char* more = std::getenv(operator_libraries_variable);
  for (std::string_view rest = more != nullptr ? more : ""; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(':'));
    if (!word.empty()) files.emplace_back(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  std::set<fs::path> result;
  for (const fs::path& file : files) {
    std::error_code error;
    if (!fs::is_regular_file(file, error))
      return bad_input(fmt::format("{}: there is no such file", file.string()));
    result.insert(fs::canonical(file, error));
  }
  return result;
}

// ---- What records say -----------------------------------------------------------------------------

Result<void> check_reads(const Definition& definition, const Instance& instance) {
  for (const ExpressionNode& node : definition.nodes()) {
    if (node.kind != ExpressionKind::read) continue;
    if (!instance.has(node.input))
      return bad_input(
          fmt::format("the definition reads operand {}, which there is not", node.input));
    if (node.operands.size() != instance.rank(node.input))
      return bad_input(
          fmt::format("the definition reads operand {} with {} indices, and it has {} axes",
                      node.input, node.operands.size(), instance.rank(node.input)));
    if (node.type != instance.type(node.input))
      return bad_input(fmt::format("the definition reads operand {} as {}, and it is {}",
                                   node.input, name(node.type), name(instance.type(node.input))));
  }
  return {};
}

Result<void> check_definition(const OperatorRecord& record, const Instance& instance,
                              const std::vector<TensorType>& types) {
  const Definition definition = record.define(instance);
  LEMMA_RETURN_IF_ERROR(check_reads(definition, instance));
  const std::vector<DefinedOutput>& outputs = definition.outputs();
  if (outputs.size() != types.size())
    return bad_input(fmt::format("the definition has {} outputs, and the shape rule {}",
                                 outputs.size(), types.size()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    Shape shape;
    for (const VariableId axis : outputs[i].axes) shape.push_back(definition.extent(axis));
    const TensorType defined = {definition.node(outputs[i].value).type, shape};
    if (defined != types[i])
      return bad_input(fmt::format("output {} is {} by the definition, and {} by the shape rule", i,
                                   text(defined), text(types[i])));
  }
  return {};
}

Result<void> check_composition(const OperatorRecord& record, const Instance& instance,
                               const std::vector<TensorType>& types) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    inputs.push_back(ValueId::none());
    if (!instance.has(i)) continue;
    LEMMA_ASSIGN_OR_RETURN(inputs.back(),
                           graph.add_input(fmt::format("x{}", i), instance.inputs[i]));
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                         record.compose(graph, instance, inputs));
  if (outputs.size() != types.size())
    return bad_input(fmt::format("the composition has {} outputs, and the shape rule {}",
                                 outputs.size(), types.size()));
  for (std::size_t i = 0; i < types.size(); ++i)
    if (graph.type(outputs[i]) != types[i])
      return bad_input(fmt::format("output {} is {} by the composition, and {} by the shape rule",
                                   i, text(graph.type(outputs[i])), text(types[i])));
  return {};
}

Result<void> check_instance(const OperatorRecord& record, const OperatorInstance& given) {
  LEMMA_ASSIGN_OR_RETURN(
      const Attributes attributes,
      complete_attributes(record, given.inputs, given.attributes, given.output_count));
  const Instance instance{given.inputs, attributes, given.output_count};
  LEMMA_ASSIGN_OR_RETURN(const std::vector<TensorType> types, infer_types(record, instance));
  return record.define != nullptr ? check_definition(record, instance, types)
                                  : check_composition(record, instance, types);
}

Result<void> check_examples(const OperatorRecord& record) {
  for (std::size_t i = 0; i < record.examples.size(); ++i) {
    auto read = read_example(record, record.examples[i]);
    Result<void> checked = read ? check_instance(record, *read)
                                : Result<void>(tl::unexpected<Error>(std::move(read.error())));
    if (!checked) return with_context(fmt::format("example {}", i + 1), std::move(checked.error()));
  }
  if (!record.examples.empty()) return {};
  const auto found = example_instance(record);
  if (!found)
    return bad_input("its shape rule accepts none of the usual applications: it needs examples");
  return check_instance(record, *found);
}

std::vector<fs::path>& loaded_files() {
  static std::vector<fs::path> files;
  return files;
}

/// For the programs that this one starts.
void tell_children(const std::vector<fs::path>& files) {
  std::vector<std::string> words;
  for (const fs::path& file : files) words.push_back(file.string());
  setenv(operator_libraries_variable, fmt::format("{}", fmt::join(words, ":")).c_str(), 1);
}

}  // namespace

Result<void> check_meaning(const OperatorRecord& record) {
  Result<void> checked;
  try {
    checked = check_examples(record);
  } catch (const std::exception& error) {
    checked = bad_input(error.what());
  }
  if (checked) return {};
  checked.error().kind = ErrorKind::bad_input;
  return with_context(fmt::format("operator '{}'", record.name), std::move(checked.error()));
}

std::vector<fs::path> loaded_operator_libraries() { return loaded_files(); }

std::vector<fs::path> operator_libraries_of(const std::vector<std::string>& words) {
  std::vector<fs::path> result;
  const std::string with_value = fmt::format("{}=", operator_libraries_option);
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (words[i] == operator_libraries_option && i + 1 < words.size())
      result.emplace_back(words[++i]);
    else if (words[i].starts_with(with_value))
      result.emplace_back(words[i].substr(with_value.size()));
  }
  return result;
}

Result<void> load_operator_libraries(const std::vector<fs::path>& named) {
  LEMMA_ASSIGN_OR_RETURN(const std::set<fs::path> files, all_libraries(named));
  if (files.empty()) return {};
  std::vector<LoadedLibrary> all;
  for (const fs::path& file : files) {
    auto loaded = contents_of(file);
    if (!loaded) return with_context(file.string(), std::move(loaded.error()));
    if (!loaded->records.empty() || loaded->kernels.empty())
      LEMMA_RETURN_IF_ERROR(register_operators(loaded->records, file.string()));
    all.push_back(std::move(*loaded));
  }
  for (const LoadedLibrary& loaded : all) {
    for (const OperatorRecord& record : loaded.records)
      if (auto checked = check_meaning(record); !checked)
        return with_context(loaded.file, std::move(checked.error()));
    LEMMA_RETURN_IF_ERROR(register_overrides(loaded.kernels, loaded.file));
  }
  loaded_files().assign(files.begin(), files.end());
  tell_children(loaded_files());
  return {};
}

}  // namespace lemma
