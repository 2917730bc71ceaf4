#include "cli/shell.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "cli/error_line.h"

namespace lemma {

namespace {

// ---- The table of commands --------------------------------------------------------------------

struct Command {
  std::vector<std::string> path;  // "rules", "verify"
  const CLI::App* app;
};

bool is_shown(const CLI::App* command) { return !command->get_group().empty(); }

// NOLINTNEXTLINE(misc-no-recursion): commands are nested two deep.
void collect(const CLI::App& app, std::vector<std::string> path, std::vector<Command>& commands) {
  commands.push_back({path, &app});
  for (const CLI::App* inner : app.get_subcommands(is_shown)) {
    std::vector<std::string> longer = path;
    longer.push_back(inner->get_name());
    collect(*inner, std::move(longer), commands);
  }
}

std::vector<Command> commands_of(const CLI::App& application) {
  std::vector<Command> commands;
  collect(application, {}, commands);
  return commands;
}

std::vector<std::string> names_of_subcommands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* inner : app.get_subcommands(is_shown)) names.push_back(inner->get_name());
  return names;
}

/// "--time-limit", "-v", for each option that people see.
std::vector<std::string> option_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

/// The command that the words name, as far as they do.
const CLI::App* command_named(const CLI::App& application, const std::vector<std::string>& words) {
  const CLI::App* command = &application;
  for (const std::string& word : words) {
    const auto named = command->get_subcommands(
        [&word](const CLI::App* inner) { return inner->get_name() == word; });
    if (named.empty()) break;
    command = named.front();
  }
  return command;
}

// ---- Completion -------------------------------------------------------------------------------

std::string bash_completion(const CLI::App& application) {
  std::string cases;
  for (const Command& command : commands_of(application)) {
    std::vector<std::string> words = names_of_subcommands(*command.app);
    const std::vector<std::string> options = option_words(*command.app);
    words.insert(words.end(), options.begin(), options.end());
    cases += fmt::format("    \"{}\") words=\"{}\" ;;\n", fmt::join(command.path, " "),
                         fmt::join(words, " "));
  }
  return "_lemma() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" path=\"\" words=\"\" i\n"
         "  for ((i = 1; i < COMP_CWORD && i < 3; ++i)); do\n"
         "    [[ ${COMP_WORDS[i]} == -* ]] && break\n"
         "    case \" $(_lemma_words \"$path\") \" in\n"
         "      *\" ${COMP_WORDS[i]} \"*) path=\"${path:+$path }${COMP_WORDS[i]}\" ;;\n"
         "      *) break ;;\n"
         "    esac\n"
         "  done\n"
         "  words=\"$(_lemma_words \"$path\")\"\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  [[ $current == -* || -z $path ]] || COMPREPLY+=($(compgen -f -- \"$current\"))\n"
         "}\n"
         "_lemma_words() {\n"
         "  local words=\"\"\n"
         "  case \"$1\" in\n" +
         cases +
         "  esac\n"
         "  echo \"$words\"\n"
         "}\n"
         "complete -o filenames -F _lemma lemma\n";
}

std::string quoted_for_fish(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += '\\';
    quoted += letter == '\n' ? ' ' : letter;
  }
  return quoted + "'";
}

std::string fish_completion(const CLI::App& application) {
  std::string script;
  for (const Command& command : commands_of(application)) {
    const std::string condition =
        command.path.empty() ? "__fish_use_subcommand"
                             : fmt::format("__fish_seen_subcommand_from {}", command.path.back());
    for (const CLI::App* inner : command.app->get_subcommands(is_shown))
      script += fmt::format("complete -c lemma -n '{}' -a {} -d {}\n", condition, inner->get_name(),
                            quoted_for_fish(inner->get_description()));
    for (const CLI::Option* option : command.app->get_options())
      for (const std::string& name : option->get_lnames())
        if (!option->get_group().empty())
          script += fmt::format("complete -c lemma -n '{}' -l {} -d {}\n", condition, name,
                                quoted_for_fish(option->get_description()));
  }
  return script;
}

// ---- Manual pages -----------------------------------------------------------------------------

/// Text as it stands in a page: no letter of it is a request.
std::string in_manual(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\\' || letter == '-') result += '\\';
    if ((letter == '.' || letter == '\'') && (result.empty() || result.back() == '\n'))
      result += "\\&";
    result += letter;
  }
  return result;
}

std::string manual_page(const CLI::App& app, const std::vector<std::string>& path) {
  const std::string name = fmt::format("lemma{}{}", path.empty() ? "" : "-", fmt::join(path, "-"));
  std::string call = "lemma";
  for (const std::string& word : path) call += " " + word;
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  std::string page =
      fmt::format(".TH {} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n", in_manual(title),
                  in_manual(name), in_manual(app.get_description()), in_manual(call));
  std::string options, operands;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const bool is_operand = option->get_lnames().empty() && option->get_snames().empty();
    (is_operand ? operands : options) +=
        fmt::format(".TP\n.B {}\n{}\n", in_manual(option->get_name(is_operand, true)),
                    in_manual(option->get_description()));
    if (is_operand) page += fmt::format(".I {}\n", in_manual(option->get_name(true)));
  }
  page += ".RI [ options ]\n";
  const auto inner = app.get_subcommands(is_shown);
  if (!inner.empty()) page += ".SH COMMANDS\n";
  for (const CLI::App* command : inner)
    page += fmt::format(".TP\n.B {}\n{}\n", in_manual(command->get_name()),
                        in_manual(command->get_description()));
  if (!operands.empty()) page += ".SH OPERANDS\n" + operands;
  return page + ".SH OPTIONS\n" + options;
}

/// Edits of single letters, and exchanges of neighbors, that make one word of the other.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t k = 0; k <= b.size(); ++k) {
      if (i == 0 || k == 0) {
        edits[i][k] = i + k;
        continue;
      }
      const std::size_t change = a[i - 1] == b[k - 1] ? 0 : 1;
      edits[i][k] =
          std::min({edits[i - 1][k] + 1, edits[i][k - 1] + 1, edits[i - 1][k - 1] + change});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        edits[i][k] = std::min(edits[i][k], edits[i - 2][k - 2] + 1);
    }
  return edits[a.size()][b.size()];
}

}  // namespace

void add_completion_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "completion", "print a script that completes commands and options in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&application, &exit_code, shell] {
    if (*shell == "zsh") std::cout << "autoload -U +X bashcompinit && bashcompinit\n";
    std::cout << (*shell == "fish" ? fish_completion(application) : bash_completion(application));
    exit_code = ExitCode::done;
  });
}

void add_manual_command(CLI::App& application, ExitCode& exit_code) {
  auto* command =
      application.add_subcommand("manual", "print the manual page of a command, for man -l -");
  auto path = std::make_shared<std::vector<std::string>>();
  command->add_option("command", *path, "the command's words; none: all commands");
  command->callback([&application, &exit_code, path] {
    if (!is_command(application, *path)) {
      exit_code = report_error({ErrorKind::bad_input, fmt::format("there is no command 'lemma {}'",
                                                                  fmt::join(*path, " "))});
      return;
    }
    std::cout << manual_page(*command_named(application, *path), *path);
    exit_code = ExitCode::done;
  });
}

bool is_command(const CLI::App& application, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  for (const CLI::App* app = command_named(application, words); app != &application;
       app = app->get_parent())
    known.insert(known.begin(), app->get_name());
  return known == words;
}

std::vector<std::string> with_help_as_option(std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

std::optional<std::string> nearest_word(const std::string& word,
                                        const std::vector<std::string>& words) {
  std::optional<std::string> nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 4) + 1;
  for (const std::string& candidate : words)
    if (const std::size_t edits = edit_distance(word, candidate); edits < least) {
      least = edits;
      nearest = candidate;
    }
  return nearest;
}

std::string suggestion(const CLI::App& application, const std::vector<std::string>& words) {
  const CLI::App* command = command_named(application, words);
  const std::vector<std::string> options = option_words(*command),
                                 commands = names_of_subcommands(*command);
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const bool is_option = name.starts_with("--");
    const std::vector<std::string>& known = is_option ? options : commands;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (!is_option && commands.empty()) continue;
    if (const auto nearest = nearest_word(name, known))
      return fmt::format("; did you mean {}?", *nearest);
  }
  return "";
}

}  // namespace lemma
