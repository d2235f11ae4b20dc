// Names in generated code: the author's, made legal and unique.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tw::cuda {

/// The names of one function. None is a word of C++, a name of the prelude or a function of CUDA
/// that generated code calls.
class Names {
 public:
  /// A new name: `wanted` itself, or with a number behind it.
  std::string make(std::string_view wanted);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> next_;  // of each name that was wanted: numbers below are taken
};

}  // namespace tw::cuda
