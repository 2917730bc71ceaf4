#include "ir/upward.h"
