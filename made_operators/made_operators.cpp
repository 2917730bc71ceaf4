// The ways in which operators are made of others (declared in ir/operator.h and ir/derived_operator.h).

#include <fmt/format.h>

#include "differentiate/gradient_records.h"
#include "ir/derived_operator.h"
#include "made_operators/per_device.h"

namespace lemma {

std::optional<DerivedOperator> derived_operator(const OperatorRecord& record) {
  if (made_operators::is_per_device(record))
    return DerivedOperator{
        made_operators::local_operator(record),
        fmt::format("on each device, version {}", made_operators::per_device_version)};
  return differentiate::derived_gradient(record);
}

std::optional<OperatorRecord> made_operator(std::string_view name) {
  if (auto copies = made_operators::per_device_record(name)) return copies;
  return differentiate::gradient_record(name);
}

}  // namespace lemma
