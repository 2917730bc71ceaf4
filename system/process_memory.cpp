#include "system/process_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

namespace lemma {

std::size_t resident_bytes() {
  // All pages, then those that are resident.
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  if (!(file >> all >> resident)) return 0;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void give_back_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace lemma
