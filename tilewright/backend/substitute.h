// Another backend in the place of one that is installed: for tests.
#pragma once

#include "tilewright/backend/backend.h"

namespace tw::backend {

/// From now on `load_backend` gives this one for its name. It must live as long as the process.
void substitute_backend(const Backend& backend);

}  // namespace tw::backend
