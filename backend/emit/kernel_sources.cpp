#include "backend/emit/kernel_sources.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "backend/emit/parts.h"

namespace lemma::backend {

namespace {

/// A compiler spends as much on the headers of a source as on some kernels.
constexpr std::size_t bytes_of_source = std::size_t{32} << 10U, most_sources = 32;

/// The kernels of a source, and the phases that they call.
struct Source {
  std::vector<std::size_t> kernels;
  std::set<std::size_t> phases;
  std::size_t bytes = 0;
};

/// Kernels in their order, cut where a part is as large as it should be.
std::vector<Source> sources_of(const KernelTexts& kernels) {
  std::size_t total = 0;
  for (const KernelFunction& function : kernels.functions) total += function.definition.size();
  for (const std::string& phase : kernels.phases) total += phase.size();
  const std::size_t count = std::clamp(total / bytes_of_source, std::size_t{1}, most_sources);
  std::vector<Source> sources(1);
  for (std::size_t i = 0; i < kernels.functions.size(); ++i) {
    if (sources.back().bytes * count >= total && !sources.back().kernels.empty())
      sources.emplace_back();
    Source& source = sources.back();
    source.kernels.push_back(i);
    source.bytes += kernels.functions[i].definition.size();
    for (const std::size_t phase : kernels.functions[i].phases)
      if (source.phases.insert(phase).second) source.bytes += kernels.phases[phase].size();
  }
  return sources;
}

/// The namespace of the kernels of all sources; no other library or program sees them.
std::string opened_namespace(const std::string& name) {
  return fmt::format("namespace [[gnu::visibility(\"hidden\")]] {}_kernels {{\n\n", name);
}

std::string closed_namespace(const std::string& name) {
  return fmt::format("}}  // namespace {}_kernels\n", name);
}

std::string header_text(const KernelTexts& kernels, const std::vector<Source>& sources,
                        const std::string& name) {
  std::string text =
      "#pragma once\n"
      "// One function for each distinct kernel: a part of a tensor from its operands.\n\n"
      "#include <cstdint>\n\n" +
      opened_namespace(name);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    text += fmt::format("inline namespace source_{} {{\n\n", i);
    for (const std::size_t kernel : sources[i].kernels)
      text += kernels.functions[kernel].declaration + ";\n\n";
    text += fmt::format("}}  // namespace source_{}\n\n", i);
  }
  return text + closed_namespace(name);
}

/// A header that compilers take a while for, and few kernels need.
bool has_transforms(const KernelTexts& kernels, const Source& source) {
  const auto has_transform = [](const std::string& text) {
    return text.find("FourierSums<") != std::string::npos;
  };
  return std::any_of(source.kernels.begin(), source.kernels.end(),
                     [&](std::size_t kernel) {
                       return has_transform(kernels.functions[kernel].definition);
                     }) ||
         std::any_of(source.phases.begin(), source.phases.end(),
                     [&](std::size_t phase) { return has_transform(kernels.phases[phase]); });
}

std::string source_text(const KernelTexts& kernels, const Source& source, std::size_t number,
                        const std::string& name, bool has_residues) {
  std::string text = fmt::format(
      "// Kernels that kernels.h declares: with SEPARATE_KERNELS a source of its own, otherwise a "
      "part of {0}.cpp.\n\n"
      "#include \"program_names.h\"\n\n"
      "#if defined(SEPARATE_KERNELS) || defined(KERNELS_ARE_INCLUDED)\n\n"
      "#include <cstdint>\n#include <limits>\n\n#include \"fast_functions.h\"\n{4}"
      "#include \"half_types.h\"\n#include \"kernels.h\"\n#include \"rank_selection.h\"\n{1}"
      "#include \"scalar_operations.h\"\n#include \"vectors.h\"\n\n{2}"
      "inline namespace source_{3} {{\n\n"
      "using namespace lemma::lowering;\n\nnamespace {{\n\n"
      "[[maybe_unused]] inline bool is_inside(std::int64_t index, std::int64_t size) {{\n"
      "  return 0 <= index && index < size;\n}}\n\n",
      name, has_residues ? "#include \"residues.h\"\n" : "", opened_namespace(name), number,
      has_transforms(kernels, source) ? "#include \"fourier.h\"\n" : "");
  for (const std::size_t phase : source.phases) text += kernels.phases[phase] + "\n";
  text += "}  // namespace\n\n";
  for (const std::size_t kernel : source.kernels)
    text += kernels.functions[kernel].definition + "\n";
  return text + fmt::format("}}  // namespace source_{}\n\n", number) + closed_namespace(name) +
         "\n#endif\n";
}

constexpr std::string_view first_part = "kernels_", last_part = ".cpp";

}  // namespace

bool is_kernel_source(std::string_view file) {
  if (!file.starts_with(first_part) || !file.ends_with(last_part)) return false;
  file.remove_prefix(first_part.size());
  file.remove_suffix(std::min(last_part.size(), file.size()));
  return !file.empty() && file.find_first_not_of("0123456789") == std::string_view::npos;
}

ProgramFiles kernel_files(const KernelTexts& kernels, const std::string& name, bool has_residues) {
  const std::vector<Source> sources = sources_of(kernels);
  ProgramFiles files;
  for (std::size_t i = 0; i < sources.size(); ++i)
    files.emplace_back(fmt::format("{}{}{}", first_part, i, last_part),
                       source_text(kernels, sources[i], i, name, has_residues));
  if (std::any_of(sources.begin(), sources.end(),
                  [&](const Source& source) { return has_transforms(kernels, source); }))
    files.emplace_back("fourier.h", std::string(parts::fourier));
  files.emplace_back("kernels.h", header_text(kernels, sources, name));
  return files;
}

}  // namespace lemma::backend
