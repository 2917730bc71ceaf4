#include "backend/emit/program_name.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/number_text.h"

namespace lemma::backend {

namespace {

/// Headers of C (ISO 9899, 7.1.2), POSIX (IEEE 1003.1, chapter 13), of compilers and of CUDA that others include by their
/// bare names; libraries whose functions end as those of a program (timer_create, mtx_destroy); targets of CMake
/// (policy CMP0037) and CTest. All in lower case: file systems need not tell cases apart.
constexpr std::string_view reserved_names[] = {"aio",
                                               "alloca",
                                               "all",
                                               "all_build",
                                               "arpa",
                                               "assert",
                                               "auto_ptr",
                                               "build",
                                               "builtin_types",
                                               "byteswap",
                                               "channel_descriptor",
                                               "clean",
                                               "cmake",
                                               "cnd",
                                               "codegen",
                                               "complex",
                                               "continuous",
                                               "cpio",
                                               "cpuid",
                                               "ctype",
                                               "cucomplex",
                                               "depend",
                                               "device_types",
                                               "dirent",
                                               "dlfcn",
                                               "driver_functions",
                                               "driver_types",
                                               "edit_cache",
                                               "elf",
                                               "endian",
                                               "env",
                                               "errno",
                                               "error",
                                               "execinfo",
                                               "experimental",
                                               "fcntl",
                                               "features",
                                               "fenv",
                                               "float",
                                               "fmtmsg",
                                               "fnmatch",
                                               "ftw",
                                               "getopt",
                                               "glob",
                                               "grp",
                                               "help",
                                               "iconv",
                                               "install",
                                               "inttypes",
                                               "io",
                                               "iso646",
                                               "langinfo",
                                               "libgen",
                                               "library_types",
                                               "limits",
                                               "link",
                                               "list_install_components",
                                               "locale",
                                               "malloc",
                                               "math",
                                               "memory",
                                               "mm_malloc",
                                               "monetary",
                                               "mqueue",
                                               "mtx",
                                               "ndbm",
                                               "net",
                                               "netdb",
                                               "netinet",
                                               "nightly",
                                               "nl_types",
                                               "obstack",
                                               "omp",
                                               "package",
                                               "package_source",
                                               "poll",
                                               "preinstall",
                                               "printf",
                                               "process",
                                               "pwd",
                                               "quadmath",
                                               "rebuild_cache",
                                               "regex",
                                               "run_tests",
                                               "sched",
                                               "search",
                                               "sem",
                                               "semaphore",
                                               "setjmp",
                                               "signal",
                                               "spawn",
                                               "string",
                                               "strings",
                                               "stropts",
                                               "surface_types",
                                               "syscall",
                                               "syslimits",
                                               "syslog",
                                               "tar",
                                               "termios",
                                               "test",
                                               "texture_types",
                                               "tgmath",
                                               "threads",
                                               "thrd",
                                               "time",
                                               "timer",
                                               "trace",
                                               "tss",
                                               "uchar",
                                               "ucontext",
                                               "ulimit",
                                               "unistd",
                                               "unwind",
                                               "utime",
                                               "utmpx",
                                               "values",
                                               "varargs",
                                               "vector_functions",
                                               "vector_types",
                                               "version",
                                               "wait",
                                               "wchar",
                                               "wctype",
                                               "windows",
                                               "wordexp",
                                               "zero_check"};
constexpr std::array<std::string_view, 7> reserved_beginnings = {
    "cublas", "cuda", "cudnn", "nvrtc", "pthread", "std", "sys_"};
constexpr std::string_view reserved_end = "intrin";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ascii_lower);
  return text;
}

bool begins_as_others(const std::string& name) {
  return std::any_of(
      reserved_beginnings.begin(), reserved_beginnings.end(),
      [plain = lower(name)](std::string_view start) { return plain.starts_with(start); });
}

bool is_reserved(const std::string& name) {
  const std::string plain = lower(name);
  return std::ranges::find(reserved_names, plain) != std::end(reserved_names) ||
         plain.ends_with(reserved_end);
}

bool is_of_identifier(char c) { return is_ascii_letter_or_digit(c) || c == '_'; }

/// All that could be an identifier in the sources. Comments and strings do no harm.
std::set<std::string, std::less<>> identifiers_of(const ProgramFiles& files) {
  std::set<std::string, std::less<>> identifiers;
  for (const auto& [file, text] : files) {
    if (file.ends_with(".md") || file.ends_with(".txt")) continue;
    for (auto at = text.begin(); at != text.end();) {
      at = std::find_if(at, text.end(), is_of_identifier);
      const auto end = std::find_if_not(at, text.end(), is_of_identifier);
      if (at != end) identifiers.emplace(at, end);
      at = end;
    }
  }
  return identifiers;
}

class NameChoice {
 public:
  explicit NameChoice(const ProgramFiles& files) : identifiers_(identifiers_of(files)) {
    for (const auto& [file, text] : files) stems_.insert(lower(file.substr(0, file.find('.'))));
    for (const std::string& identifier : identifiers_)
      if (identifier.starts_with(undecided_name) && identifier != undecided_name)
        suffixes_.insert(identifier.substr(undecided_name.size()));
    for (const char* written : {"weights", "selfcheck", "readme", "cmakelists"})
      stems_.insert(written);
  }

  bool is_free(const std::string& name) const {
    if (is_reserved(name) || stems_.contains(lower(name))) return false;
    return std::none_of(suffixes_.begin(), suffixes_.end(), [&](const std::string& suffix) {
      return identifiers_.contains(name + suffix);
    });
  }

 private:
  std::set<std::string, std::less<>> identifiers_;
  std::set<std::string> suffixes_;  // of the program's own: "_create"
  std::set<std::string> stems_;     // of files, in lower case
};

std::string replaced(std::string_view text, std::string_view name) {
  std::string result;
  while (true) {
    const std::size_t at = text.find(undecided_name);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += name;
    text.remove_prefix(at + undecided_name.size());
  }
}

}  // namespace

std::string identifier_of(std::string_view text) {
  std::string result;
  for (const char character : text) result += is_ascii_letter_or_digit(character) ? character : '_';
  if (result.empty() || is_ascii_digit(result[0]) || result[0] == '_') result.insert(0, "model_");
  return result;
}

ProgramFiles with_name(ProgramFiles files, const std::string& wanted) {
  const NameChoice choice(files);
  std::string name = begins_as_others(wanted) ? "model_" + wanted : wanted;
  while (!choice.is_free(name)) name += "_model";
  for (auto& [file, text] : files) {
    file = replaced(file, name);
    text = replaced(text, name);
  }
  return files;
}

}  // namespace lemma::backend
