// y[i] = the first j at which x[i, j] is the largest of the row.
// Memory bound: x is read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/reduce/strips.h"

namespace tw::kernels {
namespace {

// What is outside x is NaN, which loses. Each place of a strip has its own maximum and the strip
// that had it first; of the places that have the row's maximum the lowest index counts.
void dataflow(Builder& k, DType dtype, DType index_type) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4), most = k.tunable("width", 4096);
  const int64_t width = std::min(h, most);
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer y = k.output("y", index_type, {n});
  safe_value(x, nan(dtype));
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Buffer part = fragment(f32, {rows, width}, "part");
    const Buffer index = fragment(i32, {rows, width}, "index");
    if (h <= width) {
      copy(x(block * rows, 0), part);
    } else {
      fill(part, nan(f32));
      fill(index, static_cast<int32_t>(h));
      for_each_strip(h, width, [&](Expr first) {
        parallel({rows, width}, [&](Expr i, Expr j) {
          const Expr v = cast(x(block * rows + i, first + j), f32), old = part(i, j);
          const Expr better = let(v > old || (isnan(old) && !isnan(v)));
          index(i, j) = select(better, cast(first + j, i32), index(i, j));
          part(i, j) = select(better, v, old);
        });
      });
    }
    const Tile v = value(part), j = h <= width ? iota({rows, width}, 1) : value(index);
    const int32_t none = static_cast<int32_t>(h);
    const Tile first = min(select(v == max(v, 1), j, full({rows, width}, none)), 1);
    store(y(at(block * rows, rows)),
          cast(select(first == none, full({rows, 1}, 0), first), index_type));
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("argmax", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", hold_strips));
  return jit;
}

}  // namespace

void argmax(const Tensor& x, const Tensor& y, Stream stream) {
  check_rank("argmax", {"x", x}, 2);
  check_dtype("argmax", {"x", x}, {f32, bf16, f16});
  check_columns("argmax", {"x", x});
  TW_REQUIRE(x.dim(1) <= INT32_MAX, "argmax: x is {}, a row may have at most {} elements", x,
             INT32_MAX);
  check_dtype("argmax", {"y", y}, {i32, i64});
  check_shape("argmax", {"y", y}, {x.dim(0)}, "[n]");
  check_apart("argmax", {"y", y}, {{"x", x}});
  kernel()({x.dtype(), y.dtype()}, {{"h", x.dim(1)}}, x.device().kind).launch(stream, {x, y});
}

}  // namespace tw::kernels
