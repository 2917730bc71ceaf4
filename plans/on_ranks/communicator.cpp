#include "plans/on_ranks/communicator.h"

#include <exception>
#include <numeric>

#include <fmt/format.h>

namespace lemma::plans {

Result<void> meet(Communicator& communicator) {
  Group all(communicator.size());
  std::iota(all.begin(), all.end(), 0U);
  const std::byte own{};
  std::vector<std::byte> received(all.size());
  return communicator.all_gather(all, std::span(&own, 1), received);
}

Result<void> run_guarded(const std::function<Result<void>(Communicator& communicator)>& run,
                         Communicator& communicator) {
  try {
    return run(communicator);
  } catch (const std::exception& exception) {
    return internal_error(exception.what());
  } catch (...) {
    return internal_error("an exception of an unknown type");
  }
}

Error ended(const Communicator& communicator, Error error) {
  const std::string& place = communicator.place();
  error.message = fmt::format("rank {} has ended{}: {}", communicator.rank(),
                              place.empty() ? std::string() : " at " + place, error.message);
  return error;
}

}  // namespace lemma::plans
