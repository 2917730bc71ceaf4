#include "ir/data_type.h"

#include <array>

namespace lemma {
namespace {

struct DataTypeInfo {
  std::string_view name;
  int bits;
  DataTypeClass type_class;
};

using enum DataTypeClass;
constexpr std::array<DataTypeInfo, data_type_count> table = {{
    {"undefined", 0, other},    {"f32", 32, real},     {"u8", 8, integer},
    {"i8", 8, integer},         {"u16", 16, integer},  {"i16", 16, integer},
    {"i32", 32, integer},       {"i64", 64, integer},  {"string", 0, other},
    {"bool", 8, boolean},       {"f16", 16, real},     {"f64", 64, real},
    {"u32", 32, integer},       {"u64", 64, integer},  {"complex64", 64, other},
    {"complex128", 128, other}, {"bf16", 16, real},    {"f8e4m3fn", 8, narrow},
    {"f8e4m3fnuz", 8, narrow},  {"f8e5m2", 8, narrow}, {"f8e5m2fnuz", 8, narrow},
    {"u4", 4, narrow},          {"i4", 4, narrow},     {"f4e2m1", 4, narrow},
    {"f8e8m0", 8, narrow},      {"u2", 2, narrow},     {"i2", 2, narrow},
}};
static_assert(table.back().name == "i2", "one row for each data type, in order");

const DataTypeInfo& info(DataType type) { return table.at(static_cast<std::size_t>(type)); }

}  // namespace

std::string_view name(DataType type) { return info(type).name; }

std::optional<DataType> parse_data_type(std::string_view text) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table.at(i).name == text) return static_cast<DataType>(i);
  return std::nullopt;
}

DataTypeClass class_of(DataType type) { return info(type).type_class; }
int bits(DataType type) { return info(type).bits; }

bool is_unsigned_integer(DataType type) {
  return is_integer(type) && info(type).name.front() == 'u';
}

}  // namespace lemma
