// The device prelude: CUDA C++ of our own that generated code calls. Its text is in prelude/*.cuh,
// in snippets of a few lines, of which a source gets those that it uses.
//
// A snippet begins with a line `//# name` and defines that name: a function with its overloads, or
// a type. It may use CUDA's builtins and other snippets. What is marked by the file as integer code
// compiles as C++ for the host too, where the tests compare it with base/convert.h.
#pragma once

#include <string>
#include <string_view>

namespace tw::cuda {

/// The snippets whose names `text` mentions outside of comments, and those that they use, in an
/// order in which each comes after what it uses.
std::string prelude_for(std::string_view text);

/// Whether a snippet has that name.
bool is_prelude_name(std::string_view name);

}  // namespace tw::cuda
