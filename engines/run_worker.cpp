#include "engines/run_worker.h"

#include <csignal>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "batch/child_process.h"

namespace lemma {

std::string to_json(const RunReply& reply) {
  return nlohmann::json{{"status", static_cast<int>(reply.status)},
                        {"output", reply.output},
                        {"errors", reply.errors}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<RunReply> parse_reply(const std::string& line) {
  try {
    const nlohmann::json json = nlohmann::json::parse(line);
    return RunReply{static_cast<RunStatus>(json.at("status").get<int>()), json.at("output"),
                    json.at("errors")};
  } catch (const nlohmann::json::exception& error) {
    return internal_error(fmt::format("malformed message between processes: {}", error.what()));
  }
}

Result<void> RunWorker::start() {
  Program program{{own_program()}};
  program.words.insert(program.words.end(), arguments_.begin(), arguments_.end());
  program.shows_errors = true;
  LEMMA_ASSIGN_OR_RETURN(program_, RunningProgram::start(program));
  return {};
}

Result<RunReply> RunWorker::run(const std::string& job, bool& timed_out) {
  timed_out = false;
  if (!program_) LEMMA_RETURN_IF_ERROR(start());
  const bool is_sent = program_->send(job + "\n");
  const double limit =
      time_limit_seconds_ > 0 ? time_limit_seconds_ : std::numeric_limits<double>::infinity();
  const auto line = is_sent ? program_->read_line(limit) : std::nullopt;
  if (line && !line->starts_with(cut_file_prefix)) return parse_reply(*line);
  RunningProgram ended = std::move(*program_);
  program_.reset();
  if (line) return bad_input(line->substr(std::string_view(cut_file_prefix).size()));
  timed_out = is_sent && !ended.is_output_closed();
  if (timed_out) return unsupported(fmt::format("no result within {:g} s", time_limit_seconds_));
  const auto end = ended.wait(10);
  if (!end) return internal_error("the process closed its output");
  const std::string why = end_without_answer(*end);
  return was_ended_by_system(*end) ? Result<RunReply>(unsupported(why))
                                   : Result<RunReply>(internal_error(why));
}

std::vector<std::string> command_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(std::move(word));
  if (!words.empty()) words.erase(words.begin());
  return words;
}

}  // namespace lemma
