#pragma once
// What a rule may change beyond equality over the reals. Proofs speak of real numbers; rules/
// axioms.rounding says of each axiom what it may change for floating-point numbers, and a rule is as
// bad as the worst axiom of its proof.

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lemma {

/// Classes of rounding, from harmless to harmful; rules/axioms.rounding says what each means, and
/// docs/semantics.md what it promises of a model.
enum class RoundingClass { bitwise, reassociation, distributive, rounding };

std::string_view name(RoundingClass rounding);
std::optional<RoundingClass> rounding_class_named(std::string_view name);
/// One line about a name that names no class.
std::string unknown_rounding_class(std::string_view name);

using RoundingTable = std::map<std::string, RoundingClass, std::less<>>;

/// Lines "AXIOM CLASS"; from # on a comment.
Result<RoundingTable> parse_rounding_table(std::string_view text, std::string_view file);
/// Reads the rounding table of the folder rules/. Without a file the table is empty.
Result<RoundingTable> read_rounding_table(const std::filesystem::path& directory);

/// Axioms that are not in the table count as rounding.
RoundingClass worst_of(std::span<const std::string> axioms, const RoundingTable& table);

/// The class that the text of a certificate states; empty if it states none.
std::string_view class_of_certificate(std::string_view certificate);

}  // namespace lemma
