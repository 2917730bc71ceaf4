#include <onnx/onnx_pb.h>
#include "search/search.h"
