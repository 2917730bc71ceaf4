// The self-check and the runner of a program as one: program selfcheck ARGUMENT... or program runner ARGUMENT...
// So what both consist of, the code for the device above all, is there once.

#include <cstdio>
#include <cstring>

int selfcheck_main(int argument_count, char** arguments);
int runner_main(int argument_count, char** arguments);

int main(int argument_count, char** arguments) {
  if (argument_count > 1 && std::strcmp(arguments[1], "selfcheck") == 0)
    return selfcheck_main(argument_count - 1, arguments + 1);
  if (argument_count > 1 && std::strcmp(arguments[1], "runner") == 0)
    return runner_main(argument_count - 1, arguments + 1);
  std::fprintf(stderr,
               "usage: program selfcheck [DIRECTORY] [RUNS], or program runner WEIGHTS INPUTS "
               "OUTPUTS [RUNS]\n");
  return 2;
}
