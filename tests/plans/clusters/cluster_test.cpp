#include "plans/clusters/cluster.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "targets/data_files.h"

namespace lemma::clusters {
namespace {

const std::string good = R"({
  "name": "two", "source": "a test",
  "devices": [{"device": "cpu", "count": 2, "memory_bytes": 1e9}],
  "switches": ["hub"],
  "links": [{"ends": ["devices", "hub"], "latency_seconds": 1e-6, "bytes_per_second": 1e9}],
  "meshes": [{"name": "2", "axes": [{"name": "x", "size": 2, "latency_seconds": 1e-6, "bytes_per_second": 1e9}]}]
})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text, std::optional<std::size_t> hosts = std::nullopt) {
  const auto cluster = read_cluster(text, hosts);
  return cluster ? "none" : cluster.error().message;
}

std::string error_with(const std::string& from, const std::string& to) {
  return error_of(replaced(good, from, to));
}

TEST(Cluster, IsRead) {
  const auto cluster = read_cluster(good);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_EQ(cluster->devices.size(), 2U);
  EXPECT_EQ(cluster->links.size(), 2U);
  EXPECT_EQ(cluster->links[1].from, 1U);
  EXPECT_EQ(cluster->links[1].to, 2U);
  ASSERT_TRUE(mesh_of(*cluster, "2"));
  EXPECT_EQ(mesh_of(*cluster, "3").error().message, "the cluster has no mesh '3'; it has '2'");
}

/// Three devices in a ring one way round, with what an all-reduce takes.
const std::string one_way = R"({
  "name": "ring", "source": "a test",
  "devices": [{"device": "cpu", "count": 3, "memory_bytes": 1e9}],
  "links": [
    {"ends": [0, 1], "latency_seconds": 1e-6, "bytes_per_second": 1e9, "one_way": true},
    {"ends": [1, 2], "latency_seconds": 1e-6, "bytes_per_second": 1e9, "one_way": true},
    {"ends": [2, 0], "latency_seconds": 1e-6, "bytes_per_second": 1e9, "one_way": true}],
  "meshes": [{"name": "3", "axes": [{"name": "x", "size": 3, "latency_seconds": 1e-6, "bytes_per_second": 1e9,
    "collectives": {"all-reduce": [{"latency_seconds": 4e-6, "bytes_per_second": 5e8},
                                   {"latency_seconds": 1e-6, "bytes_per_second": 1e8}]}}]}]
})";

TEST(Cluster, LinksMayLeadOneWay) {
  const auto cluster = read_cluster(one_way);
  ASSERT_TRUE(cluster) << cluster.error().message;
  EXPECT_TRUE(cluster->links[2].is_one_way);
  EXPECT_EQ(error_of(replaced(one_way, "[2, 0]", "[0, 2]")),
            "links: no path leads from device 1 to device 0; links that connect all of them are "
            "needed");
  EXPECT_EQ(error_of(replaced(one_way, "[2, 0]", "[0, 1]")),
            "links[2].ends: is [0,1]; a pair that no other link has (add their bandwidths) is "
            "needed");
  EXPECT_EQ(error_of(replaced(one_way, "true", "1")),
            "links[0].one_way: is 1; true or false is needed");
}

TEST(Cluster, AnAxisMaySayWhatCollectivesTake) {
  const auto cluster = read_cluster(one_way);
  ASSERT_TRUE(cluster) << cluster.error().message;
  const Axis& axis = cluster->meshes[0].axes[0];
  EXPECT_DOUBLE_EQ(seconds_along(axis, Collective::all_reduce, 1e9), 4e-6 + 2);
  EXPECT_DOUBLE_EQ(seconds_along(axis, Collective::all_reduce, 1), 1e-6 + 1e-8);
  EXPECT_EQ(seconds_along(axis, Collective::all_gather, 1e6),
            best_algorithm(Collective::all_gather, 1e6, 3, wire_of(axis)).seconds);
  EXPECT_EQ(error_of(replaced(one_way, "all-reduce", "reduce")).substr(0, 62),
            "meshes[0].axes[0].collectives.reduce: is [{\"bytes_per_second\":");
  EXPECT_EQ(error_of(replaced(one_way, "\"bytes_per_second\": 5e8", "\"bytes_per_second\": 0")),
            "meshes[0].axes[0].collectives.all-reduce[0].bytes_per_second: is 0; a number above 0 "
            "is needed");
}

TEST(Cluster, TextIsReadAgain) {
  for (const std::string& text : {good, one_way}) {
    const auto cluster = read_cluster(text);
    ASSERT_TRUE(cluster);
    const std::string written = cluster_text(*cluster);
    const auto again = read_cluster(written);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(cluster_text(*again), written);
    EXPECT_EQ(again->links.size(), cluster->links.size());
    EXPECT_EQ(again->meshes[0].axes[0].collectives, cluster->meshes[0].axes[0].collectives);
  }
}

TEST(Cluster, ErrorsNameFieldFaultAndRemedy) {
  EXPECT_EQ(error_of("[1"), "the file: is not JSON; one JSON object is needed");
  EXPECT_EQ(error_of("[1]"),
            "the file: is [1]; an object with name, source, hosts, devices, switches, network, "
            "links, meshes, overlap, measured, operators is needed");
  EXPECT_EQ(error_with("\"memory_bytes\": 1e9", "\"memory_bytes\": -1e9"),
            "devices[0].memory_bytes: is -1000000000.0; a number above 0 is needed");
  EXPECT_EQ(error_with("\"memory_bytes\": 1e9", "\"memory_bytes\": 0"),
            "devices[0].memory_bytes: is 0; a number above 0 is needed");
  EXPECT_EQ(error_with("\"memory_bytes\": 1e9", "\"memory_bytes\": \"1e9\""),
            "devices[0].memory_bytes: is \"1e9\"; a number above 0 is needed");
  EXPECT_EQ(error_with(", \"memory_bytes\": 1e9", ""),
            "devices[0].memory_bytes: is missing; a number above 0 is needed");
  EXPECT_EQ(error_with("\"latency_seconds\": 1e-6", "\"latency_seconds\": 0.0"),
            "links[0].latency_seconds: is 0.0; a number above 0 is needed");
  EXPECT_EQ(error_with("\"latency_seconds\": 1e-6", "\"latency\": 1e-6"),
            "links[0].latency: is no field; there are ends, latency_seconds, bytes_per_second, "
            "one_way");
  EXPECT_EQ(error_with("\"latency_seconds\": 1e-6", "\"latency_seconds\": NaN"),
            "the file: is not JSON; one JSON object is needed");
  EXPECT_EQ(error_with("\"latency_seconds\": 1e-6", "\"latency_seconds\": 1e999"),
            "the file: is not JSON; one JSON object is needed");
  EXPECT_EQ(error_with("\"count\": 2", "\"count\": 2.5"),
            "devices[0].count: is 2.5; a whole number from 1 to 65536 is needed");
  EXPECT_EQ(error_with("\"count\": 2", "\"count\": -2"),
            "devices[0].count: is -2; a whole number from 1 to 65536 is needed");
  EXPECT_EQ(error_with("\"count\": 2", "\"count\": 3"),
            "meshes[0].axes: have 2 places; 3, one for each device, are needed");
  EXPECT_EQ(error_with("\"size\": 2", "\"size\": 0"),
            "meshes[0].axes[0].size: is 0; a whole number from 1 on, or \"hosts\", is needed");
  EXPECT_EQ(error_with("[\"devices\", \"hub\"]", "[0, \"hub\"]"),
            "links: no path leads from device 0 to device 1; links that connect all of them are "
            "needed");
  EXPECT_EQ(error_with("[\"devices\", \"hub\"]", "[2, \"hub\"]"),
            "links[0].ends[0]: is 2; a device from 0 to 1, \"devices\", \"hub\" is needed");
  EXPECT_EQ(error_with("[\"devices\", \"hub\"]", "[1, 1]"),
            "links[0].ends: is [1,1]; a pair of two ends is needed");
  EXPECT_EQ(error_of(good, 2),
            "hosts: is missing, but 2 hosts are asked for; without it a file describes 1");
}

TEST(Cluster, ALinkIsThereOnce) {
  const std::string twice =
      replaced(good, "\"links\": [",
               R"("links": [{"ends": ["hub", 1], "latency_seconds": 1, "bytes_per_second": 1}, )");
  EXPECT_EQ(error_of(twice),
            "links[1].ends: is [\"devices\",\"hub\"]; a pair that no other link has (add their "
            "bandwidths) is needed");
}

/// Tests run in the root of the repository, where targets/ has the shipped files.
class Shipped : public ::testing::Test {
 protected:
  void SetUp() override { setenv("LEMMA_DATA", "targets", 1); }
  void TearDown() override { unsetenv("LEMMA_DATA"); }
};

TEST_F(Shipped, ClustersAreRead) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data_directory() / "clusters")) {
    const auto cluster = load_cluster(entry.path());
    ASSERT_TRUE(cluster) << cluster.error().message;
    for (const Member& device : cluster->devices)
      EXPECT_TRUE(device_file(device.description)) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 6U);
  const auto file = cluster_file("h100-hosts");
  ASSERT_TRUE(file);
  for (const std::size_t hosts : {2U, 3U, 16U}) {
    const auto cluster = load_cluster(*file, hosts);
    ASSERT_TRUE(cluster) << cluster.error().message;
    EXPECT_EQ(cluster->devices.size(), 8 * hosts);
    EXPECT_EQ(cluster->switches.size(), hosts + 1);
    EXPECT_EQ(cluster->links.size(), 16 * hosts);
    EXPECT_EQ(cluster->meshes[0].axes[0].size, hosts);
  }
  const std::string message = load_cluster(*file, 17).error().message;
  EXPECT_NE(message.find("hosts: 17 are asked for; the file describes 2 to 16"), std::string::npos)
      << message;
}

TEST_F(Shipped, EachV100OfADgxHasSixLinks) {
  const auto cluster = load_cluster(cluster_file("dgx-1").value());
  ASSERT_TRUE(cluster) << cluster.error().message;
  std::vector<double> bandwidth(8);
  for (const Link& link : cluster->links) {
    bandwidth[link.from] += link.bytes_per_second;
    bandwidth[link.to] += link.bytes_per_second;
  }
  for (const double sum : bandwidth) EXPECT_DOUBLE_EQ(sum, 6 * 25e9);
}

TEST_F(Shipped, UnknownNamesListTheKnownOnes) {
  const auto file = cluster_file("h200-host");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("dgx-1, h100-host, h100-hosts"), std::string::npos)
      << file.error().message;
}

}  // namespace
}  // namespace lemma::clusters
