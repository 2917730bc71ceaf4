#pragma once
// External data files on their way out. A data file is named by its contents and never replaced: a model that is there
// keeps the weights that it was written with, two models share a file only if its bytes are those of both, and whoever
// reads a model finds the data that belongs to it at any moment.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "frontend_onnx/file_mapping.h"
#include "frontend_onnx/rope.h"

namespace lemma::frontend {

/// A digest of 128 bits, for names. It is no cryptographic one: files of one name are compared before they are shared.
class ContentDigest {
 public:
  void add(std::span<const std::byte> bytes);
  /// 32 hexadecimal digits; nothing may be added afterwards.
  std::string text();

 private:
  void add_block(const std::byte* block);
  std::array<std::uint64_t, 4> lanes_ = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb,
                                         0x2545f4914f6cdd1d};
  std::array<std::byte, 32> rest_{};
  std::size_t rest_size_ = 0;
  std::uint64_t size_ = 0;
};

/// "weights-DIGEST.data"; from the second attempt on with its number, where something else has the first name.
std::string data_file_name(const std::string& digest, int attempt);

/// Gives the file `written` its name in a folder by `publish`, which is false if something has the name, or leaves it
/// where a file with the same bytes has the name already. Returns the name.
Result<std::string> publish_data(
    const std::filesystem::path& written, const std::filesystem::path& folder,
    const std::string& digest,
    const std::function<Result<bool>(const std::filesystem::path& name)>& publish);

/// The bytes of a model file with other names of data files: only its tensors' locations differ.
Result<Rope> with_locations(const std::shared_ptr<const FileMapping>& model,
                            const std::map<std::string, std::string>& new_by_old);

}  // namespace lemma::frontend
