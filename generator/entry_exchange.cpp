#include "generator/entry_exchange.h"

#include <cstring>

namespace lemma::generator {

Result<Rounds::Received> Rounds::exchange(std::vector<std::string> bytes, bool goes_on) {
  for (std::size_t to = 0; to < bytes.size(); ++to) {
    bytes[to].push_back(goes_on ? '+' : '.');
    if (to != ranks_->rank()) traffic_.bytes += bytes[to].size();
  }
  ++traffic_.rounds;
  Received received;
  LEMMA_ASSIGN_OR_RETURN(received.bytes, ranks_->exchange(std::move(bytes)));
  for (std::string& part : received.bytes) {
    received.more = received.more || part.back() == '+';
    part.pop_back();
  }
  return received;
}

Result<bool> EntryExchange::send(bool goes_on) {
  std::vector<std::string> bytes;
  for (std::vector<Entry>& entries : outgoing_) {
    bytes.emplace_back(reinterpret_cast<const char*>(entries.data()),
                       entries.size() * sizeof(Entry));
    entries.clear();
  }
  held_ = 0;
  LEMMA_ASSIGN_OR_RETURN(const Rounds::Received received,
                         rounds_.exchange(std::move(bytes), goes_on));
  for (const std::string& part : received.bytes)
    for (std::size_t at = 0; at < part.size(); at += sizeof(Entry)) {
      Entry entry;
      std::memcpy(&entry, part.data() + at, sizeof entry);
      LEMMA_RETURN_IF_ERROR(receive_(entry));
    }
  return received.more;
}

Result<void> EntryExchange::finish() {
  for (bool more = true; more;) {
    LEMMA_ASSIGN_OR_RETURN(more, send(false));
  }
  outgoing_ = {};
  return {};
}

}  // namespace lemma::generator
