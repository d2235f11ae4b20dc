// The list of cases, which files of families add to, and what these share.
#pragma once

#include <array>
#include <cstdint>
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

constexpr Peaks kPeaks[] = {Peaks::scattered, Peaks::first, Peaks::last};

/// The next multiple of 16.
constexpr int64_t up(int64_t size) { return (size + 15) / 16 * 16; }

/// The first h columns.
inline Tensor left(const Tensor& t, int64_t h) { return t.slice(t.rank() - 1, 0, h); }

/// Rows and columns.
using RowSizes = std::vector<std::pair<int64_t, int64_t>>;

/// Short rows, of which 13 or 12 share a block, and long ones; 77 is odd. One block of the last is
/// whole, or nearly so.
inline RowSizes held_rows() { return {{25, 77}, {26, 77}, {23, 80}, {24, 80}, {9, 1032}}; }

/// Rows of more than 32 keys of which the largest are in one list of a thread, of columns 32 or 64
/// apart or of neighbors: two numbers in all orders. Or they are in two lists: any in both, or some
/// of one before, between and after all of the other. `nothing` stands for one that is not sought.
std::vector<Tensor> peaks_in_lists(Place& p, DType dtype, int64_t h, double nothing);

// The functions of one or more headers of kernels/, in a file each.
void add_elementwise(Cases& cases);  // activation.h, elementwise.h, move.h, cast
void add_norms(Cases& cases);        // norm.h
void add_folds(Cases& cases);        // reduce.h, scan.h, select.h
void add_rows(Cases& cases);         // gather.h, pool.h
void add_quant(Cases& cases);        // quant.h
void add_products(Cases& cases);     // gemm.h
void add_attention(Cases& cases);    // attention.h
void add_rotary(Cases& cases);       // transform.h
void add_random(Cases& cases);       // rand.h
void add_gates(Cases& cases);        // moe.h: what chooses experts
void add_layouts(Cases& cases);      // moe.h: what counts them, and rows laid out by them

}  // namespace tw::test
