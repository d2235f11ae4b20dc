// Gemm: the register-blocked micro-kernel as loops. A block of kRows x kColumns accumulators is
// held in a local array while k runs; a is read by broadcast, so any layout of it will do, b one
// vector of columns at a time, for which infer_layouts stores it in panels of kColumns.
#include <algorithm>
#include <bit>

#include "tilewright/ir/build.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/lanes.h"
#include "tilewright/pass/lower_tile_ops.h"

namespace tw::pass {
namespace {

using ir::Expr;

/// The matrix of a region: its last two dimensions, whatever leads them.
struct Matrix {
  const ir::Region& region;
  bool transposed;

  /// Extent of the first (row) or second (column) logical dimension.
  int64_t extent(int dim) const {
    const size_t d = region.extent.size() - 2 + static_cast<size_t>(transposed ? 1 - dim : dim);
    return *ir::as_int(region.extent[d]);
  }
  std::vector<Expr> at(const Expr& row, const Expr& column) const {
    std::vector<Expr> index = region.begin;
    const size_t r = index.size() - (transposed ? 1 : 2), c = index.size() - (transposed ? 2 : 1);
    index[r] = ir::add(index[r], row);
    index[c] = ir::add(index[c], column);
    return index;
  }
  Expr load(const Expr& row, const Expr& column, DType dtype) const {
    return ir::cast(dtype, ir::load(region.buffer, at(row, column), region.unchecked));
  }
};

class MicroKernels {
 public:
  MicroKernels(const ir::Gemm& gemm, const VectorShape& shape)
      : gemm_(gemm),
        a_{gemm.a, gemm.trans_a},
        b_{gemm.b, gemm.trans_b},
        c_{gemm.c, false},
        accumulator_(ir::accumulator_type(gemm.c.buffer.dtype())),
        operand_(gemm.pairs == ir::PairFormat::none ? accumulator_ : u32),
        m_(c_.extent(0)),
        n_(c_.extent(1)),
        k_(a_.extent(1)) {
    const GemmBlock block = GemmBlock::of(accumulator_, m_, n_, shape);
    rows_ = block.rows;
    columns_ = block.columns;
  }

  ir::Stmt build() {
    // A panel of b stays in L1 while the rows of a, which are fewer bytes, stream past it.
    return blocks(n_, columns_, "jp", [&](const Expr& column, int64_t columns) {
      return blocks(m_, rows_, "ip", [&](const Expr& row, int64_t rows) {
        return block(row, column, rows, columns);
      });
    });
  }

 private:
  /// body(start, size) for pieces of `size` and one smaller piece for the rest.
  template <class Body>
  static ir::Stmt blocks(int64_t extent, int64_t size, const char* name, Body body) {
    std::vector<ir::Stmt> parts;
    if (extent / size == 1) {
      parts.push_back(body(ir::index(0), size));
    } else if (extent / size > 1) {
      const ir::Var piece = ir::Var::make(name, i64);
      parts.push_back(ir::for_(piece, ir::index(0), ir::index(extent / size),
                               body(ir::mul(piece, ir::index(size)), size)));
    }
    if (extent % size != 0) parts.push_back(body(ir::index(extent / size * size), extent % size));
    return ir::seq(std::move(parts));
  }

  Expr multiply_add(const Expr& held, const Expr& a, const Expr& b) const {
    switch (gemm_.pairs) {
      case ir::PairFormat::bf16:
        return ir::op(ir::OpCode::dot2_bf16, accumulator_, {held, a, b});
      case ir::PairFormat::i16:
        return ir::op(ir::OpCode::dot2_i16, accumulator_, {held, a, b});
      case ir::PairFormat::none:
        break;
    }
    if (accumulator_.is_float()) return ir::op(ir::OpCode::fma, accumulator_, {a, b, held});
    return ir::op(ir::OpCode::add, accumulator_,
                  {held, ir::op(ir::OpCode::mul, accumulator_, {a, b})});
  }

  ir::Stmt block(const Expr& row, const Expr& column, int64_t rows, int64_t columns) {
    const ir::Buffer acc = ir::make_buffer("acc", accumulator_, ir::MemSpace::local,
                                           std::vector<int64_t>{rows, columns});
    // body(r, j) for every row and column of the block, a vector of columns at a time.
    const auto each = [&](auto body) {
      return ir::with_fresh_bindings(over_lanes(columns, [&](const Expr& j) {
        std::vector<ir::Stmt> parts;
        for (int64_t r = 0; r < rows; ++r) parts.push_back(body(ir::index(r), j));
        return ir::seq(std::move(parts));
      }));
    };
    const auto c_at = [&](const Expr& r, const Expr& j) {
      return c_.at(ir::add(row, r), ir::add(column, j));
    };
    const DType c_type = gemm_.c.buffer.dtype();

    const ir::Stmt zero = each([&](const Expr& r, const Expr& j) {
      return ir::store(acc, {r, j}, ir::zero(accumulator_), true);
    });
    const ir::Stmt resume = each([&](const Expr& r, const Expr& j) {
      const Expr held = ir::load(gemm_.c.buffer, c_at(r, j), gemm_.c.unchecked);
      return ir::store(acc, {r, j}, ir::cast(accumulator_, held), true);
    });
    const ir::Stmt multiply = along_k(row, column, [&](const Expr& k) {
      return ir::with_fresh_bindings(over_lanes(columns, [&](const Expr& j) {
        // A vector of b, then a multiply-add for every row.
        const ir::Var b_row = ir::Var::make("b", operand_);
        std::vector<ir::Stmt> steps{ir::let(b_row, b_.load(k, ir::add(column, j), operand_))};
        for (int64_t r = 0; r < rows; ++r) {
          const Expr a = a_.load(ir::add(row, ir::index(r)), k, operand_);
          const Expr held = ir::load(acc, {ir::index(r), j}, true);
          steps.push_back(ir::store(acc, {ir::index(r), j}, multiply_add(held, a, b_row), true));
        }
        return ir::seq(std::move(steps));
      }));
    });
    const ir::Stmt write = each([&](const Expr& r, const Expr& j) {
      const Expr sum = ir::cast(c_type, ir::load(acc, {r, j}, true));
      return ir::store(gemm_.c.buffer, c_at(r, j), sum, gemm_.c.unchecked);
    });
    const Expr clear = gemm_.clear ? gemm_.clear : ir::bool_const(false);
    std::vector<ir::Stmt> stmts{ir::alloc(acc), ir::if_(clear, zero, resume)};
    if (m_ / rows_ > 1) next_block(row, column, columns, stmts);
    stmts.insert(stmts.end(), {multiply, write});
    return ir::seq(std::move(stmts));
  }

  /// Brings the accumulators of the block below nearer: in blocks, they are no stream that the
  /// hardware sees coming.
  void next_block(const Expr& row, const Expr& column, int64_t columns,
                  std::vector<ir::Stmt>& stmts) const {
    const int64_t line = 64 * 8 / gemm_.c.buffer.dtype().bits();  // elements
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t j = 0; j < columns; j += line) {
        stmts.push_back(ir::make<ir::Prefetch>(gemm_.loc, [&](ir::Prefetch& n) {
          n.buffer = gemm_.c.buffer;
          n.indices = c_.at(ir::add(row, ir::index(rows_ + r)), ir::add(column, ir::index(j)));
        }));
      }
    }
  }

  /// The loop over k, by groups of kGroup steps. The lines of the tiles to come are prefetched
  /// between some groups, as evenly as goes without many instructions.
  template <class Step>
  ir::Stmt along_k(const Expr& row, const Expr& column, Step step) {
    constexpr int64_t kGroup = 8;
    std::vector<ir::Stmt> parts;
    const int64_t groups = k_ / kGroup;
    if (groups > 0) {
      const int64_t pauses = pauses_of(groups);
      const ir::Var pause = ir::Var::make("pause", i64), group = ir::Var::make("kg", i64);
      // How many the whole multiply has had: blocks of rows run within blocks of columns.
      const Expr blocks_done =
          ir::add(ir::mul(ir::floordiv(column, ir::index(columns_)), ir::index(m_ / rows_)),
                  ir::floordiv(row, ir::index(rows_)));
      const Expr done = ir::add(ir::mul(blocks_done, ir::index(pauses)), pause);
      std::vector<ir::Stmt> body = prefetches(done, block_count() * pauses);
      const Expr first =
          ir::mul(ir::add(ir::mul(pause, ir::index(groups / pauses)), group), ir::index(kGroup));
      std::vector<ir::Stmt> steps;
      for (int64_t i = 0; i < kGroup; ++i) steps.push_back(step(ir::add(first, ir::index(i))));
      body.push_back(
          ir::for_(group, ir::index(0), ir::index(groups / pauses), ir::seq(std::move(steps))));
      parts.push_back(ir::for_(pause, ir::index(0), ir::index(pauses), ir::seq(std::move(body))));
    }
    if (k_ % kGroup != 0) {
      const ir::Var k = ir::Var::make("k", i64);
      parts.push_back(ir::for_(k, ir::index(groups * kGroup), ir::index(k_), step(k)));
    }
    return ir::seq(std::move(parts));
  }

  int64_t block_count() const { return std::max<int64_t>(m_ / rows_ * (n_ / columns_), 1); }

  /// In how many parts the groups of a block are run, with prefetches before each: as many as the
  /// largest tile has lines for.
  int64_t pauses_of(int64_t groups) const {
    int64_t lines = 0;
    for (const ir::Region& tile : gemm_.prefetch) lines = std::max(lines, Lines(tile).count);
    int64_t pauses =
        std::min(groups, std::max<int64_t>(1, (lines + block_count() - 1) / block_count()));
    while (groups % pauses != 0) ++pauses;
    return pauses;
  }

  /// The cache lines of a tile.
  struct Lines {
    int64_t elements, per_row, count;
    explicit Lines(const ir::Region& tile) : elements(64 * 8 / tile.buffer.dtype().bits()) {
      per_row = (*ir::as_int(tile.extent.back()) + elements - 1) / elements;
      count = per_row;
      for (size_t d = 0; d + 1 < tile.extent.size(); ++d) count *= *ir::as_int(tile.extent[d]);
    }
  };

  /// What of each tile is prefetched after `done` of `total` parts.
  std::vector<ir::Stmt> prefetches(const Expr& done, int64_t total) const {
    std::vector<ir::Stmt> stmts;
    for (const ir::Region& tile : gemm_.prefetch) {
      const Lines lines(tile);
      const size_t last = tile.extent.size() - 1;
      const int64_t at_once = (lines.count + total - 1) / total;
      // A power of two, by which dividing is cheap.
      const auto every = static_cast<int64_t>(
          std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, total / lines.count))));
      for (int64_t i = 0; i < at_once; ++i) {
        Expr rest = ir::floordiv(done, ir::index(every));
        rest = ir::add(ir::mul(rest, ir::index(at_once)), ir::index(i));
        std::vector<Expr> index = tile.begin;
        index[last] = ir::add(index[last], ir::mul(ir::floormod(rest, ir::index(lines.per_row)),
                                                   ir::index(lines.elements)));
        rest = ir::floordiv(rest, ir::index(lines.per_row));
        for (size_t d = last; d-- > 0;) {
          index[d] = ir::add(index[d], ir::floormod(rest, tile.extent[d]));
          rest = ir::floordiv(rest, tile.extent[d]);
        }
        stmts.push_back(ir::make<ir::Prefetch>(gemm_.loc, [&](ir::Prefetch& n) {
          n.buffer = tile.buffer;
          n.indices = index;
        }));
      }
    }
    return stmts;
  }

  const ir::Gemm& gemm_;
  Matrix a_, b_, c_;
  DType accumulator_, operand_;
  int64_t m_, n_, k_;
  int64_t rows_, columns_;
};

}  // namespace

// Two vectors of columns (three where that divides the matrix better) and so many rows that the
// accumulators take up to two thirds of the registers: then the loads of a step never wait for one.
// Measured on Zen 4: 8 x 32, 12 x 32, 8 x 48 of f32 all reach 99 % of the FMA peak from L1, one
// vector of columns 95 %.
GemmBlock GemmBlock::of(DType accumulator, int64_t m, int64_t n, const VectorShape& shape) {
  const int64_t lanes = shape.lanes(accumulator);
  int64_t vectors = std::min<int64_t>(2, (n + lanes - 1) / lanes);
  if (n % (3 * lanes) == 0 && n % (2 * lanes) != 0) vectors = 3;
  const int64_t most = std::max<int64_t>(1, shape.registers * 3 / 4 / vectors);
  int64_t rows = std::min({m, most, int64_t{8}});
  if (m <= most) rows = m;  // one block, without a rest
  return {rows, std::min(n, vectors * lanes)};
}

ir::Stmt lower_gemm(const ir::Gemm& gemm, const VectorShape& shape) {
  return MicroKernels(gemm, shape).build();
}

}  // namespace tw::pass
