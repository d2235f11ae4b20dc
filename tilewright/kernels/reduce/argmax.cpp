// y[i] = the first j at which x[i, j] is the largest of the row.
// Memory bound: x is read once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/reduce/strips.h"

namespace tw::kernels {
namespace {

constexpr int64_t kHeld = 8;  // strips of a row that are loaded together

/// As i64 the numbers order by value, then by lower index.
Expr word_of(const Expr& value, const Expr& index) {
  const Expr raw = bitcast(value, i32);
  const Expr number = select(value == 0.0F, 0, raw ^ ((raw >> 31) & INT32_MAX));
  return (cast(number, i64) << 32) | cast(INT32_MAX - index, i64);
}

// A strip is cut into runs of neighbors. Each run, with those at its place in the other strips,
// keeps its largest element, the last one looked at first: so an equal element before it takes
// over, and NaN, which is not at least anything, does not. What is outside x is NaN. Then one fold
// finds the run.
void dataflow(Builder& k, DType dtype, DType index_type) {
  const Expr n = k.dim("n"), x_row = k.dim("x_row");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4), most = k.tunable("width", 1024);
  const int64_t length = k.tunable("run", 1);
  const int64_t strips = cdiv(h, most), runs = cdiv(cdiv(h, strips), length);
  const int64_t width = runs * length, held = std::min(strips, kHeld), spans = cdiv(strips, held);
  const Buffer x = k.input("x", dtype, {n, h}, {.strides = {x_row, 1}});
  const Buffer y = k.output("y", index_type, {n});
  safe_value(x, nan(dtype));
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const Buffer part = fragment(f32, {rows, runs}, "part");
    const Buffer index = fragment(i32, {rows, runs}, "index");
    fill(part, -inf(f32));
    fill(index, -1);
    const auto span = [&](const Expr& first) {
      std::vector<Buffer> strip;
      for (int64_t s = 0; s < held; ++s) {
        strip.push_back(fragment(dtype, {rows, width}, format("strip_{}", s)));
        copy(x(block * rows, first + s * width), strip.back());
      }
      parallel({rows, runs}, [&](Expr i, Expr run) {
        for (int64_t s = held; s-- > 0;) {
          for (int64_t c = length; c-- > 0;) {
            const Expr j = run * length + c;
            const Expr v = cast(strip[static_cast<size_t>(s)](i, j), f32);
            const Expr better = let(v >= part(i, run));
            part(i, run) = select(better, v, part(i, run));
            index(i, run) = select(better, cast(first + s * width + j, i32), index(i, run));
          }
        }
      });
    };
    if (spans == 1) {
      span(0);
    } else {
      serial(spans, [&](Expr i) { span((spans - 1 - i) * (held * width)); });
    }
    const Buffer words = fragment(i64, {rows, runs}, "words");
    const Buffer first = fragment(i64, {rows, 1}, "first");
    parallel({rows, runs}, [&](Expr i, Expr run) {
      words(i, run) = select(index(i, run) < 0, INT64_MIN, word_of(part(i, run), index(i, run)));
    });
    reduce_max(words, first, 1);
    parallel({rows}, [&](Expr i) {  // a row of NaN has no word
      const Expr at = INT32_MAX - cast(first(i, 0) & 0xFFFFFFFF, i32);
      y(block * rows + i) = cast(select(first(i, 0) == INT64_MIN, 0, at), index_type);
    });
  });
}

/// About 1024 elements a block, or strips in which each of 128 threads has a vector of 16 bytes.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t vector = 128 / c.dtype().bits();
  hold_strips(s, c);
  s.set("width", 128 * vector).set("run", vector);
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("argmax", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", schedule_gpu));
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
