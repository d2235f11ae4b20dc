// c = activation(op(a) op(b) + bias) + residual, of matrices or of each entry of a batch.
// Compute bound: 2 m n k operations an entry. Tiles of a and b are staged in shared memory, unless
// the whole of k is so short that reading them in place is faster.
#include "tilewright/kernels/gemm.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <unistd.h>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/gemm/epilogue.h"
#include "tilewright/runtime/parallel.h"

namespace tw::kernels {
namespace {

/// The parameters of a product, by the names in which the dataflow uses them.
struct Operands {
  Buffer a, b, c, bias, residual;
  Expr m, n, k;
  bool batched, trans_a, trans_b;
  Epilogue epilogue;
  Expr entry;  // of the batch, which a block works on

  /// A part or element of the block's matrix.
  Ref part(const Buffer& x, const Index& row, const Index& column) const {
    return batched ? x(entry, row, column) : x(row, column);
  }
};

Operands declare(Builder& k, const Case& kernel_case) {
  Operands p{.epilogue = Epilogue::of_code(k.constant("epilogue"))};
  p.batched = k.constant("batched") != 0;
  p.trans_a = k.constant("trans_a") != 0;
  p.trans_b = k.constant("trans_b") != 0;
  const int64_t fixed_k = k.constant("k");  // 0: a run-time size
  const Extents batch = p.batched ? Extents{k.dim("batch")} : Extents{};
  p.m = k.dim("m");
  p.n = k.dim("n");
  p.k = fixed_k != 0 ? Expr(fixed_k) : k.dim("k");
  // An array of the batch's entries: shape, and strides of which the last is 1.
  const auto shape = [&](const Extents& entry) {
    Extents all = batch;
    all.insert(all.end(), entry.begin(), entry.end());
    return all;
  };
  const auto strides = [&](const std::string& name, bool rows) {
    TensorOptions options;
    if (p.batched) options.strides.push_back(k.dim(name + "_batch"));
    if (rows) options.strides.push_back(k.dim(name + "_row"));
    options.strides.push_back(1);
    return options;
  };
  const auto stored = [&](bool swap, const Expr& rows, const Expr& columns) {
    return shape(swap ? Extents{columns, rows} : Extents{rows, columns});
  };
  const DType dtype = kernel_case.dtype(0), out = kernel_case.dtype(1);
  p.a = k.input("a", dtype, stored(p.trans_a, p.m, p.k), strides("a", true));
  p.b = k.input("b", dtype, stored(p.trans_b, p.k, p.n), strides("b", true));
  if (p.epilogue.bias) {
    p.bias = k.input("bias", p.epilogue.bias_dtype, shape({p.n}), strides("bias", false));
  }
  if (p.epilogue.residual) {
    p.residual = k.input("residual", p.epilogue.residual_dtype, shape({p.m, p.n}),
                         strides("residual", true));
  }
  p.c = k.output("c", out, shape({p.m, p.n}), strides("c", true));
  return p;
}

/// Finishes a block's sums and writes them.
void write(const Operands& p, const Buffer& sums, const Expr& row, const Expr& column) {
  const Extents box{sums.extent(0), sums.extent(1)};
  parallel(box, [&](Expr i, Expr j) {
    const Expr y = let(row + i), x = let(column + j);
    Expr bias, residual;
    if (p.epilogue.bias) bias = p.batched ? p.bias(p.entry, x) : p.bias(x);
    if (p.epilogue.residual) residual = p.part(p.residual, y, x);
    p.part(p.c, y, x) =
        cast(finish(p.epilogue.activation, sums(i, j), bias, residual), p.c.dtype());
  });
}

void dataflow(Builder& k, const Case& kernel_case) {
  Operands p = declare(k, kernel_case);
  const int64_t bm = k.tunable("bm", 64), bn = k.tunable("bn", 128), bk = k.tunable("bk", 64);
  const DType dtype = p.a.dtype();
  const auto shape = [](bool swap, int64_t rows, int64_t columns) {
    return swap ? Extents{columns, rows} : Extents{rows, columns};
  };
  // A tile of a stored operand, whichever way it lies.
  const auto tile = [&](const Buffer& x, bool swap, const Index& rows, const Index& columns) {
    return swap ? p.part(x, columns, rows) : p.part(x, rows, columns);
  };
  const Expr batch = p.batched ? p.c.extent(0) : Expr(1);
  k.launch({cdiv(p.n, bn), cdiv(p.m, bm), batch}, [&](Expr bx, Expr by, Expr entry) {
    p.entry = entry;
    const Buffer sums = fragment(f32, {bm, bn}, "sums");
    const auto rows = at(by * bm, bm), columns = at(bx * bn, bn);
    if (p.k.is_const()) {
      gemm(tile(p.a, p.trans_a, rows, all), tile(p.b, p.trans_b, all, columns), sums,
           {.trans_a = p.trans_a, .trans_b = p.trans_b, .clear = true});
    } else {
      const Buffer as = shared(dtype, shape(p.trans_a, bm, bk), "a_tile");
      const Buffer bs = shared(dtype, shape(p.trans_b, bk, bn), "b_tile");
      if_(p.k == 0, [&] { clear(sums); });
      pipelined(cdiv(p.k, bk), [&](Expr i) {
        const auto depth = at(i * bk, bk);
        copy(tile(p.a, p.trans_a, rows, depth), as);
        copy(tile(p.b, p.trans_b, depth, columns), bs);
        gemm(as, bs, sums, {.trans_a = p.trans_a, .trans_b = p.trans_b, .clear = i == 0});
      });
    }
    write(p, sums, by * bm, bx * bn);
  });
}

// Tiles of the cpu come from the sizes, see plan_for.
void schedule_cpu(Schedule& s, const Case& c) {
  s.set("bm", c.constant("rows")).set("bn", c.constant("columns"));
  if (c.constant("k") == 0) s.set("bk", c.constant("depth"));
}

const Jit& kernel() {
  static const Jit jit(define_kernel("gemm", dataflow).schedule(targets::cpu, schedule_cpu));
  return jit;
}

/// How a product is run on the cpu: in place if `fixed_k` is not 0, else with tiles of a and b of
/// that depth.
struct Plan {
  int64_t fixed_k = 0, rows = 0, columns = 0, depth = 0;
};

/// The multiple of `unit` that holds `size`, at most `most`: few kernels, little waste.
int64_t tile_size(int64_t size, int64_t unit, int64_t most) {
  return std::clamp((size + unit - 1) / unit * unit, unit, most);
}

/// Bytes of a core's second-level cache.
int64_t second_level_cache() {
  static const int64_t bytes = [] {
    const int64_t known = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return known > 0 ? known : int64_t{1} << 20;
  }();
  return bytes;
}

bool has_large_cache() { return second_level_cache() >= int64_t{1} << 20; }

/// Rows and columns of the tiles of a staged product of that depth: those that take the least time.
/// A larger tile is packed less often: on Zen 4, 4096^3 in f32 runs at 92 % of the FMA peak with
/// 512 x 1024, at 88 % with 256 x 512. But the tile of b may take half of the second-level cache,
/// and the sums no more than all of a small one: on Zen 3 with 512 KiB, 2048^3 is 5 % slower with
/// 512 x 512 than with 256 x 512. What a tile has beyond the matrix is computed for nothing, and
/// every thread must have a tile, two where they are that large.
std::pair<int64_t, int64_t> staged_tile(int64_t batch, int64_t m, int64_t n, int64_t depth) {
  constexpr std::array<std::pair<int64_t, int64_t>, 8> kTiles{{{512, 1024},
                                                               {256, 1024},
                                                               {512, 512},
                                                               {256, 512},
                                                               {128, 512},
                                                               {256, 256},
                                                               {128, 256},
                                                               {64, 128}}};
  constexpr int64_t kLargeTile = int64_t{256} * 512;
  constexpr double kPacking = 50;  // rows or columns whose multiplies take as long as packing one
  const int64_t threads = runtime::thread_count();
  std::pair<int64_t, int64_t> best = kTiles.back();
  double least = 0;
  for (const auto& [most_rows, most_columns] : kTiles) {
    const int64_t tile_of_b = depth * most_columns * 4, sums = most_rows * most_columns * 4;
    if (2 * tile_of_b > second_level_cache()) continue;
    if (!has_large_cache() && sums > second_level_cache()) continue;
    const int64_t rows = tile_size(m, 16, most_rows), columns = tile_size(n, 64, most_columns);
    const int64_t blocks = batch * lang::cdiv(m, rows) * lang::cdiv(n, columns);
    const int64_t wanted = threads * (most_rows * most_columns > kLargeTile ? 2 : 1);
    if (blocks < wanted) continue;
    const auto height = static_cast<double>(rows), width = static_cast<double>(columns);
    const double time = static_cast<double>(lang::cdiv(blocks, threads)) *
                        (height * width + kPacking * (height + width));
    if (least == 0 || time < least) {
      best = {most_rows, most_columns};
      least = time;
    }
  }
  return best;
}

// Reading b in place pays while a strip of it stays in the second-level cache and its rows don't
// alias there: measured on Zen 4 with 1 MiB, f32, from 32 x 384 x 1536 to 1024 x 1536 x 384 at 91 %
// to 96 % of the FMA peak, against 87 % staged; at rows of 4 KiB it loses, and with 512 KiB (Zen 3,
// half as wide vectors) it is half as fast as staged. Its strips of columns divide n; few rows have
// few accumulators, for which three vectors of columns make up.
Plan plan_for(const Tensor& a, const Tensor& b, const Tensor& c, const GemmArgs& args) {
  constexpr int64_t kMostRows = 12;  // of one micro-kernel
  const int64_t m = c.dim(-2), n = c.dim(-1), k = a.dim(args.trans_a ? -2 : -1);
  const auto rows = [&](int64_t most) {
    return m <= kMostRows ? std::max<int64_t>(m, 1) : tile_size(m, 16, most);
  };
  const bool aliases = b.stride(-2) * 4 % 4096 == 0;
  const bool in_place = a.dtype() == f32 && !args.trans_a && !args.trans_b && k > 0 && k <= 1600 &&
                        has_large_cache() && !aliases;
  if (in_place) {
    const int64_t strip = m <= kMostRows && n % 48 == 0 ? 48 : n % 64 == 0 ? 64 : 32;
    return {k, rows(128), strip, 0};
  }
  const int64_t depth = tile_size(k, 32, 128), batch = c.rank() == 3 ? c.dim(0) : 1;
  const auto [most_rows, most_columns] = staged_tile(batch, m, n, depth);
  return {0, rows(most_rows), tile_size(n, 64, most_columns), depth};
}

/// What both forms check of a and b and of the epilogue; their ranks are checked.
void check(std::string_view f, const Tensor& a, const Tensor& b, const Tensor& c,
           const GemmArgs& args) {
  check_dtype(f, {"a", a}, {f32, bf16, f16});
  check_dtype(f, {"b", b}, {a.dtype()});
  const int64_t k = a.dim(args.trans_a ? -2 : -1), b_k = b.dim(args.trans_b ? -1 : -2);
  TW_REQUIRE(b_k == k, "{}: K is {} in a {} but {} in b {}", f, k, a, b_k, b);
  const int64_t m = a.dim(args.trans_a ? -1 : -2), n = b.dim(args.trans_b ? -2 : -1);
  if (a.rank() == 2) {
    check_shape(f, {"c", c}, {m, n}, "[m, n]");
  } else {
    check_shape(f, {"c", c}, {a.dim(0), m, n}, "[batch, m, n]");
  }
  check_epilogue(f, c, args);
  check_apart(f, {"c", c}, {{"a", a}, {"b", b}});
}

/// A bias [n] as [batch, n].
Tensor for_each_entry(const Tensor& bias, int64_t batch) {
  return {bias.data(), bias.dtype(), {batch, bias.dim(0)}, {0, bias.stride(0)}, bias.device()};
}

void run(const Tensor& a, const Tensor& b, const Tensor& c, const GemmArgs& args, Stream stream) {
  const Plan plan = plan_for(a, b, c, args);
  const bool batched = c.rank() == 3;
  const Kernel& run = kernel()({a.dtype(), c.dtype()},
                               {{"batched", batched},
                                {"k", plan.fixed_k},
                                {"rows", plan.rows},
                                {"columns", plan.columns},
                                {"depth", plan.depth},
                                {"trans_a", args.trans_a},
                                {"trans_b", args.trans_b},
                                {"epilogue", Epilogue(args).code()}},
                               c.device().kind);
  std::array<Arg, 5> list{a, b};
  size_t count = 2;
  Tensor bias;
  if (args.bias != nullptr) {
    bias = batched && args.bias->rank() == 1 ? for_each_entry(*args.bias, c.dim(0)) : *args.bias;
    list[count++] = bias;
  }
  if (args.residual != nullptr) list[count++] = *args.residual;
  list[count++] = c;
  run(std::span(list.data(), count),
      {.stream = stream, .in_place = true});  // c may be the residual
}

}  // namespace

void gemm(const Tensor& a, const Tensor& b, const Tensor& c, const GemmArgs& args, Stream stream) {
  check_rank("gemm", {"a", a}, 2);
  check_rank("gemm", {"b", b}, 2);
  check("gemm", a, b, c, args);
  run(a, b, c, args, stream);
}

void batched_gemm(const Tensor& a, const Tensor& b, const Tensor& c, const GemmArgs& args,
                  Stream stream) {
  check_rank("batched_gemm", {"a", a}, 3);
  check_rank("batched_gemm", {"b", b}, 3);
  TW_REQUIRE(a.dim(0) == b.dim(0), "batched_gemm: the batch is {} in a {} but {} in b {}", a.dim(0),
             a, b.dim(0), b);
  check("batched_gemm", a, b, c, args);
  run(a, b, c, args, stream);
}

}  // namespace tw::kernels
