#include "plans/traces/chakra_files.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "chakra.pb.h"

namespace lemma::traces {

namespace {

constexpr std::int64_t picoseconds_in_microsecond = 1'000'000;
constexpr std::uint64_t most_microseconds = 1'000'000'000'000;  // 10^6 seconds
constexpr std::string_view exact_duration = "duration_picoseconds";

constexpr std::array<std::pair<std::string_view, chakra::CollectiveCommType>, 5> collective_types =
    {{{"AllReduce", chakra::ALL_REDUCE},
      {"AllGather", chakra::ALL_GATHER},
      {"Broadcast", chakra::BROADCAST},
      {"AllToAll", chakra::ALL_TO_ALL},
      {"ReduceScatter", chakra::REDUCE_SCATTER}}};

// ---- Writing

void add_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(value));
}

template <typename Message>
void add_message(std::string& bytes, const Message& message) {
  const std::string text = message.SerializeAsString();
  add_varint(bytes, text.size());
  bytes += text;
}

chakra::Attribute& add_attribute(chakra::Node& node, std::string_view name) {
  chakra::Attribute& attribute = *node.add_attr();
  attribute.set_name(std::string(name));
  return attribute;
}

Result<void> add_communication(chakra::Node& node, const Operation& operation, std::size_t rank) {
  add_attribute(node, "is_cpu_op").set_bool_val(false);
  add_attribute(node, "comm_size").set_int64_val(static_cast<std::int64_t>(operation.bytes));
  if (operation.kind == OperationKind::collective) {
    const auto* const type =
        std::find_if(collective_types.begin(), collective_types.end(),
                     [&](const auto& known) { return known.first == operation.collective; });
    if (type == collective_types.end())
      return unsupported(fmt::format("Chakra's traces have no {}", operation.collective));
    node.set_type(chakra::COMM_COLL_NODE);
    add_attribute(node, "comm_type").set_int64_val(type->second);
    if (!operation.group.empty()) add_attribute(node, "pg_name").set_string_val(operation.group);
    return {};
  }
  const bool sends = operation.kind == OperationKind::send;
  node.set_type(sends ? chakra::COMM_SEND_NODE : chakra::COMM_RECV_NODE);
  const auto own = static_cast<std::int32_t>(rank),
             other = static_cast<std::int32_t>(operation.peer);
  add_attribute(node, "comm_src").set_int32_val(sends ? own : other);
  add_attribute(node, "comm_dst").set_int32_val(sends ? other : own);
  add_attribute(node, "comm_tag").set_int32_val(static_cast<std::int32_t>(operation.tag));
  return {};
}

// ---- Reading

/// The messages of a file, one after the other.
class Messages {
 public:
  explicit Messages(std::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return place_ == bytes_.size(); }
  std::size_t place() const { return place_; }

  template <typename Message>
  Result<Message> next() {
    const std::size_t begin = place_;
    const std::optional<std::uint64_t> size = varint();
    if (!size || *size > bytes_.size() - place_)
      return bad_input(fmt::format("the message at byte {} is cut off", begin));
    Message message;
    if (*size > std::numeric_limits<int>::max() ||
        !message.ParseFromArray(bytes_.data() + place_, static_cast<int>(*size)))
      return bad_input(fmt::format("the message at byte {} is none of a Chakra trace", begin));
    place_ += *size;
    return message;
  }

 private:
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 63 && place_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[place_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  std::string_view bytes_;
  std::size_t place_ = 0;
};

/// A whole number of any of the types that writers take for it; nothing if it is negative or no number.
std::optional<std::uint64_t> whole(const chakra::Attribute& attribute) {
  std::int64_t value = -1;
  switch (attribute.value_case()) {
    case chakra::Attribute::kInt32Val: value = attribute.int32_val(); break;
    case chakra::Attribute::kInt64Val: value = attribute.int64_val(); break;
    case chakra::Attribute::kUint32Val: value = attribute.uint32_val(); break;
    case chakra::Attribute::kUint64Val: return attribute.uint64_val();
    case chakra::Attribute::kSint32Val: value = attribute.sint32_val(); break;
    case chakra::Attribute::kSint64Val: value = attribute.sint64_val(); break;
    case chakra::Attribute::kFixed32Val: value = attribute.fixed32_val(); break;
    case chakra::Attribute::kFixed64Val: return attribute.fixed64_val();
    case chakra::Attribute::kSfixed32Val: value = attribute.sfixed32_val(); break;
    case chakra::Attribute::kSfixed64Val: value = attribute.sfixed64_val(); break;
    default: break;
  }
  return value < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(value));
}

class NodeReader {
 public:
  explicit NodeReader(const chakra::Node& node) : node_(node) {}

  Result<Operation> operator()() const {
    Operation operation;
    operation.number = node_.id();
    operation.name = node_.name();
    operation.waits_for.assign(node_.ctrl_deps().begin(), node_.ctrl_deps().end());
    operation.waits_for.insert(operation.waits_for.end(), node_.data_deps().begin(),
                               node_.data_deps().end());
    std::sort(operation.waits_for.begin(), operation.waits_for.end());
    operation.waits_for.erase(std::unique(operation.waits_for.begin(), operation.waits_for.end()),
                              operation.waits_for.end());
    switch (node_.type()) {
      case chakra::COMM_SEND_NODE:
        LEMMA_RETURN_IF_ERROR(read_message(operation, "comm_dst"));
        break;
      case chakra::COMM_RECV_NODE:
        LEMMA_RETURN_IF_ERROR(read_message(operation, "comm_src"));
        break;
      case chakra::COMM_COLL_NODE: LEMMA_RETURN_IF_ERROR(read_collective(operation)); break;
      default: LEMMA_RETURN_IF_ERROR(read_computing(operation)); break;
    }
    return operation;
  }

 private:
  const chakra::Attribute* find(std::string_view name) const {
    for (const chakra::Attribute& attribute : node_.attr())
      if (attribute.name() == name) return &attribute;
    return nullptr;
  }

  tl::unexpected<Error> wrong(std::string_view what) const {
    return bad_input(fmt::format("node {} '{}': {}", node_.id(), node_.name(), what));
  }

  Result<std::uint64_t> needed(std::string_view name) const {
    const chakra::Attribute* const attribute = find(name);
    const auto value = attribute != nullptr ? whole(*attribute) : std::nullopt;
    if (!value)
      return wrong(fmt::format("it needs the attribute {}, a whole number from 0 on", name));
    return *value;
  }

  Result<void> read_computing(Operation& operation) const {
    if (node_.duration_micros() > most_microseconds)
      return wrong("it takes more than 10^6 seconds");
    operation.picoseconds =
        static_cast<std::int64_t>(node_.duration_micros()) * picoseconds_in_microsecond;
    if (const chakra::Attribute* const exact = find(exact_duration)) {
      const auto value = whole(*exact);
      if (!value || *value > most_microseconds * picoseconds_in_microsecond)
        return wrong(fmt::format("{} is no time below 10^6 seconds", exact_duration));
      operation.picoseconds = static_cast<std::int64_t>(*value);
    }
    operation.kind = node_.type() == chakra::COMP_NODE || operation.picoseconds > 0
                         ? OperationKind::compute
                         : OperationKind::wait;
    return {};
  }

  Result<void> read_message(Operation& operation, std::string_view peer) const {
    operation.kind =
        node_.type() == chakra::COMM_SEND_NODE ? OperationKind::send : OperationKind::receive;
    LEMMA_ASSIGN_OR_RETURN(operation.bytes, needed("comm_size"));
    LEMMA_ASSIGN_OR_RETURN(const std::uint64_t rank, needed(peer));
    operation.peer = static_cast<std::size_t>(rank);
    if (find("comm_tag") != nullptr) {
      LEMMA_ASSIGN_OR_RETURN(operation.tag, needed("comm_tag"));
    }
    return {};
  }

  Result<void> read_collective(Operation& operation) const {
    operation.kind = OperationKind::collective;
    LEMMA_ASSIGN_OR_RETURN(operation.bytes, needed("comm_size"));
    LEMMA_ASSIGN_OR_RETURN(const std::uint64_t type, needed("comm_type"));
    if (const chakra::Attribute* const group = find("pg_name"))
      operation.group = group->string_val();
    if (type == chakra::BARRIER) {
      operation.collective = "AllReduce";
      operation.bytes = 0;
      return {};
    }
    for (const auto& [name, known] : collective_types)
      if (type == static_cast<std::uint64_t>(known)) operation.collective = name;
    if (operation.collective.empty())
      return wrong(chakra::CollectiveCommType_IsValid(static_cast<int>(type))
                       ? fmt::format("how long {} takes is not known",
                                     chakra::CollectiveCommType_Name(
                                         static_cast<chakra::CollectiveCommType>(type)))
                       : fmt::format("there is no collective {}", type));
    return {};
  }

  const chakra::Node& node_;
};

}  // namespace

Result<std::string> chakra_bytes(const Traces& traces, std::size_t rank) {
  std::string bytes;
  chakra::GlobalMetadata metadata;
  metadata.set_version("0.0.4");
  add_message(bytes, metadata);
  for (const Operation& operation : traces.ranks[rank]) {
    chakra::Node node;
    node.set_id(operation.number);
    node.set_name(operation.name);
    for (const std::uint64_t number : operation.waits_for) node.add_data_deps(number);
    if (operation.kind == OperationKind::wait) {
      node.set_type(chakra::METADATA_NODE);
    } else if (operation.kind == OperationKind::compute) {
      node.set_type(chakra::COMP_NODE);
      node.set_duration_micros(static_cast<std::uint64_t>(
          (operation.picoseconds + picoseconds_in_microsecond / 2) / picoseconds_in_microsecond));
      add_attribute(node, "is_cpu_op").set_bool_val(false);
      add_attribute(node, exact_duration).set_int64_val(operation.picoseconds);
    } else {
      LEMMA_RETURN_IF_ERROR(add_communication(node, operation, rank));
    }
    add_message(bytes, node);
  }
  return bytes;
}

std::string groups_json(const Traces& traces) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const auto& [name, ranks] : traces.groups) groups[name] = ranks;
  return groups.dump() + "\n";
}

Result<std::vector<Operation>> read_chakra(std::string_view bytes) {
  Messages messages(bytes);
  if (messages.is_at_end()) return bad_input("it is empty");
  LEMMA_RETURN_IF_ERROR(messages.next<chakra::GlobalMetadata>());
  std::vector<Operation> operations;
  std::set<std::uint64_t> numbers;
  while (!messages.is_at_end()) {
    LEMMA_ASSIGN_OR_RETURN(const chakra::Node node, messages.next<chakra::Node>());
    if (!numbers.insert(node.id()).second)
      return bad_input(fmt::format("two nodes have the id {}", node.id()));
    LEMMA_ASSIGN_OR_RETURN(Operation operation, NodeReader(node)());
    operations.push_back(std::move(operation));
  }
  for (const Operation& operation : operations)
    for (const std::uint64_t number : operation.waits_for)
      if (!numbers.contains(number))
        return bad_input(fmt::format("node {} '{}' waits for node {}, which is not there",
                                     operation.number, operation.name, number));
  return operations;
}

Result<std::map<std::string, std::vector<std::size_t>>> read_groups(std::string_view json,
                                                                    std::size_t ranks) {
  const auto groups = nlohmann::json::parse(json, nullptr, false);
  if (!groups.is_object()) return bad_input("it is no JSON object of groups, {\"0\": [0, 1]}");
  std::map<std::string, std::vector<std::size_t>> result;
  for (const auto& [name, members] : groups.items()) {
    std::vector<std::size_t>& group = result[name];
    for (const auto& member : members) {
      if (!member.is_number_unsigned() || member.get<std::size_t>() >= ranks)
        return bad_input(
            fmt::format("group '{}': {} is none of the {} ranks", name, member.dump(), ranks));
      group.push_back(member.get<std::size_t>());
    }
    std::sort(group.begin(), group.end());
    if (group.empty() || std::adjacent_find(group.begin(), group.end()) != group.end())
      return bad_input(fmt::format("group '{}' has no ranks, or one twice", name));
  }
  return result;
}

}  // namespace lemma::traces
