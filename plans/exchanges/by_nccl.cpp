#include "plans/exchanges/by_nccl.h"

#include <array>
#include <numeric>
#include <system_error>

#include <fmt/format.h>

#include "plans/exchanges/forwarding.h"
#include "plans/exchanges/nccl/interface.h"
#include "ranks/module.h"

namespace lemma::plans {

namespace {

using Id = std::array<char, nccl::id_bytes>;

class ByNccl : public ByParts {
 public:
  using ByParts::ByParts;
  ~ByNccl() override {
    if (state_ != nullptr) end_(state_);
  }

  Result<void> begin(const std::filesystem::path& module) {
    LEMMA_RETURN_IF_ERROR(load(module));
    Id own{};
    // A rank that fails here would leave the others waiting: it says so by an id of zeros.
    const bool is_made = rank() != 0 || make_id_(own.data(), reason_.data(), reason_.size()) == 0;
    if (!is_made) own = {};
    Group all(size());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<Id> ids(size());
    LEMMA_RETURN_IF_ERROR(base().all_gather(all, std::as_bytes(std::span(&own, 1)),
                                            std::as_writable_bytes(std::span(ids))));
    if (ids[0] == Id{})
      return unsupported(
          fmt::format("NCCL cannot be used{}{}", rank() == 0 ? ": " : "", reason_.data()));
    return checked(connect_(ids[0].data(), static_cast<int>(rank()), static_cast<int>(size()),
                            &state_, reason_.data(), reason_.size()));
  }

  Result<void> shift(const Group& /*group*/, std::size_t to, std::size_t from,
                     std::span<const std::byte> sent, std::span<std::byte> received) override {
    std::vector<nccl::Transfer> transfers;
    if (to < size())
      transfers.push_back({static_cast<int>(to), sent.data(), sent.size(), nullptr, 0});
    if (from < size())
      transfers.push_back({static_cast<int>(from), nullptr, 0, received.data(), received.size()});
    if (to < size() && to != rank()) count(1, sent.size());
    return run(transfers);
  }

 private:
  Result<void> load(const std::filesystem::path& module) {
    std::error_code error;
    if (!std::filesystem::exists(module, error))
      return unsupported("this lemma was built without NCCL");
    const auto function = [&](auto*& result, const char* name) -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(void* const symbol, ranks::module_function(module, name, size()));
      result = reinterpret_cast<std::remove_reference_t<decltype(result)>>(symbol);
      return {};
    };
    LEMMA_RETURN_IF_ERROR(function(make_id_, nccl::make_id_name));
    LEMMA_RETURN_IF_ERROR(function(connect_, nccl::connect_name));
    LEMMA_RETURN_IF_ERROR(function(exchange_, nccl::exchange_name));
    return function(end_, nccl::end_name);
  }

  Result<void> exchange(const Group& group, std::size_t part, const SentTo& sent_to,
                        std::span<std::byte> received) override {
    count(group.size() - 1, part);
    std::vector<nccl::Transfer> transfers;
    for (std::size_t place = 0; place < group.size(); ++place)
      transfers.push_back({static_cast<int>(group[place]), sent_to(place).data(), part,
                           received.subspan(place * part, part).data(), part});
    return run(transfers);
  }

  Result<void> run(const std::vector<nccl::Transfer>& transfers) {
    return checked(
        exchange_(state_, transfers.data(), transfers.size(), reason_.data(), reason_.size()));
  }

  Result<void> checked(int code) const {
    if (code == 0) return {};
    return unsupported(fmt::format("NCCL cannot be used: {}", reason_.data()));
  }

  nccl::MakeId* make_id_ = nullptr;
  nccl::Connect* connect_ = nullptr;
  nccl::Exchange* exchange_ = nullptr;
  nccl::End* end_ = nullptr;
  void* state_ = nullptr;
  std::array<char, 256> reason_{};
};

}  // namespace

Result<std::unique_ptr<Communicator>> by_nccl(Communicator& base,
                                              const std::filesystem::path& module) {
  auto result = std::make_unique<ByNccl>(base);
  LEMMA_RETURN_IF_ERROR(result->begin(module));
  return std::unique_ptr<Communicator>(std::move(result));
}

}  // namespace lemma::plans
