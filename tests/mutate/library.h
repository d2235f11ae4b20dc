// Every function of the library, called on small tensors whose sizes divide nothing: what the twin
// runs, and where mutants come from.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/mutate/place.h"

namespace tw::test {

/// Some calls of a function of the library.
struct LibraryCase {
  std::string kernel;  // the function
  std::string what;    // dtypes and options
  std::function<void(Place&)> run;
  std::vector<std::string> facts = {};  // `batch == 1`: of the sizes that the function passes on
  bool stops = false;                   // assertions of the kernel fail
};

/// Cases of every function in tilewright/kernels/*.h, in dtypes that are lowered differently.
std::vector<LibraryCase> library_cases();

/// Names of the functions that headers of the library declare.
std::set<std::string> declared_functions();

}  // namespace tw::test
