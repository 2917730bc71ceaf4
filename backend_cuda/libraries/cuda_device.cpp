// The module lemma_cuda: problems of libraries on the first CUDA device.

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "backend_cuda/libraries/library_call.h"
#include "backend_cuda/libraries/library_device.h"

namespace lemma::backend {

namespace {

// What the libraries say is an error of ours; the messages name the call.
Result<void> checked(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return {};
  return unsupported(std::string(what) + ": " + cudaGetErrorString(code));
}
Result<void> checked(cublasStatus_t code, const char* what) {
  if (code == CUBLAS_STATUS_SUCCESS) return {};
  return unsupported(std::string(what) + ": " + cublasLtGetStatusString(code));
}
Result<void> checked(cudnnStatus_t code, const char* what) {
  if (code == CUDNN_STATUS_SUCCESS) return {};
  return unsupported(std::string(what) + ": " + cudnnGetErrorString(code));
}
#define LEMMA_CUDA(call) LEMMA_RETURN_IF_ERROR(checked(call, #call))

/// A handle of a library, destroyed with the object.
template <typename Handle, auto create, auto destroy>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr) destroy(handle_);
  }
  auto make() { return create(&handle_); }
  operator Handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using Tensor =
    Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using Filter =
    Owned<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor = Owned<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                                    cudnnDestroyConvolutionDescriptor>;
using PoolDescriptor =
    Owned<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor, cudnnDestroyPoolingDescriptor>;
using Activation = Owned<cudnnActivationDescriptor_t, cudnnCreateActivationDescriptor,
                         cudnnDestroyActivationDescriptor>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceCreate,
                         cublasLtMatmulPreferenceDestroy>;
using Event = Owned<cudaEvent_t, static_cast<cudaError_t (*)(cudaEvent_t*)>(cudaEventCreate),
                    cudaEventDestroy>;

class Layout {
 public:
  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() {
    if (layout_ != nullptr) cublasLtMatrixLayoutDestroy(layout_);
  }
  Result<void> make(const ColumnMajorMatrix& matrix, DataType type, std::int64_t batches);
  operator cublasLtMatrixLayout_t() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

/// Memory of the device, with contents that are neither 0 nor denormal in any type.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(data_); }
  Result<void> allocate(std::size_t bytes) {
    LEMMA_CUDA(cudaMalloc(&data_, std::max<std::size_t>(bytes, 256)));
    LEMMA_CUDA(cudaMemset(data_, 0x3c, std::max<std::size_t>(bytes, 256)));
    bytes_ = bytes;
    return {};
  }
  void* get() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

std::size_t bytes_for(const std::vector<std::int64_t>& sizes, DataType type) {
  std::size_t result = bits(type) / 8U;
  for (const std::int64_t size : sizes) result *= static_cast<std::size_t>(size);
  return result;
}

std::vector<int> as_int(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

cudaDataType_t cuda_type(DataType type) {
  switch (type) {
    case DataType::f64: return CUDA_R_64F;
    case DataType::f16: return CUDA_R_16F;
    case DataType::bf16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

cudnnDataType_t cudnn_type(DataType type) {
  switch (type) {
    case DataType::f64: return CUDNN_DATA_DOUBLE;
    case DataType::f16: return CUDNN_DATA_HALF;
    case DataType::bf16: return CUDNN_DATA_BFLOAT16;
    default: return CUDNN_DATA_FLOAT;
  }
}

Result<void> describe(Tensor& tensor, const std::vector<std::int64_t>& sizes, DataType type) {
  LEMMA_CUDA(tensor.make());
  const std::vector<int> dimensions = as_int(sizes);
  std::vector<int> strides(dimensions.size(), 1);
  for (std::size_t i = dimensions.size() - 1; i-- > 0;)
    strides[i] = strides[i + 1] * dimensions[i + 1];
  LEMMA_CUDA(cudnnSetTensorNdDescriptor(tensor, cudnn_type(type),
                                        static_cast<int>(dimensions.size()), dimensions.data(),
                                        strides.data()));
  return {};
}

/// One and zero as libraries want them: of f64 for that type, else of f32.
struct Factors {
  explicit Factors(DataType type) : is_double(type == DataType::f64) {}
  const void* one() const {
    return is_double ? static_cast<const void*>(&double_one) : static_cast<const void*>(&float_one);
  }
  const void* zero() const {
    return is_double ? static_cast<const void*>(&double_zero)
                     : static_cast<const void*>(&float_zero);
  }
  bool is_double;
  double double_one = 1, double_zero = 0;
  float float_one = 1, float_zero = 0;
};

Result<void> Layout::make(const ColumnMajorMatrix& matrix, DataType type, std::int64_t batches) {
  LEMMA_CUDA(
      cublasLtMatrixLayoutCreate(&layout_, cuda_type(type), static_cast<std::uint64_t>(matrix.rows),
                                 static_cast<std::uint64_t>(matrix.columns), matrix.leading));
  if (batches == 1) return {};
  const auto count = static_cast<std::int32_t>(batches);
  LEMMA_CUDA(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                              sizeof(count)));
  LEMMA_CUDA(cublasLtMatrixLayoutSetAttribute(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                              &matrix.batch_stride, sizeof(matrix.batch_stride)));
  return {};
}

/// Elements from the first to the last one of all batches.
std::size_t bytes_for(const ColumnMajorMatrix& matrix, std::int64_t batches, DataType type) {
  const std::int64_t elements =
      matrix.batch_stride * (batches - 1) + matrix.leading * (matrix.columns - 1) + matrix.rows;
  return static_cast<std::size_t>(elements) * (bits(type) / 8U);
}

class CudaDevice : public LibraryDevice {
 public:
  Result<void> open() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
      return unsupported("no CUDA device was found");
    LEMMA_CUDA(cudaSetDevice(0));
    LEMMA_CUDA(cublas_.make());
    LEMMA_CUDA(cudnn_.make());
    LEMMA_CUDA(begin_.make());
    LEMMA_CUDA(end_.make());
    int cache_bytes = 0;
    LEMMA_CUDA(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, 0));
    LEMMA_RETURN_IF_ERROR(eviction_.allocate(2 * static_cast<std::size_t>(cache_bytes)));
    LEMMA_RETURN_IF_ERROR(workspace_.allocate(workspace_bytes));
    const char* const chosen = std::getenv("LEMMA_TF32");
    allows_tf32_ = chosen != nullptr && std::strcmp(chosen, "1") == 0;
    return describe_device();
  }

  RuntimeIdentity identity() const override { return identity_; }

  Result<OperatorTime> time(const LibraryProblem& problem) override {
    return std::visit([this](const auto& alternative) { return time_of(alternative); }, problem);
  }

 private:
  Result<void> describe_device() {
    cudaDeviceProp properties{};
    LEMMA_CUDA(cudaGetDeviceProperties(&properties, 0));
    int driver = 0, clock = 0, memory_clock = 0;
    LEMMA_CUDA(cudaDriverGetVersion(&driver));
    LEMMA_CUDA(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
    LEMMA_CUDA(cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0));
    const auto number = [](auto value) { return std::to_string(value); };
    // The name begins as library_runtime says (library_operators.h).
    identity_.runtime = "CUDA libraries cuBLASLt " + number(cublasLtGetVersion()) + ", cuDNN " +
                        number(cudnnGetVersion()) + ", driver " + number(driver) + ", TF32 " +
                        (allows_tf32_ ? "on" : "off");
    identity_.processor = std::string(properties.name) + ", compute capability " +
                          number(properties.major) + "." + number(properties.minor) + ", " +
                          number(properties.multiProcessorCount) + " multiprocessors, clocks " +
                          number(clock / 1000) + " and " + number(memory_clock / 1000) + " MHz";
    identity_.threads = 1;
    return {};
  }

  /// Each run finds the second-level cache full of something else.
  Result<OperatorTime> time_calls(const std::function<Result<void>()>& call, int runs) {
    std::vector<double> seconds;
    for (int i = 0; i < warm_up_runs + runs; ++i) {
      LEMMA_CUDA(cudaMemsetAsync(eviction_.get(), i, eviction_.bytes(), nullptr));
      LEMMA_CUDA(cudaEventRecord(begin_, nullptr));
      LEMMA_RETURN_IF_ERROR(call());
      LEMMA_CUDA(cudaEventRecord(end_, nullptr));
      LEMMA_CUDA(cudaEventSynchronize(end_));
      float milliseconds = 0;
      LEMMA_CUDA(cudaEventElapsedTime(&milliseconds, begin_, end_));
      if (i >= warm_up_runs) seconds.push_back(1e-3 * static_cast<double>(milliseconds));
    }
    std::sort(seconds.begin(), seconds.end());
    const std::size_t n = seconds.size();
    return OperatorTime{seconds[n / 2], (seconds[3 * n / 4] - seconds[n / 4]) / 2,
                        static_cast<int>(n)};
  }

  // ---- Products

  cublasComputeType_t compute_type(DataType type) const {
    if (type == DataType::f64) return CUBLAS_COMPUTE_64F;
    return type == DataType::f32 && allows_tf32_ ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                 : CUBLAS_COMPUTE_32F;
  }

  Result<OperatorTime> time_of(const MatrixProduct& problem);
  Result<OperatorTime> time_of(const Convolution& problem);
  Result<OperatorTime> time_of(const Pool& problem);

  RuntimeIdentity identity_;
  bool allows_tf32_ = false;
  Owned<cublasLtHandle_t, cublasLtCreate, cublasLtDestroy> cublas_;
  Owned<cudnnHandle_t, cudnnCreate, cudnnDestroy> cudnn_;
  Event begin_, end_;
  Memory eviction_, workspace_;
};

/// What a product does beside multiplying.
Result<void> set_epilogue(cublasLtMatmulDesc_t description, const MatrixProduct& problem,
                          const void* bias) {
  const bool has_bias = problem.addend == MatrixProduct::Addend::column_vector;
  const cublasLtEpilogue_t epilogue =
      has_bias ? (problem.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
               : (problem.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);
  LEMMA_CUDA(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                            sizeof(epilogue)));
  if (has_bias)
    LEMMA_CUDA(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                              sizeof(bias)));
  return {};
}

Result<void> set_transposed(cublasLtMatmulDesc_t description,
                            cublasLtMatmulDescAttributes_t attribute, bool transposed) {
  const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  LEMMA_CUDA(cublasLtMatmulDescSetAttribute(description, attribute, &operation, sizeof(operation)));
  return {};
}

/// Owns a description that is made with arguments.
class ProductDescription {
 public:
  ProductDescription() = default;
  ProductDescription(const ProductDescription&) = delete;
  ProductDescription& operator=(const ProductDescription&) = delete;
  ~ProductDescription() {
    if (description_ != nullptr) cublasLtMatmulDescDestroy(description_);
  }
  cublasStatus_t make(cublasComputeType_t compute, cudaDataType_t scale) {
    return cublasLtMatmulDescCreate(&description_, compute, scale);
  }
  operator cublasLtMatmulDesc_t() const { return description_; }

 private:
  cublasLtMatmulDesc_t description_ = nullptr;
};

Result<OperatorTime> CudaDevice::time_of(const MatrixProduct& problem) {
  const ColumnMajorProduct call = column_major(problem);
  const DataType type = problem.type;
  Memory a, b, c, d, bias;
  LEMMA_RETURN_IF_ERROR(a.allocate(bytes_for(call.a, call.batches, type)));
  LEMMA_RETURN_IF_ERROR(b.allocate(bytes_for(call.b, call.batches, type)));
  LEMMA_RETURN_IF_ERROR(d.allocate(bytes_for(call.d, call.batches, type)));
  const bool adds_matrix = problem.addend == MatrixProduct::Addend::matrix;
  if (adds_matrix) LEMMA_RETURN_IF_ERROR(c.allocate(d.bytes()));
  LEMMA_RETURN_IF_ERROR(bias.allocate(bytes_for({problem.columns}, type)));
  ProductDescription description;
  LEMMA_CUDA(description.make(compute_type(type), type == DataType::f64 ? CUDA_R_64F : CUDA_R_32F));
  LEMMA_RETURN_IF_ERROR(
      set_transposed(description, CUBLASLT_MATMUL_DESC_TRANSA, call.a.transposed));
  LEMMA_RETURN_IF_ERROR(
      set_transposed(description, CUBLASLT_MATMUL_DESC_TRANSB, call.b.transposed));
  LEMMA_RETURN_IF_ERROR(set_epilogue(description, problem, bias.get()));
  Layout of_a, of_b, of_d;
  LEMMA_RETURN_IF_ERROR(of_a.make(call.a, type, call.batches));
  LEMMA_RETURN_IF_ERROR(of_b.make(call.b, type, call.batches));
  LEMMA_RETURN_IF_ERROR(of_d.make(call.d, type, call.batches));
  Preference preference;
  LEMMA_CUDA(preference.make());
  LEMMA_CUDA(cublasLtMatmulPreferenceSetAttribute(preference,
                                                  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &workspace_bytes, sizeof(workspace_bytes)));
  std::array<cublasLtMatmulHeuristicResult_t, algorithms_asked> heuristics{};
  int count = 0;
  LEMMA_CUDA(cublasLtMatmulAlgoGetHeuristic(cublas_, description, of_a, of_b, of_d, of_d,
                                            preference, algorithms_asked, heuristics.data(),
                                            &count));
  const Factors factors(type);
  const void* const beta = adds_matrix ? factors.one() : factors.zero();
  const void* const addend = adds_matrix ? c.get() : d.get();
  const auto runs_with = [&](const cublasLtMatmulAlgo_t& algorithm) {
    return [&, algorithm]() -> Result<void> {
      LEMMA_CUDA(cublasLtMatmul(cublas_, description, factors.one(), a.get(), of_a, b.get(), of_b,
                                beta, addend, of_d, d.get(), of_d, &algorithm, workspace_.get(),
                                workspace_.bytes(), nullptr));
      return {};
    };
  };
  constexpr int runs_to_choose = 5;
  int best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < count; ++i) {
    const auto& heuristic = heuristics[static_cast<std::size_t>(i)];
    if (heuristic.state != CUBLAS_STATUS_SUCCESS) continue;
    const auto timed = time_calls(runs_with(heuristic.algo), runs_to_choose);
    if (!timed || timed->seconds >= least) continue;
    best = i;
    least = timed->seconds;
  }
  if (best < 0) return unsupported("cuBLASLt has no algorithm for it");
  return time_calls(runs_with(heuristics[static_cast<std::size_t>(best)].algo), timed_runs);
}

cudnnMathType_t math_type(DataType type, bool allows_tf32) {
  if (type == DataType::f16 || type == DataType::bf16) return CUDNN_TENSOR_OP_MATH;
  return type == DataType::f32 && allows_tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

Result<void> describe(ConvolutionDescriptor& descriptor, const Convolution& problem,
                      bool allows_tf32) {
  LEMMA_CUDA(descriptor.make());
  const std::vector<int> pads = as_int(problem.pads), strides = as_int(problem.strides),
                         dilations = as_int(problem.dilations);
  LEMMA_CUDA(cudnnSetConvolutionNdDescriptor(
      descriptor, static_cast<int>(pads.size()), pads.data(), strides.data(), dilations.data(),
      CUDNN_CROSS_CORRELATION,
      problem.type == DataType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
  LEMMA_CUDA(cudnnSetConvolutionGroupCount(descriptor, static_cast<int>(problem.groups)));
  LEMMA_CUDA(cudnnSetConvolutionMathType(descriptor, math_type(problem.type, allows_tf32)));
  return {};
}

Result<OperatorTime> CudaDevice::time_of(const Convolution& given) {
  const Convolution problem = with_two_axes(given);
  const DataType type = problem.type;
  Memory x, w, y, bias;
  LEMMA_RETURN_IF_ERROR(x.allocate(bytes_for(problem.input, type)));
  LEMMA_RETURN_IF_ERROR(w.allocate(bytes_for(problem.weight, type)));
  LEMMA_RETURN_IF_ERROR(y.allocate(bytes_for(problem.output, type)));
  LEMMA_RETURN_IF_ERROR(bias.allocate(bytes_for({problem.output[1]}, type)));
  Tensor of_x, of_y, of_bias;
  Filter of_w;
  ConvolutionDescriptor of_call;
  LEMMA_RETURN_IF_ERROR(describe(of_x, problem.input, type));
  LEMMA_RETURN_IF_ERROR(describe(of_y, problem.output, type));
  std::vector<std::int64_t> bias_sizes(problem.output.size(), 1);
  bias_sizes[1] = problem.output[1];
  LEMMA_RETURN_IF_ERROR(describe(of_bias, bias_sizes, type));
  LEMMA_CUDA(of_w.make());
  const std::vector<int> weight = as_int(problem.weight);
  LEMMA_CUDA(cudnnSetFilterNdDescriptor(of_w, cudnn_type(type), CUDNN_TENSOR_NCHW,
                                        static_cast<int>(weight.size()), weight.data()));
  LEMMA_RETURN_IF_ERROR(describe(of_call, problem, allows_tf32_));
  std::array<cudnnConvolutionFwdAlgoPerf_t, algorithms_asked> performances{};
  int count = 0;
  LEMMA_CUDA(cudnnFindConvolutionForwardAlgorithmEx(
      cudnn_, of_x, x.get(), of_w, w.get(), of_call, of_y, y.get(), algorithms_asked, &count,
      performances.data(), workspace_.get(), workspace_.bytes()));
  // The fastest comes first.
  const auto best = std::find_if(
      performances.begin(), performances.begin() + count,
      [](const auto& performance) { return performance.status == CUDNN_STATUS_SUCCESS; });
  if (best == performances.begin() + count) return unsupported("cuDNN has no algorithm for it");
  LEMMA_CUDA(cudnnSetConvolutionMathType(of_call, best->mathType));
  const Factors factors(type);
  if (!problem.bias && !problem.relu)
    return time_calls(
        [&]() -> Result<void> {
          LEMMA_CUDA(cudnnConvolutionForward(cudnn_, factors.one(), of_x, x.get(), of_w, w.get(),
                                             of_call, best->algo, workspace_.get(),
                                             workspace_.bytes(), factors.zero(), of_y, y.get()));
          return {};
        },
        timed_runs);
  Activation activation;
  LEMMA_CUDA(activation.make());
  LEMMA_CUDA(cudnnSetActivationDescriptor(
      activation, problem.relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
      CUDNN_PROPAGATE_NAN, 0));
  // Without an activation the fused call knows one algorithm.
  const cudnnConvolutionFwdAlgo_t algorithm =
      problem.relu ? best->algo : CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  return time_calls(
      [&]() -> Result<void> {
        LEMMA_CUDA(cudnnConvolutionBiasActivationForward(
            cudnn_, factors.one(), of_x, x.get(), of_w, w.get(), of_call, algorithm,
            workspace_.get(), workspace_.bytes(), factors.zero(), of_y, y.get(), of_bias,
            bias.get(), activation, of_y, y.get()));
        return {};
      },
      timed_runs);
}

cudnnPoolingMode_t mode_of(Pool::Kind kind) {
  switch (kind) {
    case Pool::Kind::average: return CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    case Pool::Kind::average_with_padding: return CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    default: return CUDNN_POOLING_MAX;
  }
}

Result<OperatorTime> CudaDevice::time_of(const Pool& given) {
  const Pool problem = with_two_axes(given);
  Memory x, y;
  LEMMA_RETURN_IF_ERROR(x.allocate(bytes_for(problem.input, problem.type)));
  LEMMA_RETURN_IF_ERROR(y.allocate(bytes_for(problem.output, problem.type)));
  Tensor of_x, of_y;
  PoolDescriptor of_call;
  LEMMA_RETURN_IF_ERROR(describe(of_x, problem.input, problem.type));
  LEMMA_RETURN_IF_ERROR(describe(of_y, problem.output, problem.type));
  LEMMA_CUDA(of_call.make());
  const std::vector<int> windows = as_int(problem.windows), pads = as_int(problem.pads),
                         strides = as_int(problem.strides);
  LEMMA_CUDA(cudnnSetPoolingNdDescriptor(of_call, mode_of(problem.kind), CUDNN_PROPAGATE_NAN,
                                         static_cast<int>(windows.size()), windows.data(),
                                         pads.data(), strides.data()));
  const Factors factors(problem.type);
  return time_calls(
      [&]() -> Result<void> {
        LEMMA_CUDA(cudnnPoolingForward(cudnn_, of_call, factors.one(), of_x, x.get(),
                                       factors.zero(), of_y, y.get()));
        return {};
      },
      timed_runs);
}

}  // namespace
}  // namespace lemma::backend

extern "C" lemma::backend::LibraryDevice* lemma_open_cuda_device(char* reason,
                                                                 std::size_t reason_bytes) {
  auto device = std::make_unique<lemma::backend::CudaDevice>();
  if (const auto opened = device->open(); !opened) {
    std::snprintf(reason, reason_bytes, "%s", opened.error().message.c_str());  // NOLINT
    return nullptr;
  }
  return device.release();
}
