#pragma once
// What a plan is made for: devices, the links and switches between them, and meshes of devices (targets/clusters/*.json).

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plans/clusters/collectives.h"
#include "plans/clusters/measured.h"

namespace lemma::clusters {

/// A device of a cluster. Its description is a file of targets/devices/.
struct Member {
  std::string description;
  double memory_bytes = 0;
};

/// An end of a link: devices have the first numbers, and switches the following ones.
using End = std::uint32_t;

/// A link of two ends. Both directions have the bandwidth, unless it leads one way only.
struct Link {
  End from = 0, to = 0;
  double latency_seconds = 0;
  double bytes_per_second = 0;
  bool is_one_way = false;
};

/// A direction of a mesh: `size` devices that differ in this coordinate only, and what a message between two of them takes
/// while all of them send.
struct Axis {
  std::string name;
  std::size_t size = 1;
  double latency_seconds = 0;
  double bytes_per_second = 0;
  /// What collectives take along it while all groups do the same, one entry for each way to do it. A collective that is not here
  /// takes what the best known algorithm takes by messages as above.
  std::map<Collective, std::vector<CollectiveTime>> collectives = {};
  std::shared_ptr<const MeasuredTimes> measured = nullptr;  // the cluster's; null: none
};
/// Seconds of a collective along an axis, in the way that takes the least.
double seconds_along(const Axis& axis, Collective collective, double bytes);

/// All devices as a grid: the last coordinate of the device with number 0, 1, ... changes first.
struct Mesh {
  std::string name;
  std::vector<Axis> axes;
};

/// An operator with its attributes and the types of its operands and results, and what it took by itself on a device.
struct MeasuredOperator {
  std::string text;      // "MatMul{} f32[8, 16], f32[16, 4] -> f32[8, 4]"
  double seconds = 0;    // measured
  double predicted = 0;  // seconds by the description of the device
};

struct Cluster {
  std::string name;
  std::string source;  // where the figures come from
  std::size_t hosts = 1;
  std::vector<Member> devices;
  std::vector<std::string> switches;
  std::vector<Link> links;
  std::vector<Mesh> meshes;
  /// Whether a device computes while it sends and receives. Processors that copy what they send do not.
  bool overlaps = true;
  std::shared_ptr<const MeasuredTimes> measured = nullptr;  // null: none
  std::vector<MeasuredOperator> operators;                  // by their texts
};

/// The cluster that a file describes, with so many hosts, or with the usual number. An error names the file, the field, what
/// it is, and what it has to be.
Result<Cluster> load_cluster(const std::filesystem::path& file,
                             std::optional<std::size_t> hosts = std::nullopt);
/// The same for the text of a file.
Result<Cluster> read_cluster(std::string_view text,
                             std::optional<std::size_t> hosts = std::nullopt);

/// The text of a file that describes a cluster of one host: equal clusters have equal texts, and read_cluster gives the cluster
/// again.
std::string cluster_text(const Cluster& cluster);

/// The mesh with this name, or an error that lists those that there are.
Result<Mesh> mesh_of(const Cluster& cluster, std::string_view name);

}  // namespace lemma::clusters
