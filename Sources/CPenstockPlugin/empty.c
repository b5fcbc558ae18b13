#include "penstock_plugin.h"
