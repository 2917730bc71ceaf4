#include "plans/timetables/exchange_seconds.h"

#include <algorithm>
#include <map>
#include <string>

#include "ir/data_type.h"

namespace lemma::plans {
namespace {

/// The tensor that a collective counts by, as plans/clusters/collectives.h has it.
double counted_bytes(const Exchange& exchange, double ranks) {
  const double operand = bytes_of_tensor(exchange.operand_type);
  const bool is_of_parts =
      exchange.op == "AllGather" || exchange.op == "AllToAll" || exchange.op == "Permute";
  return is_of_parts ? operand * ranks : operand;
}

}  // namespace

std::optional<clusters::Collective> collective_of(std::string_view op) {
  using clusters::Collective;
  static const std::map<std::string, Collective, std::less<>> kinds = {
      {"AllReduce", Collective::all_reduce},         {"AllGather", Collective::all_gather},
      {"ReduceScatter", Collective::reduce_scatter}, {"AllToAll", Collective::all_to_all},
      {"Broadcast", Collective::broadcast},          {"Permute", Collective::permute}};
  const auto kind = kinds.find(op);
  return kind == kinds.end() ? std::nullopt : std::optional(kind->second);
}

double bytes_of_tensor(const TensorType& type) {
  double bytes = static_cast<double>(byte_size(type.data_type));
  const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
  if (!sizes) return 0;
  for (const std::int64_t size : *sizes) bytes *= static_cast<double>(size);
  return bytes;
}

double exchange_seconds(const Exchange& exchange, std::size_t ranks, const clusters::Wire& wire) {
  const auto kind = collective_of(exchange.op);
  if (!kind) return 0;
  return clusters::best_algorithm(*kind, counted_bytes(exchange, static_cast<double>(ranks)), ranks,
                                  wire)
      .seconds;
}

clusters::Wire wire_between(const Group& devices, const Paths& paths) {
  clusters::Wire wire;
  for (const std::size_t a : devices)
    for (const std::size_t b : devices)
      if (a != b) {
        wire.latency_seconds = std::max(wire.latency_seconds, paths.latency(a, b));
        wire.seconds_per_byte = std::max(wire.seconds_per_byte, paths.seconds_per_byte(a, b));
      }
  return wire;
}

}  // namespace lemma::plans
