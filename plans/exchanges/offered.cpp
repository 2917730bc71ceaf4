#include "plans/exchanges/offered.h"

#include <cstring>

namespace lemma::plans {

namespace {
enum Flag : std::size_t { is_offered, is_fetched };
constexpr std::size_t flag_count = 2;
}  // namespace

Result<Offered> Offered::open(Communicator& base, const Group& pair, std::size_t most_bytes) {
  if (base.windows() == nullptr)
    return unsupported("the ranks cannot register memory for transfers of one side");
  Offered offered;
  offered.other_ = 1 - place_in(pair, base.rank());
  LEMMA_ASSIGN_OR_RETURN(offered.data_, base.windows()->open(pair, most_bytes, 0));
  LEMMA_ASSIGN_OR_RETURN(offered.control_,
                         base.windows()->open(pair, sizeof(std::uint64_t), flag_count));
  return offered;
}

std::span<std::byte> Offered::memory() const { return data_->own(); }

Result<void> Offered::give(std::size_t bytes) {
  if (bytes > memory().size())
    return bad_input("a tensor is larger than the memory to send it from");
  const std::uint64_t size = bytes;
  ++given_;
  LEMMA_RETURN_IF_ERROR(control_->put(other_, 0, std::as_bytes(std::span(&size, 1))));
  LEMMA_RETURN_IF_ERROR(control_->signal(other_, is_offered, given_));
  return control_->wait(is_fetched, given_);
}

Result<void> Offered::take(const std::function<std::span<std::byte>(std::size_t bytes)>& into) {
  ++taken_;
  LEMMA_RETURN_IF_ERROR(control_->wait(is_offered, taken_));
  std::uint64_t size = 0;
  std::memcpy(&size, control_->own().data(), sizeof size);
  LEMMA_RETURN_IF_ERROR(data_->get(other_, 0, into(size)));
  return control_->signal(other_, is_fetched, taken_);
}

}  // namespace lemma::plans
