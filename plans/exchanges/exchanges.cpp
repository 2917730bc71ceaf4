#include "plans/exchanges/exchanges.h"

#include <algorithm>

#include "plans/exchanges/by_nccl.h"
#include "plans/exchanges/one_sided.h"
#include "plans/exchanges/remote_calls.h"
#include "plans/exchanges/send_receive.h"

namespace lemma::plans {

const std::vector<std::string>& exchange_names() {
  static const std::vector<std::string> names = {"collectives", "one-sided", "send-receive",
                                                 "remote-calls", "nccl"};
  return names;
}

std::optional<ExchangeKind> exchange_of_name(std::string_view name) {
  const auto& names = exchange_names();
  const auto place = std::find(names.begin(), names.end(), name);
  if (place == names.end()) return std::nullopt;
  return static_cast<ExchangeKind>(place - names.begin());
}

Result<std::unique_ptr<Communicator>> exchanging_by(ExchangeKind kind, Communicator& base,
                                                    const std::filesystem::path& nccl_module) {
  switch (kind) {
    case ExchangeKind::one_sided: return one_sided(base);
    case ExchangeKind::send_receive: return send_receive(base);
    case ExchangeKind::remote_calls: return remote_calls(base);
    case ExchangeKind::nccl: return by_nccl(base, nccl_module);
    case ExchangeKind::collectives: break;
  }
  return std::unique_ptr<Communicator>();
}

}  // namespace lemma::plans
