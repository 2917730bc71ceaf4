#pragma once
#include "ir/upward.h"
#include <z3++.h>
