#pragma once
#include "egraph/egraph.h"
