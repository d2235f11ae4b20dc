// Tile operations: copy, fill, gemm, reduce, scan and reducers, element by element.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/sim/translate.h"

namespace tw::sim {
namespace {

/// A region of a tile operation while it runs.
struct Box {
  const Place* place;
  Index begin{};
  std::vector<int64_t> extent;

  Box(const RegionCode& code, Machine& m)
      : place(code.place.get()),
        begin(evaluate_index(code.begin, m)),
        extent(evaluate(code.extent, m)) {}
  DType dtype(Machine& m) const { return m.views[static_cast<size_t>(place->view)].dtype; }
};

/// Some axes of a box, over which one walks.
struct Axes {
  const Box* box;
  std::vector<size_t> dims;

  std::vector<int64_t> extents() const {
    std::vector<int64_t> extents;
    for (const size_t dim : dims) extents.push_back(box->extent[dim]);
    return extents;
  }
  /// `at` with the axes' coordinates replaced by begin + point.
  Index place_at(Index at, const Index& point) const {
    for (size_t i = 0; i < dims.size(); ++i) at[dims[i]] = box->begin[dims[i]] + point[i];
    return at;
  }
};

/// The axes whose extent isn't 1, in order; with `transposed` the last two are exchanged.
Axes significant_axes(const Box& box, bool transposed = false) {
  std::vector<size_t> dims;
  for (size_t dim = 0; dim < box.extent.size(); ++dim) dims.push_back(dim);
  if (transposed && dims.size() >= 2) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  std::erase_if(dims, [&](size_t dim) { return box.extent[dim] == 1; });
  return {&box, dims};
}

/// Reports and returns false unless both sides have the same extents.
bool agree(const Axes& a, const Axes& b, Machine& m) {
  if (a.extents() == b.extents()) return true;
  m.report(FindingKind::extent_mismatch, b.box->place, b.box->place->where, [&] {
    return format("{} {} and {} {} have different extents", a.box->place->name, a.box->extent,
                  b.box->place->name, b.box->extent);
  });
  return false;
}

/// Reads a matrix of a box: its last two dims, transposed on demand, as T.
template <class T>
std::vector<T> matrix(const Box& box, bool transposed, Machine& m) {
  const size_t rank = box.extent.size();
  Axes axes{&box, {rank - 2, rank - 1}};
  if (transposed) std::swap(axes.dims[0], axes.dims[1]);
  const std::vector<int64_t> extents = axes.extents();
  const DType dtype = box.dtype(m);
  std::vector<T> values(static_cast<size_t>(points_in(extents)));
  for (size_t n = 0; n < values.size(); ++n) {
    const Index at = axes.place_at(box.begin, point_of(static_cast<int64_t>(n), extents));
    const Bits bits = m.load(*box.place, at);
    if constexpr (std::is_integral_v<T>) {
      values[n] = static_cast<T>(decode_int(bits, dtype));
    } else {
      values[n] = static_cast<T>(decode(bits, dtype));
    }
  }
  return values;
}

/// The halves of words along k as matrix elements of their own: k is the last dimension of a, the
/// first of b.
template <class T>
std::vector<T> halves(const std::vector<uint64_t>& words, size_t columns, bool along_columns,
                      ir::PairFormat format) {
  std::vector<T> values(2 * words.size());
  for (size_t n = 0; n < words.size(); ++n) {
    const size_t row = n / columns, column = n % columns;
    for (size_t half = 0; half < 2; ++half) {
      const auto bits = static_cast<uint16_t>(words[n] >> (16 * half));
      const size_t to = along_columns ? row * 2 * columns + 2 * column + half
                                      : (2 * row + half) * columns + column;
      values[to] = format == ir::PairFormat::bf16 ? static_cast<T>(decode(bits, bf16))
                                                  : static_cast<T>(static_cast<int16_t>(bits));
    }
  }
  return values;
}

/// c += a b, ascending in k; T is the type in which a step is computed.
template <class T>
void multiply(const Box& a, const Box& b, const Box& c, const ir::Gemm& gemm, bool clear,
              Machine& m) {
  const size_t rank = c.extent.size();
  const auto rows = static_cast<size_t>(c.extent[rank - 2]);
  const auto cols = static_cast<size_t>(c.extent[rank - 1]);
  std::vector<T> x, y;
  if (gemm.pairs == ir::PairFormat::none) {
    x = matrix<T>(a, gemm.trans_a, m);
    y = matrix<T>(b, gemm.trans_b, m);
  } else {
    const auto words = matrix<uint64_t>(a, gemm.trans_a, m);
    x = halves<T>(words, words.size() / std::max<size_t>(rows, 1), true, gemm.pairs);
    y = halves<T>(matrix<uint64_t>(b, gemm.trans_b, m), cols, false, gemm.pairs);
  }
  const size_t inner = rows == 0 ? 0 : x.size() / rows;
  const Axes axes{&c, {rank - 2, rank - 1}};
  const DType dtype = c.dtype(m);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < cols; ++j) {
      const Index at = axes.place_at(c.begin, {static_cast<int64_t>(i), static_cast<int64_t>(j)});
      const Bits before = clear ? 0 : m.load(*c.place, at);
      if constexpr (std::is_integral_v<T>) {
        T sum = before;
        for (size_t k = 0; k < inner; ++k) sum += x[i * inner + k] * y[k * cols + j];
        m.store(*c.place, at, encode(sum, dtype));
      } else {
        T sum = static_cast<T>(decode(before, dtype));
        for (size_t k = 0; k < inner; ++k) sum = std::fma(x[i * inner + k], y[k * cols + j], sum);
        m.store(*c.place, at, encode(sum, dtype));
      }
    }
  }
}

}  // namespace

Exec Translator::copy(const ir::Copy& copy) {
  return [from = region(copy.src, copy.loc), to = region(copy.dst, copy.loc),
          transposed = copy.transpose](Machine& m) {
    const Box src(from, m), dst(to, m);
    const Axes read = significant_axes(src, transposed), written = significant_axes(dst);
    if (!agree(read, written, m)) return Flow::next;
    const View& a = m.views[static_cast<size_t>(src.place->view)];
    const View& b = m.views[static_cast<size_t>(dst.place->view)];
    const bool watch = a.storage == b.storage && !m.in_parallel();
    const std::vector<int64_t> extents = read.extents();
    std::vector<Bits> values(static_cast<size_t>(points_in(extents)));
    size_t n = 0;
    std::vector<Index> points;
    const auto fetch = [&](const Index& point) {
      points.push_back(point);
      values[n++] =
          convert_bits(m.load(*src.place, read.place_at(src.begin, point)), a.dtype, b.dtype);
      return Flow::next;
    };
    const auto write = [&](size_t i) {
      m.store(*dst.place, written.place_at(dst.begin, points[i]), values[i]);
    };
    if (watch) {  // an element that is read and written by different iterations: overlap
      m.for_each(extents, true, [&](const Index& point) {
        fetch(point);
        write(n - 1);
        return Flow::next;
      });
    } else {
      m.for_each(extents, false, fetch);
      for (size_t i = 0; i < n; ++i) write(i);
    }
    return Flow::next;
  };
}

Exec Translator::fill(const ir::Fill& fill) {
  return [to = region(fill.dst, fill.loc), value = expr(fill.value)](Machine& m) {
    const Bits bits = value(m);
    const Box dst(to, m);
    const Axes axes = significant_axes(dst);
    return m.for_each(axes.extents(), false, [&](const Index& point) {
      m.store(*dst.place, axes.place_at(dst.begin, point), bits);
      return Flow::next;
    });
  };
}

Exec Translator::gemm(const ir::Gemm& gemm) {
  return [ra = region(gemm.a, gemm.loc), rb = region(gemm.b, gemm.loc),
          rc = region(gemm.c, gemm.loc), trans_a = gemm.trans_a, trans_b = gemm.trans_b,
          clear = expr(gemm.clear), node = ir::Stmt(&gemm)](Machine& m) {
    const bool cleared = clear(m) != 0;
    const Box a(ra, m), b(rb, m), c(rc, m);
    const auto extent = [](const Box& box, size_t from_end) {
      return box.extent[box.extent.size() - from_end];
    };
    if (extent(a, trans_a ? 1 : 2) != extent(c, 2) || extent(b, trans_b ? 2 : 1) != extent(c, 1) ||
        extent(a, trans_a ? 2 : 1) != extent(b, trans_b ? 1 : 2)) {
      m.report(FindingKind::extent_mismatch, c.place, c.place->where, [&] {
        return format("gemm of {} {} and {} {} into {} {}", a.place->name, a.extent, b.place->name,
                      b.extent, c.place->name, c.extent);
      });
      return Flow::next;
    }
    const DType dtype = c.dtype(m);
    if (dtype.is_int()) {
      multiply<uint64_t>(a, b, c, node.as<ir::Gemm>(), cleared, m);
    } else if (dtype == f64) {
      multiply<double>(a, b, c, node.as<ir::Gemm>(), cleared, m);
    } else {
      multiply<float>(a, b, c, node.as<ir::Gemm>(), cleared, m);
    }
    return Flow::next;
  };
}

/// What an element of a reduction's source contributes, as a value of the type `partial`.
Contribution Translator::contribution(const ir::Reduce& reduce, DType partial) {
  const DType dtype = reduce.src.buffer.dtype();
  const auto value = [=](Bits element, Machine&) { return convert_bits(element, dtype, partial); };
  if (reduce.reduce != ir::ReduceKind::abs_sum && reduce.reduce != ir::ReduceKind::abs_max)
    return value;
  if (partial.is_unsigned_int()) {
    return [=, minus = element_function(ir::OpCode::sub, partial)](Bits element, Machine& m) {
      const bool negative = dtype.is_signed_int() && decode_int(element, dtype) < 0;
      return negative ? minus(0, value(element, m), 0) : value(element, m);
    };
  }
  return [=, abs = element_function(ir::OpCode::abs, partial), key = &reduce, where = reduce.loc,
          checked = options_.check_overflow && partial.is_signed_int()](Bits element, Machine& m) {
    const Bits x = value(element, m);
    if (checked && overflows(ir::OpCode::abs, partial, x, 0)) {
      m.report(FindingKind::signed_overflow, key, where,
               [&] { return format("abs({}) overflows {}", value_text(x, partial), partial); });
    }
    return abs(x, 0, 0);
  };
}

Exec Translator::reduce(const ir::Reduce& reduce) {
  const ir::ReduceKind kind = reduce.reduce;
  const bool is_predicate = kind == ir::ReduceKind::any || kind == ir::ReduceKind::all;
  const DType dtype = reduce.dst.buffer.dtype();
  const DType partial = is_predicate ? bool_ : ir::accumulator_type(dtype, reduce.low_precision);
  const ElementFn fold = reduction_step(kind, partial, reduce.propagate_nan);
  TW_CHECK(fold != nullptr, "reduction {} of {}", ir::enum_name(kind), dtype);
  const Contribution contribution = this->contribution(reduce, partial);
  return [=, from = region(reduce.src, reduce.loc), to = region(reduce.dst, reduce.loc),
          dims = reduce.dims, clear = reduce.clear,
          identity = reduction_identity(kind, partial)](Machine& m) {
    const Box src(from, m), dst(to, m);
    Axes folded{&src, {}}, kept{&src, {}}, written{&dst, {}};
    for (size_t dim = 0; dim < src.extent.size(); ++dim) {
      const bool is_folded = std::count(dims.begin(), dims.end(), static_cast<int64_t>(dim)) != 0;
      (is_folded ? folded : kept).dims.push_back(dim);
    }
    const bool same_rank = dst.extent.size() == src.extent.size();
    for (size_t dim = 0; dim < dst.extent.size(); ++dim) {
      const bool is_folded = std::count(dims.begin(), dims.end(), static_cast<int64_t>(dim)) != 0;
      if (!same_rank || !is_folded) written.dims.push_back(dim);
    }
    if (kept.extents() != written.extents()) {  // a dst with other dims of extent 1
      std::erase_if(kept.dims, [&](size_t dim) { return src.extent[dim] == 1; });
      std::erase_if(written.dims, [&](size_t dim) { return dst.extent[dim] == 1; });
      if (!agree(kept, written, m)) return Flow::next;
    }
    const std::vector<int64_t> inner = folded.extents();
    const int64_t count = points_in(inner);
    return m.for_each(kept.extents(), false, [&](const Index& point) {
      const Index row = kept.place_at(src.begin, point);
      Bits sum = identity;
      for (int64_t n = 0; n < count; ++n) {
        const Bits element = m.load(*src.place, folded.place_at(row, point_of(n, inner)));
        sum = fold(sum, contribution(element, m), 0);
      }
      const Index at = written.place_at(dst.begin, point);
      if (!clear) sum = fold(convert_bits(m.load(*dst.place, at), dtype, partial), sum, 0);
      m.store(*dst.place, at, convert_bits(sum, partial, dtype));
      return Flow::next;
    });
  };
}

Exec Translator::scan(const ir::Scan& scan) {
  const ir::ReduceKind kind = ir::reduction_of(scan.scan);
  const DType dtype = scan.dst.buffer.dtype();
  const DType partial = ir::accumulator_type(dtype);
  const ElementFn fold = reduction_step(kind, partial, false);
  TW_CHECK(fold != nullptr, "scan {} of {}", ir::enum_name(scan.scan), dtype);
  return [=, from = region(scan.src, scan.loc), to = region(scan.dst, scan.loc),
          dim = static_cast<size_t>(scan.dim), reverse = scan.reverse, exclusive = scan.exclusive,
          src_dtype = scan.src.buffer.dtype(),
          identity = reduction_identity(kind, partial)](Machine& m) {
    const Box src(from, m), dst(to, m);
    Axes lines{&src, {}}, out{&dst, {}};
    for (size_t d = 0; d < src.extent.size(); ++d) {
      if (d == dim) continue;
      lines.dims.push_back(d);
      out.dims.push_back(d);
    }
    if (src.extent != dst.extent) {
      agree(Axes{&src, {dim}}, Axes{&dst, {dim}}, m);
      return Flow::next;
    }
    const int64_t length = src.extent[dim];
    return m.for_each(lines.extents(), false, [&](const Index& point) {
      Index read = lines.place_at(src.begin, point), written = out.place_at(dst.begin, point);
      Bits sum = identity;
      for (int64_t n = 0; n < length; ++n) {
        const int64_t k = reverse ? length - 1 - n : n;
        read[dim] = src.begin[dim] + k;
        written[dim] = dst.begin[dim] + k;
        const Bits element = convert_bits(m.load(*src.place, read), src_dtype, partial);
        const Bits with = fold(sum, element, 0);
        m.store(*dst.place, written, convert_bits(exclusive ? sum : with, partial, dtype));
        sum = with;
      }
      return Flow::next;
    });
  };
}

// A reducer is memory of its dtype, whose contents are defined within an epoch only: an update or
// finalize outside one reads what was never written.

Exec Translator::reducer_init(const ir::ReducerInit& init) {
  const Bits identity = reduction_identity(init.reducer->reduce, init.reducer.dtype());
  return [place = place(init.reducer, init.loc, false), identity,
          initial = init.initial ? expr(init.initial) : Eval()](Machine& m) {
    const Bits start = initial ? initial(m) : identity;
    const std::vector<int64_t> shape = m.views[static_cast<size_t>(place->view)].extents();
    return m.for_each(shape, false, [&](const Index& at) {
      m.store(*place, at, start);
      return Flow::next;
    });
  };
}

Exec Translator::reducer_update(const ir::ReducerUpdate& update) {
  const ElementFn fold =
      reduction_step(update.reducer->reduce, update.reducer.dtype(), update.reducer->propagate_nan);
  TW_CHECK(fold != nullptr, "reducer {} of {}", ir::enum_name(update.reducer->reduce),
           update.reducer.dtype());
  return [place = place(update.reducer, update.loc, false), indices = integers(update.indices),
          value = expr(update.value), fold](Machine& m) {
    const Index index = evaluate_index(indices, m);
    const Bits element = value(m);
    m.exchange(*place, index, true, [&](Bits sum) { return fold(sum, element, 0); });
    return Flow::next;
  };
}

Exec Translator::reducer_finalize(const ir::ReducerFinalize& finalize) {
  const DType from_dtype = finalize.reducer.dtype(), to_dtype = finalize.dst.buffer.dtype();
  return [from = region(ir::Region::whole(finalize.reducer), finalize.loc),
          to = region(finalize.dst, finalize.loc), from_dtype, to_dtype](Machine& m) {
    const Box src(from, m), dst(to, m);
    const Axes read = significant_axes(src), written = significant_axes(dst);
    if (!agree(read, written, m)) return Flow::next;
    m.for_each(read.extents(), false, [&](const Index& point) {
      const Bits sum = m.load(*src.place, read.place_at(src.begin, point));
      m.store(*dst.place, written.place_at(dst.begin, point),
              convert_bits(sum, from_dtype, to_dtype));
      return Flow::next;
    });
    m.views[static_cast<size_t>(src.place->view)].storage->forget(m.poison());
    return Flow::next;
  };
}

}  // namespace tw::sim
