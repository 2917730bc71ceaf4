// Runs a plan: a process for each rank. See README.md.

#include <chrono>
#include <cmath>
#include <cstdlib>

#include "plan.h"
#include "rank_run_time.h"

namespace {

using ranks::fail;

struct Arguments {
  std::string folder, inputs, outputs;
  int repeats = 1;
};

Arguments arguments_of(int count, char** words) {
  Arguments result;
  result.folder = words[0];
  const std::size_t slash = result.folder.rfind('/');
  result.folder = slash == std::string::npos ? "." : result.folder.substr(0, slash);
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string word = words[i];
    if (word == "--inputs")
      result.inputs = words[i + 1];
    else if (word == "--outputs")
      result.outputs = words[i + 1];
    else if (word == "--repeat" && std::atoi(words[i + 1]) > 0)
      result.repeats = std::atoi(words[i + 1]);
    else
      fail("usage: [--inputs FOLDER] [--outputs FOLDER] [--repeat N]");
  }
  if (count % 2 == 0) fail("usage: [--inputs FOLDER] [--outputs FOLDER] [--repeat N]");
  return result;
}

std::string output_file(const std::string& folder, int number) {
  return folder + "/output_" + std::to_string(number) + ".bin";
}

double element(const std::byte* data, std::size_t i, std::size_t bytes) {
  if (bytes == sizeof(float)) {
    float value;
    std::memcpy(&value, data + i * bytes, bytes);
    return static_cast<double>(value);
  }
  double value;
  std::memcpy(&value, data + i * bytes, bytes);
  return value;
}

/// The largest difference from what was recorded, and the largest element.
struct Difference {
  double largest = 0, of = 0;

  void add(const ranks::Output& output, const std::byte* actual, const std::byte* expected) {
    const std::size_t bytes = output.block.bytes(), size = output.block.element_bytes;
    if (!output.is_real) {
      if (std::memcmp(actual, expected, bytes) != 0) largest = HUGE_VAL;
      return;
    }
    for (std::size_t i = 0; i < bytes / size; ++i) {
      const double x = element(expected, i, size), y = element(actual, i, size);
      if (std::isfinite(x)) of = std::max(of, std::fabs(x));
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      const double difference = std::fabs(x - y);
      largest = std::isfinite(difference) ? std::max(largest, difference) : HUGE_VAL;
    }
  }
};

/// Compares with the recorded outputs: relative to the largest element of all ranks.
double compared(ranks::Rank& rank, const ranks::RankData& data, const Arguments& arguments) {
  Difference difference;
  for (const ranks::Output& output : data.outputs) {
    std::vector<std::byte> expected(output.block.bytes());
    const std::string name =
        arguments.folder + "/expected_" + std::to_string(output.number) + ".bin";
    std::FILE* const file = std::fopen(name.c_str(), "rb");
    if (file == nullptr) fail(name + ": cannot be opened");
    bool is_read = true;
    output.block.for_each_row([&](std::size_t from, std::size_t to, std::size_t size) {
      is_read = is_read && std::fseek(file, static_cast<long>(from), SEEK_SET) == 0 &&
                std::fread(expected.data() + to, 1, size, file) == size;
    });
    std::fclose(file);
    if (!is_read) fail(name + ": ends too early");
    difference.add(output, rank.data(output.slot), expected.data());
  }
  double all[2] = {difference.largest, difference.of};
  MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all[1] > 0 ? all[0] / all[1] : all[0];
}

/// Each rank writes its parts of the whole outputs.
void write_outputs(ranks::Rank& rank, const ranks::RankData& data, const std::string& folder) {
  for (int number = 0; rank.number() == 0 && number < plan::output_count; ++number) {
    std::FILE* const file = std::fopen(output_file(folder, number).c_str(), "wb");
    if (file == nullptr) fail(output_file(folder, number) + ": cannot be written");
    std::fclose(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (const ranks::Output& output : data.outputs) {
    const std::string name = output_file(folder, output.number);
    std::FILE* const file = std::fopen(name.c_str(), "r+b");
    bool is_written = file != nullptr;
    output.block.for_each_row([&](std::size_t to, std::size_t from, std::size_t size) {
      is_written = is_written && std::fseek(file, static_cast<long>(to), SEEK_SET) == 0 &&
                   std::fwrite(rank.data(output.slot) + from, 1, size, file) == size;
    });
    if (file == nullptr || std::fclose(file) != 0 || !is_written)
      fail(name + ": cannot be written");
  }
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  int started = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &started);
  if (started != plan::rank_count)
    fail("the plan is for " + std::to_string(plan::rank_count) + " ranks, but " +
         std::to_string(started) + " were started");
  const Arguments arguments = arguments_of(count, words);
  int number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  const ranks::RankData data = plan::data_of(number);
  ranks::Rank rank(arguments.folder, data.slot_bytes);
  for (const ranks::Source& source : data.weights) rank.load(source, arguments.folder);
  const bool is_recorded = arguments.inputs.empty();
  for (const ranks::Source& source : data.inputs)
    rank.load(source, is_recorded ? arguments.folder : arguments.inputs);
  double seconds = HUGE_VAL;
  for (int i = 0; i < arguments.repeats; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = std::chrono::steady_clock::now();
    data.run(rank, data.groups);
    rank.finish();
    seconds = std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (!arguments.outputs.empty()) write_outputs(rank, data, arguments.outputs);
  bool is_equal = true;
  if (is_recorded) {
    const double difference = compared(rank, data, arguments);
    is_equal = difference <= 1e-3;
    if (number == 0)
      std::printf("the outputs differ from those of one device by %.1e of the largest element\n",
                  difference);
  }
  if (number == 0) std::printf("%.6f s\n", seconds);
  MPI_Finalize();
  return is_equal ? 0 : 4;
}
