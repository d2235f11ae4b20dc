// The list of cases, which files of families add to.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/mutate/library.h"

namespace tw::test {

class Cases {
 public:
  void add(std::string kernel, std::string what, std::function<void(Place&)> run) {
    all_.push_back({std::move(kernel), std::move(what), std::move(run)});
  }
  LibraryCase& last() { return all_.back(); }
  void stops(std::string kernel, std::string what, std::function<void(Place&)> run) {
    all_.push_back({std::move(kernel), std::move(what), std::move(run), {}, true});
  }
  std::vector<LibraryCase> all_;
};

/// Rows of more than 32 keys of which the largest are in one list of a thread, 32 columns apart or
/// 64: two numbers in all orders. Or they are in two lists: any in both, or some of one before,
/// between and after all of the other. `nothing` stands for one that is not sought.
std::array<Tensor, 2> peaks_in_lists(Place& p, DType dtype, int64_t h, double nothing);

/// Of kernels/moe.h, what chooses experts.
void add_gates(Cases& cases);

}  // namespace tw::test
