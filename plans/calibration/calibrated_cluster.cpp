#include "plans/calibration/calibrated_cluster.h"

#include <memory>

#include <fmt/format.h>

#include "plans/calibration/exchange_times.h"
#include "plans/clusters/collectives.h"

namespace lemma::plans {

namespace {

using clusters::LinkFit;
using clusters::MeasuredTime;
using clusters::MeasuredTimes;

clusters::Axis axis_of(std::string name, std::size_t size, const MeasuredTimes& measured) {
  clusters::Axis axis{std::move(name), size, 1, 1};
  const auto known =
      measured.all().find({std::string(clusters::name(clusters::Collective::permute)), size});
  if (known == measured.all().end()) return axis;
  std::vector<MeasuredTime> messages = known->second;
  for (MeasuredTime& time : messages) time.bytes /= static_cast<double>(size);  // of one rank
  const LinkFit fit = clusters::fitted_link(messages);
  axis.latency_seconds = fit.latency_seconds;
  axis.bytes_per_second = fit.bytes_per_second;
  return axis;
}

clusters::Cluster cluster_of(const CalibratedRanks& ranks, const MeasuredTimes& measured) {
  clusters::Cluster cluster;
  cluster.name = ranks.name;
  cluster.source = ranks.source;
  cluster.overlaps = false;
  cluster.devices.assign(ranks.ranks, {ranks.device, ranks.memory_bytes});
  LinkFit fit{1, 1};
  const auto messages = measured.all().find({std::string(clusters::message_name), 2});
  if (messages != measured.all().end()) fit = clusters::fitted_link(messages->second);
  for (clusters::End from = 0; from < ranks.ranks; ++from)
    for (clusters::End to = from + 1; to < ranks.ranks; ++to)
      cluster.links.push_back({from, to, fit.latency_seconds, fit.bytes_per_second});
  cluster.meshes.push_back(
      {fmt::format("{}", ranks.ranks), {axis_of("rank", ranks.ranks, measured)}});
  for (const std::size_t size : group_sizes(ranks.ranks)) {
    if (size == ranks.ranks) continue;
    const std::size_t others = ranks.ranks / size;
    cluster.meshes.push_back(
        {fmt::format("{} x {}", others, size),
         {axis_of("slow", others, measured), axis_of("fast", size, measured)}});
  }
  return cluster;
}

}  // namespace

clusters::Cluster ranks_without_figures(const CalibratedRanks& ranks) {
  return cluster_of(ranks, {});
}

clusters::Cluster calibrated_cluster(const CalibratedRanks& ranks, MeasuredTimes measured,
                                     std::vector<clusters::MeasuredOperator> operators) {
  clusters::Cluster cluster = cluster_of(ranks, measured);
  cluster.operators = std::move(operators);
  cluster.measured = std::make_shared<const MeasuredTimes>(std::move(measured));
  for (clusters::Mesh& mesh : cluster.meshes)
    for (clusters::Axis& axis : mesh.axes) axis.measured = cluster.measured;
  return cluster;
}

}  // namespace lemma::plans
