#pragma once
// The plan of a command's files (outputs/plan.h), with models and their data.

#include <filesystem>
#include <string>
#include <vector>

#include "batch/optimize_request.h"
#include "outputs/plan.h"
#include "targets/target.h"

namespace lemma {

/// Adds a model and the files of its external data as inputs. What this process writes from now on is kept from those from
/// whom these files are kept.
void read_model(FilePlan& plan, const std::filesystem::path& model,
                const std::string& role = "the input");

/// Chooses where the task programs of results go: beside each, under its name (Target::program_beside()). Where
/// something else has that name, another one is taken, and a note on standard error says so.
void choose_program_directories(const Target& target, std::vector<OptimizeRequest>& requests);

/// Adds what requests read and write, and checks the plan. `sent_to`: where the only result goes in the end; empty: to its
/// file.
Result<void> check_files(FilePlan plan, const std::vector<OptimizeRequest>& requests,
                         const std::string& sent_to);

}  // namespace lemma
