#include "backend/emit/library_files.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "backend/emit/parts.h"
#include "backend/emit/program_name.h"
#include "backend/emit/tables_text.h"
#include "base/shown_text.h"
#include "outputs/files.h"

namespace lemma::backend {

namespace {

namespace fs = std::filesystem;

/// What NAME.py imports, and what numpy imports in turn where the folder of NAME.py is searched first.
constexpr std::string_view modules[] = {
    "ast",      "collections", "contextlib", "ctypes",   "datetime", "enum",  "functools",
    "inspect",  "itertools",   "json",       "lemma",    "numbers",  "numpy", "operator",
    "os",       "pathlib",     "pickle",     "platform", "re",       "sys",   "tempfile",
    "textwrap", "types",       "typing",     "warnings"};

constexpr std::string_view map_ending = ".map";

Result<void> copy_library(const fs::path& from, const fs::path& to) {
  std::ifstream file(from, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) return bad_input(fmt::format("{}: cannot be read", from.string()));
  return write_file_atomically(to, bytes);
}

}  // namespace

std::string library_identifier(std::string_view text) {
  std::string name = identifier_of(text);
  if (std::ranges::find(modules, name) != std::end(modules)) name += "_model";
  return name;
}

std::string name_of_program(const ProgramFiles& files) {
  for (const auto& [file, text] : files)
    if (file.ends_with(map_ending)) return file.substr(0, file.size() - map_ending.size());
  return "";
}

Result<std::vector<std::string>> write_library(Programs programs, Programs described,
                                               const ProgramFiles& files, const std::string& title,
                                               const std::string& compiler, const fs::path& library,
                                               const fs::path& directory, bool replaces) {
  const std::string name = name_of_program(files);
  Words words = program_words(described, {name, title}, 0);
  std::size_t operators = 0, tasks = 0, waits = 0;
  for (const TaskProgram& program : programs) {
    operators += program.graph.operators.size();
    tasks += program.task_count();
    waits += wait_count(program);
  }
  words["operators"] = fmt::format("{}", operators);
  words["tasks"] = fmt::format("{}", tasks);
  words["waits"] = fmt::format("{}", waits);
  words.insert({{"compiler", shown(compiler, ShownIn::markdown)}});
  ProgramFiles texts = {
      {"README.md", filled_in(parts::library_readme, words)},
      {name + ".py", std::string(parts::python_library) + filled_in(parts::python_program, words)}};
  for (const auto& [file, text] : files)
    if (file == name + ".h") texts.emplace_back(file, text);
  const WrittenFiles others = {
      {fmt::format("lib{}.so", name),
       [&](const fs::path& to) { return copy_library(library, to); }},
      {name + ".weights", [&](const fs::path& to) { return write_weights(programs, to); }}};
  LEMMA_RETURN_IF_ERROR(write_program_directory(texts, others, directory, replaces));
  std::vector<std::string> names;
  for (const auto& [file, text] : texts) names.push_back(file);
  for (const auto& [file, write] : others) names.push_back(file);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace lemma::backend
