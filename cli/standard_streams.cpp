#include "cli/standard_streams.h"

#include <array>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "outputs/files.h"

namespace lemma {

namespace fs = std::filesystem;

Result<fs::path> StandardStreams::file(const char* name) {
  if (!folder_) folder_.emplace();
  if (!folder_->good())
    return bad_input("no temporary folder can be made for a model on a standard stream");
  return folder_->path() / name;
}

Result<std::string> StandardStreams::input() {
  LEMMA_ASSIGN_OR_RETURN(const fs::path place, file("standard_input.onnx"));
  LEMMA_ASSIGN_OR_RETURN(OutputFile out, OutputFile::create(place));
  std::array<char, 1U << 16U> buffer{};
  while (std::cin.good()) {
    std::cin.read(buffer.data(), buffer.size());
    const auto count = static_cast<std::size_t>(std::cin.gcount());
    LEMMA_RETURN_IF_ERROR(out.write(std::as_bytes(std::span(buffer.data(), count))));
  }
  LEMMA_RETURN_IF_ERROR(out.publish());
  return place.string();
}

Result<std::string> StandardStreams::output() {
  LEMMA_ASSIGN_OR_RETURN(const fs::path place, file("standard_output.onnx"));
  return place.string();
}

Result<void> StandardStreams::send(const fs::path& target) const {
  const fs::path place = folder_->path() / "standard_output.onnx";
  std::error_code error;
  if (!fs::exists(place, error)) return {};
  for (const auto& entry : fs::directory_iterator(folder_->path(), error))
    if (entry.path().extension() == ".data")
      return bad_input("a model with external data needs a file, not a device or a pipe");
  std::ifstream in(place, std::ios::binary);
  LEMMA_ASSIGN_OR_RETURN(OutputFile out, OutputFile::create(target));
  std::array<char, 1U << 16U> buffer{};
  while (in.good()) {
    in.read(buffer.data(), buffer.size());
    const auto count = static_cast<std::size_t>(in.gcount());
    const auto sent = out.write(std::as_bytes(std::span(buffer.data(), count)));
    if (!sent && target == output_path) return bad_input("standard output cannot be written");
    LEMMA_RETURN_IF_ERROR(sent);
  }
  return out.publish();
}

}  // namespace lemma
