// Matrix multiplies: what of sizes, types and regions is checked while tracing.
#include <algorithm>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/buffer.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/math.h"
#include "tilewright/lang/operators.h"
#include "tilewright/lang/tile_ops.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {
namespace {

using ir::MemSpace;

struct MatrixSize {
  int64_t rows, columns;
};

/// The last two extents of an operand; E-GEMM-01 for another form.
MatrixSize matrix_size(const Site& site, std::string_view which, const Region& region) {
  const auto fail = [&](const std::string& reason) {
    throw Error(codes::gemm_01, site.where, "{}: {} {}", site.name, which, reason)
        .note("{} is {}", which, region.text())
        .help("operands are regions of constant extents, the last two dimensions are the matrix");
  };
  const auto& extents = region.ir().extent;
  if (region.is_base()) fail("is one element");
  if (extents.size() < 2) fail(format("has {} dimensions, it needs at least 2", extents.size()));
  for (const ir::Expr& e : extents) {
    if (!ir::as_int(e)) fail("has extents that are not constant");
  }
  for (size_t d = 0; d + 2 < extents.size(); ++d) {
    if (!ir::is_int(extents[d], 1)) fail("has a leading extent other than 1");
  }
  return {*ir::as_int(extents.end()[-2]), *ir::as_int(extents.end()[-1])};
}

void check_sizes(const Site& site, const Region& a, const Region& b, const Region& c,
                 const GemmOptions& options) {
  MatrixSize x = matrix_size(site, "a", a), y = matrix_size(site, "b", b);
  const MatrixSize z = matrix_size(site, "c", c);
  if (options.trans_a) std::swap(x.rows, x.columns);
  if (options.trans_b) std::swap(y.rows, y.columns);
  std::string problem;
  if (x.columns != y.rows)
    problem = format("K is {} in a but {} in b", x.columns, y.rows);
  else if (x.rows != z.rows)
    problem = format("M is {} in a but {} in c", x.rows, z.rows);
  else if (y.columns != z.columns)
    problem = format("N is {} in b but {} in c", y.columns, z.columns);
  if (problem.empty()) return;
  Error error(codes::gemm_02, site.where, "{}: {}", site.name, problem);
  error.note("a is {}{}", a.text(), options.trans_a ? ", transposed" : "");
  error.note("b is {}{}", b.text(), options.trans_b ? ", transposed" : "");
  error.note("c is {}", c.text());
  if (x.rows == z.rows && x.columns == y.columns && y.rows == z.columns) {
    error.help("b looks transposed: give the option trans_b = {}", !options.trans_b);
  }
  throw error;
}

/// Products and sums are in c's type: integers add up in i32, floats in a float that holds the
/// operands' products.
void check_dtypes(const Site& site, const Region& a, const Region& b, const Region& c) {
  const DType x = a.dtype(), y = b.dtype(), z = c.dtype();
  const bool bytes = (x == i8 || x == u8) && (y == i8 || y == u8) && z == i32;
  const bool narrow = x.bits() <= 8 && y.bits() <= 8 && x.is_float() && y.is_float() &&
                      x != f8_e8m0 && y != f8_e8m0 && (z == f32 || z == f16);
  const bool same = x == y && ((x == f16 && (z == f16 || z == f32)) || (x == bf16 && z == f32) ||
                               ((x == f32 || x == tf32) && z == f32) || (x == f64 && z == f64));
  if (bytes || narrow || same) return;
  throw Error(codes::gemm_03, site.where, "{}: no multiply of {} and {} into {}", site.name, x, y,
              z)
      .note("available are f16 into f16 or f32, bf16, f32 and tf32 into f32, f64 into f64")
      .note("and e4m3, e5m2, e2m1 in any mix into f32 or f16, i8 and u8 in any mix into i32");
}

/// The accumulator must be a whole buffer, apart from leading indices of extent 1.
void check_accumulator(const Site& site, const Region& c) {
  const auto& shape = c.buffer().shape();
  bool whole = true;
  for (size_t d = shape.size() - 2; d < shape.size(); ++d) {
    whole = whole && ir::is_int(c.ir().begin[d], 0) &&
            ir::as_int(shape[d]) == ir::as_int(c.ir().extent[d]);
  }
  const MemSpace space = c.buffer().space();
  const bool in_block = space != MemSpace::global && space != MemSpace::workspace;
  if (whole && in_block) return;
  Error error(codes::gemm_04, site.where, "{}: the accumulator is {}", site.name,
              in_block ? "a part of its buffer" : "in global memory");
  error.note("c is {}, of a buffer {}", c.text(), extents_text(shape));
  throw error.help("accumulate into a fragment of the size of the product and copy it");
}

}  // namespace

void gemm(const Region& a, const Region& b, const Region& c, const GemmOptions& options) {
  const Site site{"gemm", a.where()};
  check_sizes(site, a, b, c, options);
  check_dtypes(site, a, b, c);
  check_accumulator(site, c);
  const auto regions = settle_regions(site, {a, b, c});
  Trace& trace = Trace::current(site);
  const ir::Expr clear = trace.settle(site.where, as_condition(site, options.clear));
  trace.emit(ir::make<ir::Gemm>(site.where, [&](ir::Gemm& n) {
    n.a = regions[0];
    n.b = regions[1];
    n.c = regions[2];
    n.trans_a = options.trans_a;
    n.trans_b = options.trans_b;
    n.clear = clear;
    n.require = options.require;
    n.policy = options.policy;
    n.warps_m = options.warps_m;
    n.warps_n = options.warps_n;
    n.k_pack = options.k_pack;
  }));
}

void gemm_scaled_software(const Region& a, const Region& b, const Region& c, const Region& scale_a,
                          const Region& scale_b, const ScaledGemmOptions& options) {
  const Site site{"gemm_scaled_software", a.where()};
  check_sizes(site, a, b, c, {.trans_b = options.trans_b});
  check_dtypes(site, a, b, c);
  check_accumulator(site, c);
  const MatrixSize product = matrix_size(site, "c", c);
  const int64_t k_size = matrix_size(site, "a", a).columns;
  const MatrixSize sa = matrix_size(site, "scale_a", scale_a),
                   sb = matrix_size(site, "scale_b", scale_b);
  const bool floats = scale_a.dtype().is_float() && scale_b.dtype().is_float() && c.dtype() == f32;
  if (!floats || sa.rows != product.rows || sa.columns != sb.columns || k_size % sa.columns != 0 ||
      product.columns % sb.rows != 0) {
    throw Error(codes::gemm_08, site.where, "{}: the scales don't fit", site.name)
        .note("c is {}, K is {}", c.text(), k_size)
        .note("scale_a is {}", scale_a.text())
        .note("scale_b is {}", scale_b.text())
        .help("c is f32; scale_a is [M, K / g], scale_b [N / h, K / g], both floats");
  }
  const int64_t group = k_size / sa.columns, columns = product.columns / sb.rows;
  const auto line = [&](const Expr& e) { return Operand(e, site.where); };
  // An element of the last two dimensions of a region, or a part of them.
  const auto part = [&](const Region& r, const Expr& row, const Expr& column, int64_t rows,
                        int64_t width) {
    ir::Region p = r.ir();
    auto begin = p.begin.end() - 2;
    begin[0] = ir::add(begin[0], as_index(site, row));
    begin[1] = ir::add(begin[1], as_index(site, column));
    p.extent.end()[-2] = ir::index(rows);
    p.extent.end()[-1] = ir::index(width);
    return Region(std::move(p), false, site.where);
  };
  const auto element = [&](const Region& r, const Expr& row, const Expr& column) {
    const Region p = part(r, row, column, 1, 1);
    return Expr(Trace::current(site).load(p.buffer(), p.ir().begin, p.ir().unchecked, site.where));
  };
  if (options.clear) clear(c);
  const Buffer sums = fragment(f32, {product.rows, product.columns}, "partial", site.where);
  serial(Operand(sa.columns, site.where), [&](Expr k) {
    const Expr from = line(k) * group;
    const Region right = options.trans_b ? part(b, 0, from, product.columns, group)
                                         : part(b, from, 0, group, product.columns);
    gemm(part(a, 0, from, product.rows, group), right, Region(sums, site.where),
         {.trans_b = options.trans_b, .clear = true});
    parallel(
        {product.rows, product.columns},
        [&](Expr i, Expr j) {
          const Expr scale = line(cast(line(element(scale_a, i, k)), f32)) *
                             cast(line(element(scale_b, floordiv(line(j), columns), k)), f32);
          const Expr sum =
              line(element(c, i, j)) + line(element(Region(sums, site.where), i, j)) * scale;
          ir::Region target = part(c, i, j, 1, 1).ir();
          target.extent.clear();
          store_element(site, target, sum);
        },
        site.where);
  });
}

}  // namespace lang
}  // namespace tw
