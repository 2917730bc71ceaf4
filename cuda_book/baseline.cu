// Calls of cuBLASLt and cuDNN, and a copy for each other operator, as one CUDA graph: baseline CALLS graph|stream [RUNS]
// CALLS has the lines of `lemma schedule --write-library-calls`. A kernel that no library has reads half of its bytes and
// writes the other half. Each call takes the first algorithm that its library proposes, in f32 without TF32. Operands in
// second place and biases, which are weights mostly, have memory of their own; the others take turns.
// Prints "seconds LEAST MEDIAN P99", from the launch to the end. Exit code 0; 2 where something fails; 77 without a device.

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "device_calls.cuh"

namespace {

constexpr std::size_t workspace_bytes = std::size_t{64} << 20;
constexpr int warm_up_runs = 20;

void check(cublasStatus_t code, const char* call) {
  if (code != CUBLAS_STATUS_SUCCESS)
    give_up(std::string(call) + ": " + cublasLtGetStatusString(code));
}
void check(cudnnStatus_t code, const char* call) {
  if (code != CUDNN_STATUS_SUCCESS) give_up(std::string(call) + ": " + cudnnGetErrorString(code));
}
#define CHECKED(call) check(call, #call)

struct Type {
  std::size_t bytes;
  cudaDataType_t cublas;
  cudnnDataType_t cudnn;
};

Type type_named(const std::string& name) {
  if (name == "f32") return {4, CUDA_R_32F, CUDNN_DATA_FLOAT};
  if (name == "f16") return {2, CUDA_R_16F, CUDNN_DATA_HALF};
  if (name == "bf16") return {2, CUDA_R_16BF, CUDNN_DATA_BFLOAT16};
  if (name == "f64") return {8, CUDA_R_64F, CUDNN_DATA_DOUBLE};
  give_up(name + ": no type of a library");
}

/// One line, read number by number.
class Words {
 public:
  explicit Words(const std::string& line) : line_(line), stream_(line) {}
  std::string word() {
    std::string result;
    if (!(stream_ >> result)) give_up("a line ends too early: " + line_);
    return result;
  }
  std::int64_t number() { return std::stoll(word()); }
  std::vector<int> numbers(std::int64_t count) {
    std::vector<int> result;
    for (std::int64_t i = 0; i < count; ++i) result.push_back(static_cast<int>(number()));
    return result;
  }

 private:
  std::string line_;
  std::istringstream stream_;
};

void* allocated(std::size_t bytes) {
  void* memory = nullptr;
  CHECKED(cudaMalloc(&memory, bytes + 256));
  CHECKED(cudaMemset(memory, 0x3c, bytes + 256));
  return memory;
}

/// The libraries, a stream, and memory that calls take turns with. All of it lives until the process ends.
class Calls {
 public:
  Calls() {
    CHECKED(cudaStreamCreate(&stream_));
    CHECKED(cublasLtCreate(&cublas_));
    CHECKED(cudnnCreate(&cudnn_));
    CHECKED(cudnnSetStream(cudnn_, stream_));
    workspace_ = allocated(workspace_bytes);
  }

  void add(Words words) {
    const std::string kind = words.word();
    if (kind == "copy") return add_copy(static_cast<std::size_t>(words.number()));
    const Type type = type_named(words.word());
    if (kind == "product") return add_product(words, type);
    if (kind == "convolution") return add_convolution(words, type);
    if (kind == "pool") return add_pool(words, type);
    give_up(kind + ": no kind of call");
  }

  void run() const {
    for (const auto& call : calls_) call();
  }
  cudaStream_t stream() const { return stream_; }

 private:
  struct Matrix {
    cublasLtMatrixLayout_t layout = nullptr;
    std::size_t bytes = 0;
    cublasOperation_t operation = CUBLAS_OP_N;
  };

  /// The tensor that the call before has written, and the one that it has read.
  void* input(std::size_t bytes) { return tensor(0, bytes); }
  void* output(std::size_t bytes) {
    void* const made = tensor(1, bytes);
    std::swap(turns_[0], turns_[1]);
    std::swap(sizes_[0], sizes_[1]);
    return made;
  }
  void* tensor(int turn, std::size_t bytes) {
    // What earlier calls have stays where it is.
    if (sizes_[turn] < bytes) {
      turns_[turn] = allocated(bytes);
      sizes_[turn] = bytes;
    }
    return turns_[turn];
  }

  const void* one(Type type) const {
    return type.bytes == 8 ? static_cast<const void*>(&one_f64_) : &one_f32_;
  }
  const void* zero(Type type) const {
    return type.bytes == 8 ? static_cast<const void*>(&zero_f64_) : &zero_f32_;
  }

  void add_copy(std::size_t bytes) {
    const void* const from = input(bytes / 2);
    void* const to = output(bytes / 2);
    calls_.push_back([=, this] {
      CHECKED(cudaMemcpyAsync(to, from, bytes / 2, cudaMemcpyDeviceToDevice, stream_));
    });
  }

  Matrix matrix(Words& words, Type type, std::int64_t batches) {
    const std::int64_t rows = words.number(), columns = words.number(), leading = words.number(),
                       stride = words.number();
    Matrix made;
    made.operation = words.number() != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
    made.bytes = static_cast<std::size_t>(stride * (batches - 1) + leading * (columns - 1) + rows) *
                 type.bytes;
    CHECKED(cublasLtMatrixLayoutCreate(&made.layout, type.cublas, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), leading));
    const auto count = static_cast<std::int32_t>(batches);
    CHECKED(cublasLtMatrixLayoutSetAttribute(made.layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                             &count, sizeof(count)));
    CHECKED(cublasLtMatrixLayoutSetAttribute(
        made.layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)));
    return made;
  }

  void add_product(Words& words, Type type) {
    const std::int64_t batches = words.number();
    const Matrix a = matrix(words, type, batches), b = matrix(words, type, batches),
                 d = matrix(words, type, batches);
    const std::int64_t addend = words.number();
    const bool relu = words.number() != 0;
    cublasLtMatmulDesc_t description = nullptr;
    CHECKED(cublasLtMatmulDescCreate(&description,
                                     type.bytes == 8 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                     type.bytes == 8 ? CUDA_R_64F : CUDA_R_32F));
    CHECKED(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSA, &a.operation,
                                           sizeof(a.operation)));
    CHECKED(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSB, &b.operation,
                                           sizeof(b.operation)));
    const cublasLtEpilogue_t epilogue =
        addend == 1 ? (relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                    : (relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
    CHECKED(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                           sizeof(epilogue)));
    if (addend == 1) {
      const void* const bias = allocated(d.bytes);
      CHECKED(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                             sizeof(bias)));
    }
    cublasLtMatmulPreference_t preference = nullptr;
    CHECKED(cublasLtMatmulPreferenceCreate(&preference));
    CHECKED(cublasLtMatmulPreferenceSetAttribute(preference,
                                                 CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                 &workspace_bytes, sizeof(workspace_bytes)));
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    CHECKED(cublasLtMatmulAlgoGetHeuristic(cublas_, description, a.layout, b.layout, d.layout,
                                           d.layout, preference, 1, &found, &count));
    if (count == 0) give_up("cuBLASLt has no algorithm for a product");
    // The matrix on the right is what cuBLASLt calls a.
    const void* const weights = allocated(a.bytes);
    const void* const from = input(b.bytes);
    void* const to = output(d.bytes);
    const cublasLtMatmulAlgo_t algorithm = found.algo;
    calls_.push_back([=, this] {
      CHECKED(cublasLtMatmul(cublas_, description, one(type), weights, a.layout, from, b.layout,
                             addend == 2 ? one(type) : zero(type), to, d.layout, to, d.layout,
                             &algorithm, workspace_, workspace_bytes, stream_));
    });
  }

  struct TensorOf {
    cudnnTensorDescriptor_t descriptor = nullptr;
    std::size_t bytes = 0;
  };
  static std::size_t bytes_of(const std::vector<int>& sizes, Type type) {
    std::size_t bytes = type.bytes;
    for (const int size : sizes) bytes *= static_cast<std::size_t>(size);
    return bytes;
  }
  static TensorOf tensor_of(const std::vector<int>& sizes, Type type) {
    TensorOf made;
    made.bytes = bytes_of(sizes, type);
    std::vector<int> strides(sizes.size(), 1);
    for (std::size_t i = sizes.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * sizes[i + 1];
    CHECKED(cudnnCreateTensorDescriptor(&made.descriptor));
    CHECKED(cudnnSetTensorNdDescriptor(made.descriptor, type.cudnn, static_cast<int>(sizes.size()),
                                       sizes.data(), strides.data()));
    return made;
  }

  void add_convolution(Words& words, Type type) {
    const std::int64_t axes = words.number();
    const std::vector<int> input_sizes = words.numbers(axes), weight_sizes = words.numbers(axes),
                           output_sizes = words.numbers(axes);
    const auto groups = static_cast<int>(words.number());
    const std::vector<int> strides = words.numbers(axes - 2), dilations = words.numbers(axes - 2),
                           pads = words.numbers(axes - 2);
    const bool has_bias = words.number() != 0, relu = words.number() != 0;
    const TensorOf x = tensor_of(input_sizes, type), y = tensor_of(output_sizes, type);
    std::vector<int> bias_sizes(output_sizes.size(), 1);
    bias_sizes[1] = output_sizes[1];
    const TensorOf of_bias = tensor_of(bias_sizes, type);
    cudnnFilterDescriptor_t filter = nullptr;
    CHECKED(cudnnCreateFilterDescriptor(&filter));
    CHECKED(cudnnSetFilterNdDescriptor(filter, type.cudnn, CUDNN_TENSOR_NCHW,
                                       static_cast<int>(axes), weight_sizes.data()));
    cudnnConvolutionDescriptor_t convolution = nullptr;
    CHECKED(cudnnCreateConvolutionDescriptor(&convolution));
    CHECKED(cudnnSetConvolutionNdDescriptor(
        convolution, static_cast<int>(axes) - 2, pads.data(), strides.data(), dilations.data(),
        CUDNN_CROSS_CORRELATION, type.bytes == 8 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
    CHECKED(cudnnSetConvolutionGroupCount(convolution, groups));
    CHECKED(cudnnSetConvolutionMathType(convolution,
                                        type.bytes == 2 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH));
    const cudnnConvolutionFwdAlgo_t algorithm = algorithm_for(x, filter, convolution, y);
    const void* const weights = allocated(bytes_of(weight_sizes, type));
    const void* const bias = allocated(of_bias.bytes);
    const void* const from = input(x.bytes);
    void* const to = output(y.bytes);
    if (!has_bias && !relu) {
      calls_.push_back([=, this] {
        CHECKED(cudnnConvolutionForward(cudnn_, one(type), x.descriptor, from, filter, weights,
                                        convolution, algorithm, workspace_, workspace_bytes,
                                        zero(type), y.descriptor, to));
      });
      return;
    }
    cudnnActivationDescriptor_t activation = nullptr;
    CHECKED(cudnnCreateActivationDescriptor(&activation));
    CHECKED(cudnnSetActivationDescriptor(activation,
                                         relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
                                         CUDNN_PROPAGATE_NAN, 0));
    // Without an activation the fused call knows one algorithm.
    const auto fused = relu ? algorithm : CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    calls_.push_back([=, this] {
      CHECKED(cudnnConvolutionBiasActivationForward(
          cudnn_, one(type), x.descriptor, from, filter, weights, convolution, fused, workspace_,
          workspace_bytes, zero(type), y.descriptor, to, of_bias.descriptor, bias, activation,
          y.descriptor, to));
    });
  }

  cudnnConvolutionFwdAlgo_t algorithm_for(const TensorOf& x, cudnnFilterDescriptor_t filter,
                                          cudnnConvolutionDescriptor_t convolution,
                                          const TensorOf& y) {
    cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    int count = 0;
    CHECKED(cudnnGetConvolutionForwardAlgorithm_v7(cudnn_, x.descriptor, filter, convolution,
                                                   y.descriptor, CUDNN_CONVOLUTION_FWD_ALGO_COUNT,
                                                   &count, found));
    for (int i = 0; i < count; ++i)
      if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].memory <= workspace_bytes)
        return found[i].algo;
    give_up("cuDNN has no algorithm for a convolution");
  }

  void add_pool(Words& words, Type type) {
    const std::int64_t axes = words.number(), kind = words.number();
    const TensorOf x = tensor_of(words.numbers(axes), type),
                   y = tensor_of(words.numbers(axes), type);
    const std::vector<int> windows = words.numbers(axes - 2), strides = words.numbers(axes - 2),
                           pads = words.numbers(axes - 2);
    cudnnPoolingDescriptor_t pooling = nullptr;
    CHECKED(cudnnCreatePoolingDescriptor(&pooling));
    const cudnnPoolingMode_t mode = kind == 0   ? CUDNN_POOLING_MAX
                                    : kind == 1 ? CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
                                                : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    CHECKED(cudnnSetPoolingNdDescriptor(pooling, mode, CUDNN_PROPAGATE_NAN,
                                        static_cast<int>(axes) - 2, windows.data(), pads.data(),
                                        strides.data()));
    const void* const from = input(x.bytes);
    void* const to = output(y.bytes);
    calls_.push_back([=, this] {
      CHECKED(cudnnPoolingForward(cudnn_, pooling, one(type), x.descriptor, from, zero(type),
                                  y.descriptor, to));
    });
  }

  cudaStream_t stream_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;
  void* workspace_ = nullptr;
  void* turns_[2] = {nullptr, nullptr};
  std::size_t sizes_[2] = {0, 0};
  std::vector<std::function<void()>> calls_;
  float one_f32_ = 1, zero_f32_ = 0;
  double one_f64_ = 1, zero_f64_ = 0;
};

/// What runs all calls: one after the other, or as a graph.
std::function<void()> runs_of(const Calls& calls, const std::string& way) {
  if (way == "stream") return [&calls] { calls.run(); };
  if (way != "graph") give_up(way + ": neither graph nor stream");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECKED(cudaStreamBeginCapture(calls.stream(), cudaStreamCaptureModeThreadLocal));
  calls.run();
  CHECKED(cudaStreamEndCapture(calls.stream(), &graph));
  CHECKED(cudaGraphInstantiate(&executable, graph, 0));
  return [executable, &calls] { CHECKED(cudaGraphLaunch(executable, calls.stream())); };
}

double seconds_of(const std::function<void()>& run, cudaStream_t stream) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  CHECKED(cudaStreamSynchronize(stream));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 3) give_up("usage: baseline CALLS graph|stream [RUNS]");
  const int runs = argument_count > 3 ? std::atoi(arguments[3]) : 100;
  if (runs < 1) give_up("RUNS is no number above 0");
  std::ifstream file(arguments[1]);
  if (!file) give_up(std::string(arguments[1]) + ": cannot be read");
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device was found\n");
    return 77;
  }
  Calls calls;
  for (std::string line; std::getline(file, line);) calls.add(Words(line));
  calls.run();  // libraries load what they need at the first call, which must not be captured
  CHECKED(cudaStreamSynchronize(calls.stream()));
  const std::function<void()> run = runs_of(calls, arguments[2]);
  for (int i = 0; i < warm_up_runs; ++i) seconds_of(run, calls.stream());
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) seconds.push_back(seconds_of(run, calls.stream()));
  std::sort(seconds.begin(), seconds.end());
  const std::size_t last = seconds.size() - 1;
  std::printf("seconds %.9g %.9g %.9g\n", seconds[0], seconds[last / 2], seconds[last * 99 / 100]);
  return 0;
}
