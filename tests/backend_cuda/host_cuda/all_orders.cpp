// Runs a self-check, whose main has the name selfcheck_main here, in several orders one after the other (host_cuda.h):
// check ORDER,ORDER... [ARGUMENT...]. In one process, what is made for the threads of a grid is made once. Ends with the exit
// code of the first order in which it is not 0, and says which order that is.

#include <cstdio>
#include <string>

#include "host_cuda.h"

int selfcheck_main(int argument_count, char** arguments);

int main(int argument_count, char** arguments) {
  if (argument_count < 2) return 2;
  std::string orders = std::string(arguments[1]) + ",";
  for (std::size_t end = orders.find(','); end != std::string::npos; end = orders.find(',')) {
    const std::string order = orders.substr(0, end);
    orders.erase(0, end + 1);
    std::printf("order %s\n", order.c_str());
    std::fflush(stdout);
    host_cuda::set_order(order);
    arguments[1] = arguments[0];
    const int code = selfcheck_main(argument_count - 1, arguments + 1);
    if (code != 0) return code;
  }
  return 0;
}
