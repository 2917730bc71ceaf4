#include "plans/clusters/cluster.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "plans/clusters/fields.h"

namespace lemma::clusters {

namespace {

/// More devices are an error of the file: plans are made for each of them.
constexpr std::size_t most_devices = 65536;

/// Reads one file: what a host has, and how often.
class Reader {
 public:
  Reader(const nlohmann::json& json, std::optional<std::size_t> asked)
      : root_{&json, ""}, asked_(asked) {}

  Result<Cluster> read() {
    LEMMA_RETURN_IF_ERROR(
        check_object(root_, {"name", "source", "hosts", "devices", "switches", "network", "links",
                             "meshes", "overlap", "measured", "operators"}));
    LEMMA_ASSIGN_OR_RETURN(cluster_.name, name_at(member(root_, "name")));
    LEMMA_ASSIGN_OR_RETURN(cluster_.source, name_at(member(root_, "source")));
    LEMMA_RETURN_IF_ERROR(read_hosts());
    LEMMA_RETURN_IF_ERROR(read_devices());
    LEMMA_RETURN_IF_ERROR(read_switches());
    LEMMA_RETURN_IF_ERROR(read_links());
    LEMMA_RETURN_IF_ERROR(check_connected());
    LEMMA_RETURN_IF_ERROR(read_overlap());
    LEMMA_RETURN_IF_ERROR(read_measured());
    LEMMA_RETURN_IF_ERROR(read_operators());
    LEMMA_RETURN_IF_ERROR(read_meshes());
    return cluster_;
  }

 private:
  Result<void> read_hosts();
  Result<void> read_devices();
  Result<void> read_switches();
  Result<std::vector<std::string>> switch_names(const std::string& field);
  Result<void> read_links();
  Result<void> read_link(const Field& field);
  Result<void> add_link(const Field& field, Link link);
  Result<std::vector<End>> ends_of(const Field& field, std::size_t host) const;
  Result<void> check_connected() const;
  Result<void> read_overlap();
  Result<void> read_measured();
  static Result<std::vector<MeasuredTime>> read_times(const Field& field);
  Result<void> read_operators();
  Result<void> read_meshes();
  Result<Axis> read_axis(const Field& field) const;

  Field root_;
  std::optional<std::size_t> asked_;
  Cluster cluster_;
  std::size_t devices_of_host_ = 0;
  std::vector<std::string> switches_of_host_, network_;
  std::set<std::pair<End, End>> linked_;  // by direction
};

Result<void> Reader::read_hosts() {
  const Field field = member(root_, "hosts");
  if (field.json == nullptr) {
    if (asked_.value_or(1) != 1)
      return bad_input(fmt::format(
          "hosts: is missing, but {} hosts are asked for; without it a file describes 1", *asked_));
    return {};
  }
  LEMMA_RETURN_IF_ERROR(check_object(field, {"least", "most", "usual"}));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t least,
                         whole_number(member(field, "least"), 1, most_devices));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t most,
                         whole_number(member(field, "most"), least, most_devices));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t usual,
                         whole_number(member(field, "usual"), least, most));
  cluster_.hosts = asked_.value_or(usual);
  if (cluster_.hosts < least || cluster_.hosts > most)
    return bad_input(fmt::format("hosts: {} are asked for; the file describes {} to {}",
                                 cluster_.hosts, least, most));
  return {};
}

Result<void> Reader::read_devices() {
  const Field field = member(root_, "devices");
  LEMMA_ASSIGN_OR_RETURN(const std::size_t size, list_size(field, "a list of devices"));
  std::vector<Member> of_host;
  for (std::size_t place = 0; place < size; ++place) {
    const Field entry = element(field, place);
    LEMMA_RETURN_IF_ERROR(check_object(entry, {"device", "count", "memory_bytes"}));
    Member device;
    LEMMA_ASSIGN_OR_RETURN(device.description, name_at(member(entry, "device")));
    LEMMA_ASSIGN_OR_RETURN(device.memory_bytes, number_above_zero(member(entry, "memory_bytes")));
    LEMMA_ASSIGN_OR_RETURN(const std::size_t count,
                           whole_number(member(entry, "count"), 1, most_devices));
    of_host.insert(of_host.end(), count, device);
    if (of_host.size() * cluster_.hosts > most_devices)
      return wrong(member(entry, "count"), fmt::format("at most {} devices", most_devices));
  }
  if (of_host.empty()) return wrong(field, "a list of at least 1 device");
  devices_of_host_ = of_host.size();
  for (std::size_t host = 0; host < cluster_.hosts; ++host)
    cluster_.devices.insert(cluster_.devices.end(), of_host.begin(), of_host.end());
  return {};
}

Result<std::vector<std::string>> Reader::switch_names(const std::string& name) {
  std::vector<std::string> names;
  const Field field = member(root_, name);
  if (field.json == nullptr) return names;
  LEMMA_ASSIGN_OR_RETURN(const std::size_t size, list_size(field, "a list of names"));
  for (std::size_t place = 0; place < size; ++place) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, name_at(element(field, place)));
    const auto is_same = [&](const std::string& other) { return other == text; };
    if (text == "devices" || std::any_of(names.begin(), names.end(), is_same) ||
        std::any_of(switches_of_host_.begin(), switches_of_host_.end(), is_same))
      return wrong(element(field, place), "a name that nothing else has");
    names.push_back(text);
  }
  return names;
}

Result<void> Reader::read_switches() {
  LEMMA_ASSIGN_OR_RETURN(switches_of_host_, switch_names("switches"));
  LEMMA_ASSIGN_OR_RETURN(network_, switch_names("network"));
  for (std::size_t host = 0; host < cluster_.hosts; ++host)
    for (const std::string& name : switches_of_host_)
      cluster_.switches.push_back(cluster_.hosts == 1 ? name : fmt::format("{} {}", name, host));
  cluster_.switches.insert(cluster_.switches.end(), network_.begin(), network_.end());
  return {};
}

/// The ends that a link names, in one host: a device, all devices, or a switch.
Result<std::vector<End>> Reader::ends_of(const Field& field, std::size_t host) const {
  const auto first_device = static_cast<End>(host * devices_of_host_);
  const auto first_switch =
      static_cast<End>(cluster_.devices.size() + host * switches_of_host_.size());
  const auto first_outside =
      static_cast<End>(cluster_.devices.size() + cluster_.hosts * switches_of_host_.size());
  if (field.json->is_number_unsigned()) {
    const auto number = field.json->get<std::uint64_t>();
    if (number < devices_of_host_) return std::vector<End>{first_device + static_cast<End>(number)};
  } else if (field.json->is_string()) {
    const auto name = field.json->get<std::string>();
    if (name == "devices") {
      std::vector<End> all(devices_of_host_);
      std::iota(all.begin(), all.end(), first_device);
      return all;
    }
    const auto place = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) - names.begin();
    };
    if (const auto at = place(switches_of_host_); std::cmp_less(at, switches_of_host_.size()))
      return std::vector<End>{first_switch + static_cast<End>(at)};
    if (const auto at = place(network_); std::cmp_less(at, network_.size()))
      return std::vector<End>{first_outside + static_cast<End>(at)};
  }
  std::string names;
  for (const auto* list : {&switches_of_host_, &network_})
    for (const std::string& name : *list) names += ", \"" + name + "\"";
  return wrong(field, fmt::format("a device from 0 to {}, \"devices\"{}", devices_of_host_ - 1,
                                  names.empty() ? " or a switch" : names));
}

Result<void> Reader::add_link(const Field& field, Link link) {
  if (link.from == link.to) return wrong(field, "a pair of two ends");
  const bool is_new = linked_.emplace(link.from, link.to).second &&
                      (link.is_one_way || linked_.emplace(link.to, link.from).second);
  if (!is_new) return wrong(field, "a pair that no other link has (add their bandwidths)");
  cluster_.links.push_back(link);
  return {};
}

Result<void> Reader::read_link(const Field& field) {
  LEMMA_RETURN_IF_ERROR(
      check_object(field, {"ends", "latency_seconds", "bytes_per_second", "one_way"}));
  Link link;
  LEMMA_ASSIGN_OR_RETURN(link.is_one_way, truth_or_false(member(field, "one_way")));
  LEMMA_ASSIGN_OR_RETURN(link.latency_seconds, number_above_zero(member(field, "latency_seconds")));
  LEMMA_ASSIGN_OR_RETURN(link.bytes_per_second,
                         number_above_zero(member(field, "bytes_per_second")));
  const Field ends = member(field, "ends");
  LEMMA_ASSIGN_OR_RETURN(const std::size_t size, list_size(ends, "a list of 2 ends"));
  if (size != 2) return wrong(ends, "a list of 2 ends");
  const auto is_outside = [&](const Field& end) {
    return end.json->is_string() && std::find(network_.begin(), network_.end(),
                                              end.json->get<std::string>()) != network_.end();
  };
  // A link of two switches outside is there once.
  const bool is_once = is_outside(element(ends, 0)) && is_outside(element(ends, 1));
  for (std::size_t host = 0; host < (is_once ? 1 : cluster_.hosts); ++host) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<End> from, ends_of(element(ends, 0), host));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<End> to, ends_of(element(ends, 1), host));
    for (const End first : from)
      for (const End second : to) {
        // "devices" with "devices": each pair once.
        if (from.size() > 1 && to.size() > 1 && first >= second) continue;
        link.from = first, link.to = second;
        LEMMA_RETURN_IF_ERROR(add_link(ends, link));
      }
  }
  return {};
}

Result<void> Reader::read_links() {
  const Field field = member(root_, "links");
  LEMMA_ASSIGN_OR_RETURN(const std::size_t size, list_size(field, "a list of links"));
  for (std::size_t place = 0; place < size; ++place)
    LEMMA_RETURN_IF_ERROR(read_link(element(field, place)));
  return {};
}

/// Which ends links lead to from device 0; backwards: which ends they lead from to it.
std::vector<bool> reached(const Cluster& cluster, bool backwards) {
  std::vector<std::vector<End>> next(cluster.devices.size() + cluster.switches.size());
  for (const Link& link : cluster.links) {
    if (!link.is_one_way || !backwards) next[link.from].push_back(link.to);
    if (!link.is_one_way || backwards) next[link.to].push_back(link.from);
  }
  std::vector<bool> is_reached(next.size(), false);
  std::vector<End> waiting = {0};
  is_reached[0] = true;
  while (!waiting.empty()) {
    const End end = waiting.back();
    waiting.pop_back();
    for (const End other : next[end]) {
      if (is_reached[other]) continue;
      is_reached[other] = true;
      waiting.push_back(other);
    }
  }
  return is_reached;
}

Result<void> Reader::check_connected() const {
  for (const bool backwards : {false, true}) {
    const std::vector<bool> is_reached = reached(cluster_, backwards);
    const auto lost = std::find(is_reached.begin(), is_reached.end(), false);
    if (lost == is_reached.end()) continue;
    const auto end = static_cast<std::size_t>(lost - is_reached.begin());
    const std::string name =
        end < cluster_.devices.size()
            ? fmt::format("device {}", end)
            : fmt::format("'{}'", cluster_.switches[end - cluster_.devices.size()]);
    return bad_input(
        fmt::format("links: no path leads from {} to {}; links that connect all of them are needed",
                    backwards ? name : "device 0", backwards ? "device 0" : name));
  }
  return {};
}

/// By the name of a collective, what it takes in each way.
Result<std::map<Collective, std::vector<CollectiveTime>>> read_collectives(const Field& field) {
  std::map<Collective, std::vector<CollectiveTime>> result;
  if (field.json == nullptr) return result;
  if (!field.json->is_object()) return wrong(field, "an object with the names of collectives");
  for (const auto& [text, ways] : field.json->items()) {
    const Field entry = member(field, text);
    const auto collective = collective_with_name(text);
    if (!collective) return wrong(entry, "the name of a collective, such as all-reduce,");
    LEMMA_ASSIGN_OR_RETURN(const std::size_t size, list_size(entry, "a list of times"));
    if (size == 0) return wrong(entry, "a list of at least 1 time");
    for (std::size_t place = 0; place < size; ++place) {
      const Field way = element(entry, place);
      LEMMA_RETURN_IF_ERROR(check_object(way, {"latency_seconds", "bytes_per_second"}));
      CollectiveTime time;
      LEMMA_ASSIGN_OR_RETURN(time.latency_seconds,
                             number_above_zero(member(way, "latency_seconds")));
      LEMMA_ASSIGN_OR_RETURN(time.bytes_per_second,
                             number_above_zero(member(way, "bytes_per_second")));
      result[*collective].push_back(time);
    }
  }
  return result;
}

Result<Axis> Reader::read_axis(const Field& field) const {
  LEMMA_RETURN_IF_ERROR(
      check_object(field, {"name", "size", "latency_seconds", "bytes_per_second", "collectives"}));
  Axis axis;
  LEMMA_ASSIGN_OR_RETURN(axis.name, name_at(member(field, "name")));
  const Field size = member(field, "size");
  if (size.json != nullptr && size.json->is_string() && *size.json == "hosts") {
    axis.size = cluster_.hosts;
  } else {
    const auto number = whole_number(size, 1, most_devices);
    if (!number) return wrong(size, "a whole number from 1 on, or \"hosts\",");
    axis.size = *number;
  }
  LEMMA_ASSIGN_OR_RETURN(axis.latency_seconds, number_above_zero(member(field, "latency_seconds")));
  LEMMA_ASSIGN_OR_RETURN(axis.bytes_per_second,
                         number_above_zero(member(field, "bytes_per_second")));
  LEMMA_ASSIGN_OR_RETURN(axis.collectives, read_collectives(member(field, "collectives")));
  axis.measured = cluster_.measured;
  return axis;
}

Result<void> Reader::read_overlap() {
  const Field field = member(root_, "overlap");
  if (field.json == nullptr) return {};
  if (!field.json->is_boolean()) return wrong(field, "true or false");
  cluster_.overlaps = field.json->get<bool>();
  return {};
}

/// Pairs of bytes and seconds, the bytes ascending.
Result<std::vector<MeasuredTime>> Reader::read_times(const Field& field) {
  constexpr std::string_view needed = "a list of pairs of bytes and seconds";
  LEMMA_ASSIGN_OR_RETURN(const std::size_t size, list_size(field, needed));
  if (size == 0) return wrong(field, "a list of at least 1 pair of bytes and seconds");
  std::vector<MeasuredTime> times;
  for (std::size_t at = 0; at < size; ++at) {
    const Field pair = element(field, at);
    if (!pair.json->is_array() || pair.json->size() != 2)
      return wrong(pair, "a pair of bytes and seconds");
    MeasuredTime time;
    LEMMA_ASSIGN_OR_RETURN(time.bytes, number_above_zero(element(pair, 0)));
    LEMMA_ASSIGN_OR_RETURN(time.seconds, number_above_zero(element(pair, 1)));
    if (!times.empty() && time.bytes <= times.back().bytes)
      return wrong(element(pair, 0), "a number above that of the pair before");
    times.push_back(time);
  }
  return times;
}

Result<void> Reader::read_measured() {
  const Field field = member(root_, "measured");
  if (field.json == nullptr) return {};
  LEMMA_ASSIGN_OR_RETURN(const std::size_t size, list_size(field, "a list of measured exchanges"));
  const std::vector<std::string_view> names = measured_names();
  MeasuredTimes measured;
  for (std::size_t place = 0; place < size; ++place) {
    const Field entry = element(field, place);
    LEMMA_RETURN_IF_ERROR(check_object(entry, {"what", "ranks", "times"}));
    LEMMA_ASSIGN_OR_RETURN(std::string what, name_at(member(entry, "what")));
    if (std::find(names.begin(), names.end(), what) == names.end())
      return wrong(member(entry, "what"), fmt::format("one of {}", fmt::join(names, ", ")));
    LEMMA_ASSIGN_OR_RETURN(const std::size_t ranks,
                           whole_number(member(entry, "ranks"), 2, most_devices));
    if (measured.all().contains({what, ranks}))
      return wrong(entry, "one entry for each exchange and number of ranks");
    LEMMA_ASSIGN_OR_RETURN(std::vector<MeasuredTime> times, read_times(member(entry, "times")));
    measured.add(std::move(what), ranks, std::move(times));
  }
  cluster_.measured = std::make_shared<const MeasuredTimes>(std::move(measured));
  return {};
}

Result<void> Reader::read_operators() {
  const Field field = member(root_, "operators");
  if (field.json == nullptr) return {};
  if (!field.json->is_object()) return wrong(field, "an object with operators and their times");
  for (const auto& [text, json] : field.json->items()) {
    const Field entry{&json, fmt::format("operators.{}", text)};
    if (!json.is_array() || json.size() != 2)
      return wrong(entry, "a pair of measured seconds and those by the device's description");
    MeasuredOperator measured{text, 0, 0};
    LEMMA_ASSIGN_OR_RETURN(measured.seconds, number_above_zero(element(entry, 0)));
    LEMMA_ASSIGN_OR_RETURN(measured.predicted, number_above_zero(element(entry, 1)));
    cluster_.operators.push_back(std::move(measured));
  }
  return {};
}

Result<void> Reader::read_meshes() {
  const Field field = member(root_, "meshes");
  LEMMA_ASSIGN_OR_RETURN(const std::size_t size, list_size(field, "a list of meshes"));
  for (std::size_t place = 0; place < size; ++place) {
    const Field entry = element(field, place);
    LEMMA_RETURN_IF_ERROR(check_object(entry, {"name", "axes"}));
    Mesh mesh;
    LEMMA_ASSIGN_OR_RETURN(mesh.name, name_at(member(entry, "name")));
    for (const Mesh& other : cluster_.meshes)
      if (other.name == mesh.name)
        return wrong(member(entry, "name"), "a name that no other mesh has");
    const Field axes = member(entry, "axes");
    LEMMA_ASSIGN_OR_RETURN(const std::size_t rank, list_size(axes, "a list of axes"));
    std::size_t product = 1;
    for (std::size_t at = 0; at < rank; ++at) {
      LEMMA_ASSIGN_OR_RETURN(Axis axis, read_axis(element(axes, at)));
      for (const Axis& other : mesh.axes)
        if (other.name == axis.name)
          return wrong(member(element(axes, at), "name"), "a name that no other axis has");
      product = std::min(product * axis.size, most_devices + 1);
      mesh.axes.push_back(std::move(axis));
    }
    if (product != cluster_.devices.size())
      return bad_input(fmt::format("{}: have {} places; {}, one for each device, are needed",
                                   axes.path, product, cluster_.devices.size()));
    cluster_.meshes.push_back(std::move(mesh));
  }
  if (cluster_.meshes.empty()) return wrong(field, "a list of at least 1 mesh");
  return {};
}

}  // namespace

Result<Cluster> read_cluster(std::string_view text, std::optional<std::size_t> hosts) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return bad_input("the file: is not JSON; one JSON object is needed");
  return Reader(json, hosts).read();
}

Result<Cluster> load_cluster(const std::filesystem::path& file, std::optional<std::size_t> hosts) {
  std::ifstream stream(file);
  if (!stream) return bad_input(fmt::format("{}: cannot be read", file.string()));
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  auto cluster = read_cluster(text, hosts);
  if (!cluster) return with_context(file.string(), std::move(cluster.error()));
  return cluster;
}

Result<Mesh> mesh_of(const Cluster& cluster, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Mesh& mesh : cluster.meshes) {
    if (mesh.name == name) return mesh;
    known.push_back(mesh.name);
  }
  return bad_input(
      fmt::format("the cluster has no mesh '{}'; it has '{}'", name, fmt::join(known, "', '")));
}

}  // namespace lemma::clusters
