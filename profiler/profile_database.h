#pragma once
// What was measured, in one SQLite file. Several processes may create, use and close it at once: each waits for the
// others, at most a minute. What was committed survives the end of any of them at any time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "costmodel/cost_provider.h"
#include "profiler/function_resources.h"

struct sqlite3;

namespace lemma {

/// What a cost was measured on. Costs of different identities are not mixed.
struct RuntimeIdentity {
  std::string runtime;    // "ONNX Runtime 1.31.1"
  std::string processor;  // its model and vector extensions
  int threads = 0;

  friend bool operator==(const RuntimeIdentity&, const RuntimeIdentity&) = default;
};

/// The processor that this program runs on: "AMD EPYC, family 25, model 17, avx2 avx512f".
std::string processor_identity();

struct ProfileEntry {
  std::string key;                // what was measured, as one line
  std::string kind;               // the first word of the key, for interpolation: "Conv"
  double elements = 0, work = 0;  // measures of size, for interpolation: RuntimeNode
  double seconds = 0;             // median
  double spread = 0;              // quartile deviation, in seconds
  int repetitions = 0;            // blocks of runs
  Provenance provenance = Provenance::measured;
  std::string date;  // "2026-11-22"
};

/// What one target's entries are.
struct TargetProfile {
  RuntimeIdentity target;
  std::vector<ProfileEntry> entries;
};
/// What ProfileDatabase::export_json() wrote. `as`: how the entries are known here.
Result<std::vector<TargetProfile>> parse_profile(std::string_view text, Provenance as);

/// A loop schedule that was measured faster than what is written without one (docs/tune.md).
struct ScheduleRecord {
  std::string key;            // of the computation
  std::string schedule;       // as text
  std::string description;    // of the operator that it was measured in
  double seconds_before = 0;  // of the operator's program without a record, median
  double seconds = 0;         // with it
  int rounds = 0;             // in which both ran in turn
  std::string date;
};

/// A choice of schedules that was timed, whether it was faster or not.
struct ScheduleTrial {
  std::string schedules;  // of all computations of the operator
  double ratio = 0;       // of its time to that without a record; 0: it has no program
};

class ProfileDatabase {
 public:
  /// Makes the file, and its folder, if it is not there. An error names the file.
  static Result<ProfileDatabase> open(const std::filesystem::path& file);
  /// Opens it only to read from: nothing if there is no such file, or none with tables yet.
  static Result<std::optional<ProfileDatabase>> open_to_read(const std::filesystem::path& file);
  ProfileDatabase(ProfileDatabase&&) noexcept = default;
  ProfileDatabase& operator=(ProfileDatabase&&) noexcept = default;

  /// All entries of a target, by key.
  Result<std::vector<ProfileEntry>> entries(const RuntimeIdentity& target) const;
  Result<std::optional<ProfileEntry>> find(const RuntimeIdentity& target,
                                           const std::string& key) const;
  Result<std::vector<RuntimeIdentity>> targets() const;

  /// All or nothing. What was known of a key is replaced, unless it is known better: an entry that was
  /// measured elsewhere does not replace one that was measured.
  Result<void> put(const RuntimeIdentity& target, std::span<const ProfileEntry> entries);

  /// What is known of functions for an architecture; without one, of all. In the order of what was compiled, and of digests.
  Result<std::vector<ResourceFacts>> resources(std::string_view architecture = "") const;
  /// All or nothing. What was known of the same functions is replaced.
  Result<void> put(const ResourceFacts& facts);

  /// Whether there are loop schedules of any target.
  Result<bool> has_schedules() const;
  /// The loop schedules of a target, by key.
  Result<std::vector<ScheduleRecord>> schedules(const RuntimeIdentity& target) const;
  /// All or nothing. What was known of the same keys is replaced.
  Result<void> put(const RuntimeIdentity& target, std::span<const ScheduleRecord> records);
  /// Removes the records of these keys.
  Result<void> remove_schedules(const RuntimeIdentity& target, std::span<const std::string> keys);
  /// What was timed of an operator, by schedules.
  Result<std::vector<ScheduleTrial>> trials(const RuntimeIdentity& target,
                                            const std::string& op) const;
  Result<void> put(const RuntimeIdentity& target, const std::string& op, const ScheduleTrial& trial,
                   const std::string& date);

  /// All of it as JSON, sorted, with a line for each entry.
  Result<std::string> export_json() const;
  /// Takes in what export_json() wrote. The number of entries read. `as`: how the entries are known here.
  Result<std::size_t> import_json(std::string_view text, Provenance as);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit ProfileDatabase(std::unique_ptr<sqlite3, Close> database)
      : database_(std::move(database)) {}
  static Result<ProfileDatabase> connect(const std::filesystem::path& file, int flags);
  Result<void> execute(const char* sql) const;
  Result<void> begin_file();
  /// Commits, or takes back what was written; then the error is the last one of the database.
  Result<void> end_transaction(bool is_complete);
  Result<int> version() const;
  Result<std::size_t> import_resources(std::string_view text);
  Result<bool> has_table(const std::string& name) const;
  Result<std::string> schedules_text() const;
  Result<std::size_t> import_schedules(std::string_view text);
  std::string failure() const;

  std::unique_ptr<sqlite3, Close> database_;
};

/// $LEMMA_PROFILE, else profile.sqlite in lemma's folder below $XDG_DATA_HOME or ~/.local/share.
std::filesystem::path default_profile_file();

}  // namespace lemma
