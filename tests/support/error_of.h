// The Error that a call ends with.
#pragma once

#include <string>

#include "tilewright/base/error.h"

namespace tw::test {

/// The whole text of the Error that `f` throws; "no error" when it throws none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace tw::test
