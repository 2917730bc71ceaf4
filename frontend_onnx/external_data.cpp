#include "frontend_onnx/external_data.h"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/wire.h"

namespace lemma::frontend {

namespace fs = std::filesystem;

namespace {

using Tensor = ::onnx::TensorProto;

constexpr std::uint64_t odd_factor = 0x9fb21c651e98df25;

std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 32) * 0xd6e8feb86659fd93;
  word = (word ^ word >> 29) * odd_factor;
  return word ^ word >> 32;
}

/// The same bytes, and open to all that the new one would be open to.
bool may_be_shared(const fs::path& written, const fs::path& there) {
  struct stat mine {};
  struct stat other {};
  if (::stat(written.c_str(), &mine) != 0 || ::stat(there.c_str(), &other) != 0) return false;
  if (!S_ISREG(other.st_mode) || mine.st_size != other.st_size) return false;
  if ((mine.st_mode & ~other.st_mode & 0444U) != 0) return false;
  const auto a = FileMapping::open(written);
  const auto b = FileMapping::open(there);
  return a && b && std::ranges::equal((*a)->bytes(), (*b)->bytes());
}

/// An entry of external_data, with a new value if it is a location that has one.
Result<Rope> renamed_entry(std::string_view content,
                           const std::map<std::string, std::string>& new_by_old) {
  ::onnx::StringStringEntryProto entry;
  Rope out;
  const bool is_read = entry.ParseFromArray(content.data(), static_cast<int>(content.size()));
  const auto replacement =
      is_read && entry.key() == "location" ? new_by_old.find(entry.value()) : new_by_old.end();
  if (replacement == new_by_old.end()) {
    out.append(content);
    return out;
  }
  entry.set_value(replacement->second);
  out.append(entry.SerializeAsString());
  return out;
}

}  // namespace

void ContentDigest::add_block(const std::byte* block) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, block + i * sizeof(word), sizeof(word));
    lanes_[i] = std::rotl((lanes_[i] ^ word) * odd_factor, 29);
  }
}

void ContentDigest::add(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  if (rest_size_ > 0) {
    const std::size_t taken = std::min(bytes.size(), rest_.size() - rest_size_);
    std::memcpy(rest_.data() + rest_size_, bytes.data(), taken);
    rest_size_ += taken;
    bytes = bytes.subspan(taken);
    if (rest_size_ < rest_.size()) return;
    add_block(rest_.data());
    rest_size_ = 0;
  }
  for (; bytes.size() >= rest_.size(); bytes = bytes.subspan(rest_.size())) add_block(bytes.data());
  if (!bytes.empty()) std::memcpy(rest_.data(), bytes.data(), bytes.size());
  rest_size_ = bytes.size();
}

std::string ContentDigest::text() {
  std::fill(rest_.begin() + static_cast<std::ptrdiff_t>(rest_size_), rest_.end(), std::byte{0});
  add_block(rest_.data());
  std::uint64_t first = size_, second = ~size_;
  for (const std::uint64_t lane : lanes_) {
    first = mixed(first ^ lane);
    second = mixed(second + lane * odd_factor);
  }
  return fmt::format("{:016x}{:016x}", first, second);
}

std::string data_file_name(const std::string& digest, int attempt) {
  return attempt == 0 ? fmt::format("weights-{}.data", digest)
                      : fmt::format("weights-{}-{}.data", digest, attempt);
}

Result<std::string> publish_data(const fs::path& written, const fs::path& folder,
                                 const std::string& digest,
                                 const std::function<Result<bool>(const fs::path& name)>& publish) {
  for (int attempt = 0;; ++attempt) {
    std::string name = data_file_name(digest, attempt);
    LEMMA_ASSIGN_OR_RETURN(const bool is_new, publish(name));
    if (is_new || may_be_shared(written, folder / name)) return name;
  }
}

Result<Rope> with_locations(const std::shared_ptr<const FileMapping>& model,
                            const std::map<std::string, std::string>& new_by_old) {
  const std::span<const std::byte> bytes = model->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto shared = [&model](std::string_view part) {
    return SharedBytes{model, std::as_bytes(std::span(part.data(), part.size()))};
  };
  return rewrite_tensors(text, MessageKind::model, [&](std::string_view tensor) -> Result<Rope> {
    Rope out;
    for (WireReader reader(tensor); !reader.done();) {
      LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
      if (field.number != Tensor::kExternalDataFieldNumber || field.content.empty()) {
        out.append(shared(field.whole));
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(Rope entry, renamed_entry(field.content, new_by_old));
      out.append_message_field(field.number, std::move(entry));
    }
    return out;
  });
}

}  // namespace lemma::frontend
