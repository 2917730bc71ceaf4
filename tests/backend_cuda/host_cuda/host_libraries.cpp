// Products of cublasLt.h, and convolutions and pools of cudnn.h, as plain loops. Compiled with the sanitizer as programs
// are: it is to see what calls read and write. Compiled with -include of both and, before, of cuda_runtime.h.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "host_elements.h"

namespace host_cuda {

namespace {

Element element_of(cudaDataType_t type) {
  return type == CUDA_R_16F ? Element::f16 : type == CUDA_R_16BF ? Element::bf16 : Element::f32;
}

Element element_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_HALF       ? Element::f16
         : type == CUDNN_DATA_BFLOAT16 ? Element::bf16
                                       : Element::f32;
}

/// Calls `visit(place in the window, element of the input's plane)` for each place that lies inside of the input; `position`
/// is the element of the output's plane.
template <typename Visit>
void visit_window(const WindowShape& shape, const std::vector<int>& input,
                  const std::vector<int>& output, const std::vector<int>& window,
                  std::int64_t position, const Visit& visit) {
  const std::size_t axes = window.size();
  std::vector<std::int64_t> begin(axes);
  for (std::size_t i = axes; i-- > 0; position /= output[2 + i])
    begin[i] = position % output[2 + i] * shape.strides[i] - shape.pads[i];
  std::int64_t count = 1;
  for (const int size : window) count *= size;
  for (std::int64_t place = 0; place < count; ++place) {
    std::int64_t rest = place, element = 0, scale = 1;
    bool is_inside = true;
    for (std::size_t i = axes; i-- > 0; rest /= window[i]) {
      const std::int64_t at = begin[i] + rest % window[i] * shape.dilations[i];
      is_inside = is_inside && 0 <= at && at < input[2 + i];
      element += at * scale;
      scale *= input[2 + i];
    }
    if (is_inside) visit(place, element);
  }
}

struct ConvolutionCall {
  WindowShape shape;
  TensorSizes x, w, y;
  const void *data = nullptr, *weight = nullptr, *bias = nullptr;
  void* result = nullptr;
  bool has_relu = false;

  void run() const {
    const Element type = element_of(y.type);
    const std::int64_t plane = y.elements(2), of_input = x.elements(2), of_window = w.elements(2);
    const std::vector<int> window(w.sizes.begin() + 2, w.sizes.end());
    const int channels = w.sizes[1], per_group = y.sizes[1] / shape.groups;
    for (int n = 0; n < y.sizes[0]; ++n)
      for (int o = 0; o < y.sizes[1]; ++o)
        for (std::int64_t position = 0; position < plane; ++position) {
          float sum = 0;
          for (int c = 0; c < channels; ++c) {
            const std::int64_t from =
                (std::int64_t{n} * x.sizes[1] + o / per_group * channels + c) * of_input;
            const std::int64_t with = (std::int64_t{o} * channels + c) * of_window;
            visit_window(shape, x.sizes, y.sizes, window, position,
                         [&](std::int64_t place, std::int64_t element) {
                           sum += load_element(data, from + element, type) *
                                  load_element(weight, with + place, type);
                         });
          }
          if (bias != nullptr) sum += load_element(bias, o, type);
          if (has_relu && sum < 0) sum = 0;
          store_element(result, (std::int64_t{n} * y.sizes[1] + o) * plane + position, sum, type);
        }
  }
};

struct PoolCall {
  WindowShape shape;
  TensorSizes x, y;
  const void* data = nullptr;
  void* result = nullptr;

  void run() const {
    const Element type = element_of(y.type);
    const std::int64_t plane = y.elements(2), of_input = x.elements(2);
    float count = 1;
    for (const int size : shape.windows) count *= static_cast<float>(size);
    for (std::int64_t outer = 0; outer < std::int64_t{y.sizes[0]} * y.sizes[1]; ++outer)
      for (std::int64_t position = 0; position < plane; ++position) {
        float sum = 0, maximum = -std::numeric_limits<float>::infinity();
        visit_window(shape, x.sizes, y.sizes, shape.windows, position,
                     [&](std::int64_t, std::int64_t element) {
                       const float value = load_element(data, outer * of_input + element, type);
                       sum += value;
                       if (!(value <= maximum)) maximum = value;
                     });
        store_element(result, outer * plane + position,
                      shape.mode == CUDNN_POOLING_MAX ? maximum : sum / count, type);
      }
  }
};

constexpr std::size_t convolution_workspace_bytes = 384;

}  // namespace

}  // namespace host_cuda

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t* found, int* count) {
  *count = asked > 0 && std::getenv("HOST_CUDA_NO_ALGORITHM") == nullptr ? 1 : 0;
  std::memcpy(found->algo.alignments, preference->alignments, sizeof(preference->alignments));
  found->algo.workspace_bytes =
      preference->workspace_bytes < 640 ? preference->workspace_bytes : 640;
  found->workspaceSize = found->algo.workspace_bytes;
  found->state = CUBLAS_STATUS_SUCCESS;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t) {
  const void* const tensors[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<std::uintptr_t>(tensors[i]) % algorithm->alignments[i] != 0)
      return CUBLAS_STATUS_INVALID_VALUE;
  if (workspace_bytes < algorithm->workspace_bytes ||
      !host_cuda::is_allocated(workspace, workspace_bytes))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool turns_a = description->transposes[0] == CUBLAS_OP_T,
             turns_b = description->transposes[1] == CUBLAS_OP_T;
  const std::int64_t inner = turns_a ? of_a->rows : of_a->columns;
  if ((turns_a ? of_a->columns : of_a->rows) != of_d->rows ||
      (turns_b ? of_b->rows : of_b->columns) != of_d->columns ||
      (turns_b ? of_b->columns : of_b->rows) != inner)
    return CUBLAS_STATUS_INVALID_VALUE;
  host_cuda::enqueue([=, product = *description, la = *of_a, lb = *of_b, lc = *of_c, ld = *of_d,
                      factor = *static_cast<const float*>(alpha),
                      of_addend = *static_cast<const float*>(beta),
                      bytes = algorithm->workspace_bytes] {
    using namespace host_cuda;
    spoil(workspace, bytes);
    const Element type = element_of(ld.type);
    for (std::int64_t batch = 0; batch < ld.batches; ++batch)
      for (std::int64_t column = 0; column < ld.columns; ++column)
        for (std::int64_t row = 0; row < ld.rows; ++row) {
          float sum = 0;
          for (std::int64_t k = 0; k < inner; ++k)
            sum +=
                load_element(a, turns_a ? la.at(batch, k, row) : la.at(batch, row, k), type) *
                load_element(b, turns_b ? lb.at(batch, column, k) : lb.at(batch, k, column), type);
          float value = factor * sum;
          if (of_addend != 0) value += of_addend * load_element(c, lc.at(batch, row, column), type);
          if ((product.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
            value += load_element(product.bias, row, type);
          if ((product.epilogue & CUBLASLT_EPILOGUE_RELU) != 0 && value < 0) value = 0;
          store_element(d, ld.at(batch, row, column), value, type);
        }
  });
  return CUBLAS_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t one, cudnnDataType_t type,
                                         int axes, const int* sizes, const int* strides) {
  one->type = type;
  one->sizes.assign(sizes, sizes + axes);
  for (int i = 0; i < axes; ++i)
    if (strides[i] != one->elements(static_cast<std::size_t>(i) + 1)) return CUDNN_STATUS_BAD_PARAM;
  return axes < 4 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t one, cudnnDataType_t type,
                                         cudnnTensorFormat_t, int axes, const int* sizes) {
  one->type = type;
  one->sizes.assign(sizes, sizes + axes);
  return axes < 4 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t one, int axes,
                                              const int* pads, const int* strides,
                                              const int* dilations, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t) {
  one->pads.assign(pads, pads + axes);
  one->strides.assign(strides, strides + axes);
  one->dilations.assign(dilations, dilations + axes);
  return mode == CUDNN_CROSS_CORRELATION ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t one, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int axes, const int* windows,
                                          const int* pads, const int* strides) {
  one->mode = mode;
  one->windows.assign(windows, windows + axes);
  one->pads.assign(pads, pads + axes);
  one->strides.assign(strides, strides + axes);
  one->dilations.assign(static_cast<std::size_t>(axes), 1);
  for (int i = 0; i < axes; ++i)
    if (pads[i] >= windows[i]) return CUDNN_STATUS_BAD_PARAM;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                     cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t,
                                                     cudnnTensorDescriptor_t, int, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found) {
  *count = 2;
  found[0] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_STATUS_NOT_SUPPORTED, 0, 0};
  found[1] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_STATUS_SUCCESS, 0,
              host_cuda::convolution_workspace_bytes};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t convolution,
                                                      cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t,
                                                      std::size_t* bytes) {
  *bytes = host_cuda::convolution_workspace_bytes;
  const bool fits = x->sizes[1] == w->sizes[1] * convolution->groups && w->sizes[0] == y->sizes[1];
  if (!fits) return CUDNN_STATUS_BAD_PARAM;
  for (std::size_t i = 0; i + 2 < x->sizes.size(); ++i) {
    const int span = convolution->dilations[i] * (w->sizes[2 + i] - 1) + 1;
    if ((x->sizes[2 + i] + 2 * convolution->pads[i] - span) / convolution->strides[i] + 1 !=
        y->sizes[2 + i])
      return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void*, cudnnTensorDescriptor_t of_x,
                                      const void* x, cudnnFilterDescriptor_t of_w, const void* w,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t, void* workspace,
                                      std::size_t workspace_bytes, const void*,
                                      cudnnTensorDescriptor_t of_y, void* y) {
  if (workspace_bytes < host_cuda::convolution_workspace_bytes ||
      !host_cuda::is_allocated(workspace, workspace_bytes))
    return CUDNN_STATUS_BAD_PARAM;
  const host_cuda::ConvolutionCall call{*convolution, *of_x, *of_w, *of_y, x, w, nullptr, y, false};
  host_cuda::enqueue([=] {
    host_cuda::spoil(workspace, host_cuda::convolution_workspace_bytes);
    call.run();
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t, const void*, cudnnTensorDescriptor_t of_x, const void* x,
    cudnnFilterDescriptor_t of_w, const void* w, cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, std::size_t workspace_bytes, const void*,
    cudnnTensorDescriptor_t, const void*, cudnnTensorDescriptor_t, const void* bias,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t of_y, void* y) {
  const bool has_relu = activation->mode == CUDNN_ACTIVATION_RELU;
  if (workspace_bytes < host_cuda::convolution_workspace_bytes ||
      !host_cuda::is_allocated(workspace, workspace_bytes))
    return CUDNN_STATUS_BAD_PARAM;
  if (!has_relu && algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
    return CUDNN_STATUS_NOT_SUPPORTED;
  const host_cuda::ConvolutionCall call{*convolution, *of_x, *of_w, *of_y, x, w, bias, y, has_relu};
  host_cuda::enqueue([=] {
    host_cuda::spoil(workspace, host_cuda::convolution_workspace_bytes);
    call.run();
  });
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, cudnnPoolingDescriptor_t pooling, const void*,
                                  cudnnTensorDescriptor_t of_x, const void* x, const void*,
                                  cudnnTensorDescriptor_t of_y, void* y) {
  const host_cuda::PoolCall call{*pooling, *of_x, *of_y, x, y};
  host_cuda::enqueue([=] { call.run(); });
  return CUDNN_STATUS_SUCCESS;
}
