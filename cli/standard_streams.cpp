#include "cli/standard_streams.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

namespace lemma {

namespace fs = std::filesystem;

StandardStreams::~StandardStreams() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<void> StandardStreams::make_folder() {
  if (!folder_.empty()) return {};
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "lemma-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr)
    return bad_input("no temporary folder can be made for a model on a standard stream");
  folder_ = name;
  return {};
}

Result<std::string> StandardStreams::input() {
  LEMMA_RETURN_IF_ERROR(make_folder());
  const fs::path file = folder_ / "standard_input.onnx";
  std::ofstream out(file, std::ios::binary);
  if (std::cin.peek() != std::char_traits<char>::eof()) out << std::cin.rdbuf();
  out.close();
  if (!out) return bad_input(file.string() + ": cannot be written");
  return file.string();
}

Result<std::string> StandardStreams::output() {
  LEMMA_RETURN_IF_ERROR(make_folder());
  return (folder_ / "standard_output.onnx").string();
}

Result<void> StandardStreams::send() const {
  for (const auto& entry : fs::directory_iterator(folder_))
    if (entry.path().extension() == ".data")
      return bad_input("a model with external data cannot go to standard output");
  std::ifstream in(folder_ / "standard_output.onnx", std::ios::binary);
  if (in && in.peek() != std::char_traits<char>::eof()) std::cout << in.rdbuf();
  std::cout.flush();
  if (!std::cout) return bad_input("standard output cannot be written");
  return {};
}

}  // namespace lemma
