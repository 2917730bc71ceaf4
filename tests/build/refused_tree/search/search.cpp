#include "egraph/egraph.h"
#include <onnx/onnx_pb.h>
  #  include <vector>
