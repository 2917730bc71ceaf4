#pragma once
// Convolutions and pools of cuDNN on a processor, as plain loops, for tests only: what emitted programs call, no more.
// cuda_runtime.h comes before it.

#include <cstddef>
#include <cstdint>
#include <vector>

enum cudnnStatus_t {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000
};
enum cudnnDataType_t { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_HALF = 2, CUDNN_DATA_BFLOAT16 = 9 };
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW };
enum cudnnConvolutionMode_t { CUDNN_CONVOLUTION, CUDNN_CROSS_CORRELATION };
enum cudnnMathType_t { CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH, CUDNN_FMA_MATH = 3 };
enum cudnnNanPropagation_t { CUDNN_NOT_PROPAGATE_NAN, CUDNN_PROPAGATE_NAN };
enum cudnnActivationMode_t { CUDNN_ACTIVATION_RELU = 1, CUDNN_ACTIVATION_IDENTITY = 5 };
enum cudnnPoolingMode_t {
  CUDNN_POOLING_MAX,
  CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
  CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
};
enum cudnnConvolutionFwdAlgo_t {
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
  CUDNN_CONVOLUTION_FWD_ALGO_COUNT = 8
};

namespace host_cuda {

struct WindowHandle {};
struct TensorSizes {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> sizes;

  std::int64_t elements(std::size_t from = 0) const {
    std::int64_t count = 1;
    for (std::size_t i = from; i < sizes.size(); ++i) count *= sizes[i];
    return count;
  }
};
struct WindowShape {
  std::vector<int> pads, strides, dilations, windows;
  int groups = 1;
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
};
struct ActivationKind {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
};

template <typename T>
cudnnStatus_t make(T** made) {
  *made = new T;
  return CUDNN_STATUS_SUCCESS;
}
template <typename T>
cudnnStatus_t destroy(T* one) {
  delete one;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace host_cuda

using cudnnHandle_t = host_cuda::WindowHandle*;
using cudnnTensorDescriptor_t = host_cuda::TensorSizes*;
struct cudnnFilterStruct : host_cuda::TensorSizes {};
using cudnnFilterDescriptor_t = cudnnFilterStruct*;
struct cudnnConvolutionStruct : host_cuda::WindowShape {};
using cudnnConvolutionDescriptor_t = cudnnConvolutionStruct*;
struct cudnnPoolingStruct : host_cuda::WindowShape {};
using cudnnPoolingDescriptor_t = cudnnPoolingStruct*;
using cudnnActivationDescriptor_t = host_cuda::ActivationKind*;
struct cudnnConvolutionFwdAlgoPerf_t {
  cudnnConvolutionFwdAlgo_t algo;
  cudnnStatus_t status;
  float time;
  std::size_t memory;
};

inline const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "no error" : "the call is not supported";
}
inline cudnnStatus_t cudnnCreate(cudnnHandle_t* made) { return host_cuda::make(made); }
inline cudnnStatus_t cudnnDestroy(cudnnHandle_t one) { return host_cuda::destroy(one); }
inline cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
inline cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t one) {
  return host_cuda::destroy(one);
}
inline cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t one) {
  return host_cuda::destroy(one);
}
inline cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t one) {
  return host_cuda::destroy(one);
}
inline cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t one) {
  return host_cuda::destroy(one);
}
inline cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t one) {
  return host_cuda::destroy(one);
}

/// Tensors in row-major order only.
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t one, cudnnDataType_t type,
                                         int axes, const int* sizes, const int* strides);
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t one, cudnnDataType_t type,
                                         cudnnTensorFormat_t, int axes, const int* sizes);
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t one, int axes,
                                              const int* pads, const int* strides,
                                              const int* dilations, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t);
inline cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t one, int groups) {
  one->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t) {
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t one, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int axes, const int* windows,
                                          const int* pads, const int* strides);
inline cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t one,
                                                  cudnnActivationMode_t mode, cudnnNanPropagation_t,
                                                  double) {
  one->mode = mode;
  return CUDNN_STATUS_SUCCESS;
}

/// The first one that is named cannot be taken.
cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t,
                                                     cudnnFilterDescriptor_t,
                                                     cudnnConvolutionDescriptor_t,
                                                     cudnnTensorDescriptor_t, int, int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found);
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t, cudnnTensorDescriptor_t x,
                                                      cudnnFilterDescriptor_t w,
                                                      cudnnConvolutionDescriptor_t convolution,
                                                      cudnnTensorDescriptor_t y,
                                                      cudnnConvolutionFwdAlgo_t,
                                                      std::size_t* bytes);

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void*, cudnnTensorDescriptor_t of_x,
                                      const void* x, cudnnFilterDescriptor_t of_w, const void* w,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t, void* workspace,
                                      std::size_t workspace_bytes, const void*,
                                      cudnnTensorDescriptor_t of_y, void* y);
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t, const void*, cudnnTensorDescriptor_t of_x, const void* x,
    cudnnFilterDescriptor_t of_w, const void* w, cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, std::size_t workspace_bytes, const void*,
    cudnnTensorDescriptor_t, const void*, cudnnTensorDescriptor_t, const void* bias,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t of_y, void* y);
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, cudnnPoolingDescriptor_t pooling, const void*,
                                  cudnnTensorDescriptor_t of_x, const void* x, const void*,
                                  cudnnTensorDescriptor_t of_y, void* y);
