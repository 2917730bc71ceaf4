#include "cli/plan_results.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <span>

#include "cli/error_line.h"
#include "frontend_onnx/tensor_file.h"
#include "interpreter/random.h"
#include "outputs/files.h"
#include "plans/collectives/timed.h"
#include "report/table.h"
#include "rule_language/rule_database.h"

namespace lemma {

double largest_element(const interpreter::Tensor& tensor) {
  double largest = 0;
  for (const double element : tensor.reals())
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  return largest;
}

double largest_difference(const interpreter::Tensor& expected, const interpreter::Tensor& actual,
                          double least_scale) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (expected.sizes() != actual.sizes()) return infinity;
  const std::vector<double> x = expected.reals(), y = actual.reals();
  double difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return infinity;
    difference = std::max(difference, std::abs(x[i] - y[i]));
  }
  const double largest = std::max(largest_element(expected), least_scale);
  return largest > 0 ? difference / largest : difference;
}

Result<std::vector<interpreter::NamedTensor>> given_inputs(const Graph& graph,
                                                           const std::string& folder,
                                                           std::uint64_t seed) {
  std::vector<interpreter::NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.output());
    const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
    const std::string& name = graph.input_name(node);
    if (!sizes)
      return bad_input(
          fmt::format("input '{}' has sizes that are not known: fix them by --shape", name));
    const auto file = std::filesystem::path(folder) / fmt::format("input_{}.pb", inputs.size());
    std::error_code error;
    if (!folder.empty() && std::filesystem::exists(file, error)) {
      LEMMA_ASSIGN_OR_RETURN(const NamedConstant given, read_tensor_file(file));
      const auto tensor = interpreter::Tensor::of(given.value);
      if (tensor.data_type() != type.data_type || tensor.sizes() != *sizes)
        return bad_input(fmt::format("{}: it has the type {}, and input '{}' has {}", file.string(),
                                     text(given.value.type()), name, text(type)));
      inputs.push_back({name, tensor});
      continue;
    }
    inputs.push_back({name, interpreter::random_tensor(type.data_type, *sizes, seed,
                                                       interpreter::stream_of(name))});
  }
  return inputs;
}

interpreter::Tensor copy_of(const interpreter::Tensor& tensor) {
  auto copy = interpreter::Tensor::uninitialized(tensor.data_type(), tensor.sizes());
  std::copy(tensor.bytes().begin(), tensor.bytes().end(), copy.writable_bytes().begin());
  return copy;
}

plans::Group all_ranks(const plans::Communicator& communicator) {
  plans::Group all(communicator.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

Result<std::vector<std::string>> share_text(std::string own, plans::Communicator& communicator) {
  const plans::Group all = all_ranks(communicator);
  const std::uint64_t size = own.size();
  std::vector<std::uint64_t> sizes(all.size());
  LEMMA_RETURN_IF_ERROR(communicator.all_gather(all, std::as_bytes(std::span(&size, 1)),
                                                std::as_writable_bytes(std::span(sizes))));
  const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
  own.resize(longest);
  std::string texts(longest * all.size(), '\0');
  LEMMA_RETURN_IF_ERROR(communicator.all_gather(all, std::as_bytes(std::span(own)),
                                                std::as_writable_bytes(std::span(texts))));
  std::vector<std::string> result;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    result.push_back(texts.substr(rank * longest, sizes[rank]));
  return result;
}

Result<void> share_counts(RankResults& results, plans::Communicator& communicator) {
  for (auto* counts :
       {&results.bytes, &results.messages, &results.planned_bytes, &results.collectives}) {
    const std::uint64_t own = (*counts)[communicator.rank()];
    LEMMA_RETURN_IF_ERROR(communicator.all_gather(all_ranks(communicator),
                                                  std::as_bytes(std::span(&own, 1)),
                                                  std::as_writable_bytes(std::span(*counts))));
  }
  return {};
}

Result<void> check_sent(const RankResults& results, std::size_t rank,
                        std::uint64_t planned_messages) {
  if (results.bytes[rank] == results.planned_bytes[rank] &&
      results.messages[rank] == planned_messages)
    return {};
  return internal_error(fmt::format("{} bytes were sent in {} messages, and {} in {} are planned",
                                    results.bytes[rank], results.messages[rank],
                                    results.planned_bytes[rank], planned_messages));
}

std::string exchanges_text(const RankResults& results) {
  using Align = Table::Align;
  const std::vector<std::string> columns = {"rank", "messages", "bytes sent", "as planned",
                                            "collectives"};
  Table table(columns, std::vector<Align>(columns.size(), Align::right));
  for (std::size_t rank = 0; rank < results.outputs.size(); ++rank)
    table.add({fmt::format("{}", rank), fmt::format("{}", results.messages[rank]),
               fmt::format("{}", results.bytes[rank]),
               fmt::format("{}", results.planned_bytes[rank]),
               fmt::format("{}", results.collectives[rank])});
  std::string text = table.text();
  for (const UsedSchedule& used : results.schedules) {
    const collectives::Counts counts = collectives::counts_of(*used.schedule);
    text += fmt::format(
        "{} of {} ranks by a schedule{}: {} steps, {} sends of one of {} chunks, {} times in a "
        "step\n",
        clusters::name(used.schedule->collective), used.schedule->nodes,
        used.schedule->method.empty() ? "" : fmt::format(" ({})", printable(used.schedule->method)),
        counts.steps, counts.total, used.schedule->chunks, used.exchanges);
  }
  return text;
}

Result<plans::ExchangeSchedules> given_schedules(const std::vector<std::string>& files) {
  plans::ExchangeSchedules schedules;
  for (const std::string& file : files) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
    Result<collectives::Schedule> read = collectives::parse_schedule(text);
    if (collectives::is_timed_schedule(text)) {
      const auto timed = collectives::parse_timed_schedule(text);
      read = timed ? Result<collectives::Schedule>(collectives::by_steps(*timed))
                   : tl::unexpected<Error>(timed.error());
    }
    if (!read) return with_context(file, read.error());
    if (const auto taken = schedules.add(std::move(*read)); !taken)
      return with_context(file, taken.error());
  }
  return schedules;
}

Result<std::vector<UsedSchedule>> used_schedules(
    const plans::ExchangeSchedules& schedules,
    const std::vector<plans::GroupOfExchange>& exchanges) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::size_t> uses, plans::uses_of(schedules, exchanges));
  std::vector<UsedSchedule> used;
  for (std::size_t i = 0; i < uses.size(); ++i) used.push_back({&schedules.all()[i], uses[i]});
  return used;
}

plans::Ending ending_of(const Error& error) {
  return {printable("lemma: " + error.message), static_cast<int>(exit_code_of(error.kind))};
}

}  // namespace lemma
