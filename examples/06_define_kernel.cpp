// Lesson 6: a kernel for a library. One definition serves every element type and row length; a
// schedule per target says how it runs there; kernels are compiled when they are first called for.
//
// y[i, j] = x[i, j] * w[j], in f32 and in f64, for a few rows and for many.
//
// Prints "scaled 3 and 100 rows, in f32 and f64".
#include <cstdio>
#include <vector>

#include "tilewright/tilewright.h"

using namespace tw;

namespace {

/// What is computed, on every target.
void dataflow(Builder& k, DType dtype) {
  const Expr n = k.dim("n");                  // known at the call
  const int64_t h = k.constant("h");          // each value makes a kernel of its own
  const int64_t rows = k.tunable("rows", 4);  // of a block; schedules may set it
  const Buffer x = k.input("x", dtype, {n, h}), w = k.input("w", dtype, {h});
  const Buffer y = k.output("y", dtype, {n, h});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const auto here = at(block * rows, rows);
    store(y(here, all), load(x(here, all)) * load(w));
  });
}

/// How it runs. On the cpu there are two variants of one kernel: each call takes the first whose
/// condition holds.
const Jit& kernel() {
  static const Jit jit(
      define_kernel("scale_columns", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .when([](const Sizes& size) { return size("n") < 16; })
          .schedule(targets::cpu,
                    [](Schedule& s, const Case& c) { s.set("rows", c.dtype() == f64 ? 4 : 8); })
          .schedule(targets::sm90a,
                    [](Schedule& s, const Case&) { s.set("rows", 2).threads(256); }));
  return jit;
}

}  // namespace

/// What users call: it checks what the kernel can't say as well, then launches.
void scale_columns(const Tensor& x, const Tensor& w, const Tensor& y) {
  TW_REQUIRE(x.rank() == 2, "scale_columns: x is {}, it must have 2 dimensions", x);
  kernel()({x.dtype()}, {{"h", x.dim(1)}}).launch({}, {x, w, y});
}

template <class T>
bool is_right(int64_t n) {
  constexpr int64_t h = 50;
  std::vector<T> x(n * h), w(h), y(n * h);
  for (int64_t i = 0; i < n * h; ++i) x[i] = static_cast<T>(i);
  for (int64_t j = 0; j < h; ++j) w[j] = static_cast<T>(j % 3);
  scale_columns(Tensor(x.data(), {n, h}), Tensor(w.data(), {h}), Tensor(y.data(), {n, h}));
  for (int64_t i = 0; i < n * h; ++i) {
    if (y[i] != x[i] * w[i % h]) return false;
  }
  return true;
}

int main() {
  for (const int64_t n : {3, 100}) {
    if (!is_right<float>(n) || !is_right<double>(n)) return 1;
  }
  std::puts("scaled 3 and 100 rows, in f32 and f64");
}
