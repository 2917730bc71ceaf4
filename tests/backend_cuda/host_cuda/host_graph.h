#pragma once
// CUDA graphs on a processor: streams that are captured, nodes, what comes after what. The nodes of a launch run one after
// the other in an order that $HOST_CUDA_ORDER chooses among those that the edges allow, as the blocks of a grid do
// (host_cuda.h): ascending, descending, random, or node N as late as can be. With ThreadSanitizer each node is a thread of
// its own, and only edges order what nodes do.

#include <cstddef>
#include <functional>

#include "host_cuda.h"

namespace host_cuda {

struct GraphNode;
struct Graph;
struct ExecutableGraph;

/// Runs a call on the stream; while the stream is captured, it becomes a node instead, after the one before.
void enqueue(std::function<void()> run);

}  // namespace host_cuda

using cudaGraph_t = host_cuda::Graph*;
using cudaGraphNode_t = host_cuda::GraphNode*;
using cudaGraphExec_t = host_cuda::ExecutableGraph*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph);

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

/// The child is copied. Its nodes follow each other, as all that is captured here.
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* after, std::size_t count,
                                       cudaGraph_t child);

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, std::size_t count, void* to,
                                     const void* from, std::size_t bytes, cudaMemcpyKind);

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t graph, cudaGraphNode_t node,
                                               void* to, const void* from, std::size_t bytes,
                                               cudaMemcpyKind);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t);
