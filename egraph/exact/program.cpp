#include "egraph/exact/program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace lemma::exact {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory() {
  std::error_code error;
  std::string pattern = (fs::temp_directory_path(error) / "lemma-extract-XXXXXX").string();
  if (!error && mkdtemp(pattern.data()) != nullptr) path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (good()) fs::remove_all(path_, ignored);
}

std::string find_program(const std::string& name) {
  const char* search = getenv("PATH");
  std::stringstream places(search == nullptr ? "" : search);
  for (std::string place; std::getline(places, place, ':');) {
    const std::string candidate = (place.empty() ? "." : place) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
  }
  return "";
}

ProgramRun run_program(const std::vector<std::string>& words, const fs::path& directory,
                       const Limit& limit) {
  ProgramRun result;
  const std::string output = (directory / "output").string();
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  // A group of its own: what the child starts ends with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, words[0].c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) return result;
  int status = 0;
  auto pause = std::chrono::microseconds(500);
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (limit.reached()) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  result.ended = WIFEXITED(status);
  if (result.ended) result.exit_status = WEXITSTATUS(status);
  std::ifstream file(output, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  result.output = text.str();
  return result;
}

}  // namespace lemma::exact
