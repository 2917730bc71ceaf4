#pragma once
// What shells and people at a shell use beside the commands: completion, manual pages, and what a wrong word was meant to
// be. All of it is made of the table that --help is made of.

#include <optional>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "batch/exit_code.h"

namespace lemma {

/// `lemma completion bash|zsh|fish`: a script that completes commands and options.
void add_completion_command(CLI::App& application, ExitCode& exit_code);
/// `lemma manual [COMMAND...]`: a manual page for `man -l`.
void add_manual_command(CLI::App& application, ExitCode& exit_code);

/// The words of `lemma help COMMAND...` as those of `lemma COMMAND... --help`; others as they are.
std::vector<std::string> with_help_as_option(std::vector<std::string> words);

/// Whether these words name a command, or a group of commands; no words name all of them.
bool is_command(const CLI::App& application, const std::vector<std::string>& words);

/// The word that is the nearest to this one by edits of letters; nothing if none is near.
std::optional<std::string> nearest_word(const std::string& word,
                                        const std::vector<std::string>& words);

/// A suggestion for the words of a call that could not be parsed: "; did you mean --time-limit?",
/// or nothing.
std::string suggestion(const CLI::App& application, const std::vector<std::string>& words);

}  // namespace lemma
