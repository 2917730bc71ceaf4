#include <mutex>
#include <utility>

#include "ranks/claims.h"
#include "ranks/ranks.h"

namespace lemma::ranks {
namespace {

class OneRank : public Ranks {
 public:
  std::size_t rank() const override { return 0; }
  std::size_t size() const override { return 1; }
  Result<std::vector<std::string>> exchange(std::vector<std::string> bytes) override {
    LEMMA_RETURN_IF_ERROR(finish());
    return bytes;
  }
  Result<std::vector<std::size_t>> claim(const Claim& claim) override {
    LEMMA_RETURN_IF_ERROR(finish());
    return claims_.take(claim);
  }
  void tell(const std::string& /*bytes*/) override {}
  void listen(std::function<void(const std::string&)> /*listener*/) override {}
  void stop(const Error& error) override {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  std::optional<Error> stopped() const override {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  Result<void> finish() override {
    if (auto error = stopped()) return tl::unexpected<Error>(std::move(*error));
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
  Claims claims_;
};

}  // namespace

std::unique_ptr<Ranks> one_rank() { return std::make_unique<OneRank>(); }

}  // namespace lemma::ranks
