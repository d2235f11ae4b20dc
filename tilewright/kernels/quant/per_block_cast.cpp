// q, sf = x in blocks of rows and columns, see quant.h for the formula.
// Memory bound: x is read once, q and sf written once.
#include <algorithm>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/cast_arguments.h"
#include "tilewright/kernels/quant/factors.h"

namespace tw::kernels {
namespace {

// A block of threads has `together` neighboring blocks of x, all of it in registers. Elements
// outside x load as zero, which changes no maximum, and are not stored.
void dataflow(Builder& k, const Case& c) {
  const DType x_dtype = c.dtype(0), format = c.dtype(1), sf_dtype = c.dtype(2);
  const auto part = static_cast<Part>(k.constant("part"));
  const auto kind = static_cast<ScaleKind>(k.constant("kind"));
  const int64_t width = k.constant("k"), rows = k.constant("rows"), columns = k.constant("columns");
  const int64_t together = k.tunable("together", 1);
  const int64_t height = k.tunable("height", rows);  // less where no maximum is needed
  const Expr m = k.dim("m");
  const Buffer x = k.input("x", x_dtype, {m, width}, {.strides = {k.dim("x_row"), 1}});
  Buffer q;
  if (part != Part::factors) {
    q = k.output("q", format, {m, width}, {.strides = {k.dim("q_row"), 1}});
  }
  const Factors sf(k, "sf", sf_dtype, cdiv(m, rows), cdiv(width, columns), part != Part::codes);
  const Expr least = part == Part::codes ? Expr() : k.scalar("least", f32);

  const int64_t across = cdiv(sf.padded(), together);  // of a strip of blocks
  const Extents box = {height, together, columns};
  k.launch({cdiv(m, height) * across}, [&](Expr block) {
    const Expr strip = let(block / across), first = let(block % across * together);
    const auto row = [&](const Expr& i) { return strip * height + i; };
    const auto column = [&](const Expr& s, const Expr& j) { return (first + s) * columns + j; };
    const Buffer v = fragment(x_dtype, box, "v");
    parallel(box, [&](Expr i, Expr s, Expr j) { v(i, s, j) = x(row(i), column(s, j)); });
    Scale scale;
    if (part == Part::codes) {
      const Buffer given = fragment(f32, {1, together}, "given");
      parallel({together},
               [&](Expr s) { given(0, s) = sf.load(strip * height / rows, first + s); });
      scale.inverse = inverse_of(value(given));
    } else {
      const Buffer largest = fragment(x_dtype, {1, together, 1}, "largest");
      reduce(ReduceKind::abs_max, v, largest, {0, 2});
      scale = scale_of(reshape(cast(value(largest), f32), {1, together}), least, format, kind);
      const Buffer factor = scale.factor.fragment();
      parallel({together}, [&](Expr s) { sf.store(strip, first + s, factor(0, s)); });
    }
    if (part == Part::factors) return;
    const DType product = part == Part::codes ? f32 : product_type(x_dtype, format, kind);
    const Buffer by = multiplier(scale, product).fragment();
    parallel(box, [&](Expr i, Expr s, Expr j) {
      q(row(i), column(s, j)) = code_of(v(i, s, j), by(0, s), format, product);
    });
  });
}

/// 256 threads have 32 elements each, of 8192 together, or 64 of one block of 128 x 128; of that,
/// if it is f32, 512 threads have 32. With given factors a block of that size is in halves.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t rows = c.constant("rows"), columns = c.constant("columns");
  const bool given = c.constant("part") == static_cast<int64_t>(Part::codes);
  const int64_t height = given ? std::min(rows, 8192 / columns) : rows;
  const int64_t elements = height * columns, together = std::max<int64_t>(8192 / elements, 1);
  const int64_t of_thread = elements > 8192 && c.dtype() == bf16 ? 64 : 32;
  s.threads(together * elements / of_thread).set("together", together).set("height", height);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("per_block_cast", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

void run(const CastArguments& a, const BlockCastArgs& o, Stream stream) {
  const auto is_extent = [](int64_t n) { return n == 32 || n == 128; };
  TW_REQUIRE(is_extent(o.rows) && is_extent(o.columns),
             "{}: blocks are {} x {}, both must be 32 or 128", a.function, o.rows, o.columns);
  const Tensor factors = a.check(o.rows, o.columns);
  if (a.x.numel() == 0) return;
  const Kernel& compiled =
      kernel()({a.x.dtype(), a.format, factors.dtype()},
               {{"part", static_cast<int64_t>(a.part)},
                {"kind", static_cast<int64_t>(kind_of(o.round_sf, a.sf.dtype()))},
                {"k", a.x.dim(1)},
                {"rows", o.rows},
                {"columns", o.columns}},
               a.x.device().kind);
  const float least = least_or_default(o.least, a.format, a.sf.dtype());
  if (a.part == Part::codes) return compiled.launch(stream, {a.x, *a.q, factors});
  if (a.part == Part::factors) return compiled.launch(stream, {a.x, factors, least});
  compiled.launch(stream, {a.x, *a.q, factors, least});
}

}  // namespace

void per_block_cast(const Tensor& x, const Tensor& q, const Tensor& sf, const BlockCastArgs& args,
                    Stream stream) {
  run({"per_block_cast", Part::both, x, q.dtype(), &q, sf, args.round_sf}, args, stream);
}

void per_block_cast_with_sf_only(const Tensor& x, DType format, const Tensor& sf,
                                 const BlockCastArgs& args, Stream stream) {
  run({"per_block_cast_with_sf_only", Part::factors, x, format, nullptr, sf, args.round_sf}, args,
      stream);
}

void per_block_cast_with_precomputed_sf(const Tensor& x, const Tensor& sf, const Tensor& q,
                                        const BlockCastArgs& args, Stream stream) {
  run({"per_block_cast_with_precomputed_sf", Part::codes, x, q.dtype(), &q, sf, args.round_sf},
      args, stream);
}

}  // namespace tw::kernels
