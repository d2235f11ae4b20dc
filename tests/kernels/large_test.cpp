// Offsets beyond 2^31 elements and 2^32 bytes: rows lie so far apart that a few reach them. The
// memory is reserved, and the system provides only the pages that are touched.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/kernels/tensors.h"
#include "tests/reference/norm.h"
#include "tilewright/kernels/gather.h"
#include "tilewright/kernels/gemm.h"
#include "tilewright/kernels/norm.h"
#include "tilewright/kernels/quant.h"

namespace tw {
namespace {

constexpr int64_t kFar = (int64_t{1} << 31) + 64;  // elements from row to row

/// Zeros, [rows, columns], with kFar elements from row to row.
class FarRows {
 public:
  FarRows(DType dtype, int64_t rows, int64_t columns)
      : bytes_(static_cast<size_t>(((rows - 1) * kFar + columns) * dtype.bits() / 8)),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    view_ = Tensor(memory_, dtype, {rows, columns}, {kFar, 1});
  }
  FarRows(const FarRows&) = delete;
  FarRows& operator=(const FarRows&) = delete;
  ~FarRows() { munmap(memory_, bytes_); }
  const Tensor& view() const { return view_; }

 private:
  size_t bytes_;
  void* memory_;
  Tensor view_;
};

/// Rows of random numbers, far apart, and the same numbers next to each other.
struct Both {
  FarRows far;
  OwnedTensor near;
  Both(int64_t rows, int64_t columns, uint64_t seed)
      : far(f32, rows, columns), near(test::random_tensor(f32, {rows, columns}, seed)) {
    test::assign(far.view(), test::values(near));
  }
};

TEST(FarRows, Softmax) {
  const Both x(3, 1000, 1);
  const FarRows y(f32, 3, 1000);
  kernels::softmax(x.far.view(), 1.0F, y.view());
  test::expect_close(y.view(), reference::softmax(test::values(x.near), 1000, 1.0), 1e-5, 1e-7,
                     "softmax");
}

TEST(FarRows, Cast) {
  const Both x(3, 1000, 2);
  const FarRows y(f32, 3, 1000);
  kernels::cast(x.far.view(), y.view());
  EXPECT_EQ(test::values(y.view()), test::values(x.near));
}

TEST(FarRows, GatherTakesTheLastRow) {
  const Both table(3, 40, 3);
  const FarRows y(f32, 3, 40);
  OwnedTensor index(i32, {3});
  test::assign(index, {2, 0, 2});
  kernels::gather_rows(table.far.view(), index, y.view());
  const auto rows = test::values(table.near), got = test::values(y.view());
  for (size_t j = 0; j < 40; ++j) {
    EXPECT_EQ(got[j], rows[80 + j]);
    EXPECT_EQ(got[40 + j], rows[j]);
    EXPECT_EQ(got[80 + j], rows[80 + j]);
  }
}

TEST(FarRows, GemmStagedAndInPlace) {
  for (const bool trans : {false, true}) {  // a transposed operand is staged
    const Both a(4, 4, 4), b(4, 32, 5);
    const FarRows c(f32, 4, 32);
    OwnedTensor wanted(f32, {4, 32});
    kernels::gemm(a.far.view(), b.far.view(), c.view(), {.trans_a = trans});
    kernels::gemm(a.near, b.near, wanted, {.trans_a = trans});
    test::expect_close(c.view(), test::values(wanted), 1e-6, 1e-7, "gemm");
  }
}

}  // namespace
}  // namespace tw
