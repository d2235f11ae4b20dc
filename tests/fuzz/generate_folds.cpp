// Folds: reductions, scans, multiplies, reducers.
#include <algorithm>

#include "tests/fuzz/generator.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/sim/element.h"

namespace tw::fuzz {

using ir::Expr;
using ir::MemSpace;
using ir::ReduceKind;
using ir::Stmt;

namespace {

const std::vector<DType> kSummed = {i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64};
const std::vector<DType> kInts = {i8, i16, i32, i64, u8, u16, u32, u64};

bool contains(const std::vector<DType>& list, DType dtype) {
  return std::find(list.begin(), list.end(), dtype) != list.end();
}

}  // namespace

Tile Generator::summable(bool tiny, const std::vector<DType>& dtypes) {
  const Tile* found = pick([&](const Tile& t) {
    return t.small && !t.is_rough() && !tiny && contains(dtypes, t.dtype());
  });
  if (found != nullptr && random_.chance(60)) return *found;
  const DType dtype = random_.pick(dtypes);
  const Tile tile = small_tile(dtype, tile_shape(dtype), {}, tiny);
  add(tile);
  return tile;
}

void Generator::finish_sum(Tile tile, int64_t length, int64_t roundings) {
  tile.small = false;
  const DType dtype = tile.dtype();
  if (rounds_ && dtype.is_float()) {
    tile.tolerance = reference::sum_tolerance(ir::accumulator_type(dtype), dtype, length,
                                              16.0 * static_cast<double>(length), roundings);
  }
  add(std::move(tile));
}

void Generator::fast_function() {
  if (!rounds_) return elementwise();
  // In [0.5, 4.5], where the approximations are as good as they get.
  const DType dtype = random_.pick({f32, f16, bf16});
  Tile tile = allocate(dtype, tile_shape(dtype));
  write_elements(tile, [&](DType type) {
    const Expr magnitude = ir::op(ir::OpCode::abs, type, {exprs_.moderate_number(type, 2)});
    const Expr x = ir::op(ir::OpCode::add, type, {magnitude, ir::literal(type, 0.5)});
    return ir::make<ir::Op>({}, [&](ir::Op& n) {
      n.code = random_.pick({ir::OpCode::exp, ir::OpCode::exp2, ir::OpCode::log, ir::OpCode::log2,
                             ir::OpCode::sin, ir::OpCode::cos, ir::OpCode::tanh, ir::OpCode::rcp,
                             ir::OpCode::rsqrt});
      n.dtype = type;
      n.args = {x};
      n.exactness = ir::Exactness::fast;
    });
  });
  tile.tolerance = reference::fast_tolerance(dtype);
  add(tile);
}

void Generator::reduce() {
  const ReduceKind kind =
      random_.pick({ReduceKind::sum, ReduceKind::sum, ReduceKind::abs_sum, ReduceKind::max,
                    ReduceKind::max, ReduceKind::min, ReduceKind::abs_max, ReduceKind::prod,
                    ReduceKind::bit_and, ReduceKind::bit_or, ReduceKind::bit_xor});
  const bool sums = kind == ReduceKind::sum || kind == ReduceKind::abs_sum;
  const bool bits =
      kind == ReduceKind::bit_and || kind == ReduceKind::bit_or || kind == ReduceKind::bit_xor;
  const bool tiny = kind == ReduceKind::prod || (sums && random_.chance(20));
  Tile src;
  if (sums || kind == ReduceKind::prod) {
    src = summable(tiny, kSummed);
  } else {
    const Tile* found = pick([&](const Tile& t) {
      if (kind == ReduceKind::abs_max && t.dtype().is_signed_int() && !t.small)
        return false;  // the magnitude of the lowest value isn't defined
      return !t.is_rough() &&
             (bits ? t.dtype().is_int() || t.dtype().is_bool()
                   : t.dtype().is_int() || (t.dtype().has_float_arithmetic() && t.dtype() != tf32));
    });
    if (found == nullptr) return elementwise();
    src = *found;
  }
  std::vector<int64_t> dims;
  Shape shape;
  int64_t length = 1;
  const bool keep = src.shape.size() == 1 || random_.chance(40);
  for (size_t dim = 0; dim < src.shape.size(); ++dim) {
    const bool last_chance = dims.empty() && dim + 1 == src.shape.size();
    if (last_chance || random_.chance(40)) {
      dims.push_back(static_cast<int64_t>(dim));
      length *= src.shape[dim];
      if (keep) shape.push_back(1);
    } else {
      shape.push_back(src.shape[dim]);
    }
  }
  if (shape.empty()) shape.push_back(1);
  DType dtype = src.dtype();
  if (sums && random_.chance(30)) dtype = dtype.is_float() ? random_.pick({f32, f64}) : i64;
  if (dtype.bits() < src.dtype().bits() || (dtype == f32 && src.dtype() == f64))
    dtype = src.dtype();
  const bool clear = random_.chance(70);
  const bool low_precision = tiny && sums && length <= 200 && random_.chance(50);
  Tile dst = clear ? allocate(dtype, shape) : small_tile(dtype, shape);
  emit(ir::make<ir::Reduce>({}, [&](ir::Reduce& n) {
    n.reduce = kind;
    n.src = ir::Region::whole(src.buffer);
    n.dst = ir::Region::whole(dst.buffer);
    n.dims = dims;
    n.clear = clear;
    n.propagate_nan = random_.chance(40);
    n.low_precision = low_precision;
  }));
  if (sums || kind == ReduceKind::prod) return finish_sum(dst, length + 1);
  dst.small = false;
  settle_zeros(dst);
  add(dst);
}

void Generator::predicate() {
  const Tile* found = pick([](const Tile& t) { return t.dtype().is_int() || t.dtype().is_bool(); });
  if (found == nullptr) return elementwise();
  const Tile src = *found;
  const Tile dst = allocate(bool_, Shape(src.shape.size(), 1));
  emit(ir::make<ir::Reduce>({}, [&](ir::Reduce& n) {
    n.reduce = random_.pick({ReduceKind::any, ReduceKind::all});
    n.src = ir::Region::whole(src.buffer);
    n.dst = ir::Region::whole(dst.buffer);
    for (size_t dim = 0; dim < src.shape.size(); ++dim) n.dims.push_back(static_cast<int64_t>(dim));
  }));
  add(dst);
}

void Generator::scan() {
  const ir::ScanKind kind = random_.pick({ir::ScanKind::sum, ir::ScanKind::sum, ir::ScanKind::max,
                                          ir::ScanKind::min, ir::ScanKind::prod});
  const bool sums = kind == ir::ScanKind::sum;
  const Tile src = summable(kind == ir::ScanKind::prod, kSummed);
  const Tile dst = allocate(src.dtype(), src.shape);
  const int64_t dim = random_.range(0, static_cast<int64_t>(src.shape.size()) - 1);
  const bool in_place = random_.chance(30);
  ir::Region from = ir::Region::whole(src.buffer);
  const ir::Region to = ir::Region::whole(dst.buffer);
  if (in_place) {
    emit(ir::make<ir::Copy>({}, [&](ir::Copy& n) {
      n.src = from;
      n.dst = to;
    }));
    from = to;
  }
  emit(ir::make<ir::Scan>({}, [&](ir::Scan& n) {
    n.scan = kind;
    n.src = from;
    n.dst = to;
    n.dim = dim;
    n.reverse = random_.chance(40);
    n.exclusive = random_.chance(30);
  }));
  if (sums || kind == ir::ScanKind::prod) {
    return finish_sum(dst, src.shape[static_cast<size_t>(dim)]);
  }
  settle_zeros(dst);
  add(dst);
}

void Generator::multiply(const Tile& a, const Tile& b, const Tile& c, bool trans_a, bool trans_b,
                         const Expr& clear) {
  emit(ir::make<ir::Gemm>({}, [&](ir::Gemm& n) {
    n.a = ir::Region::whole(a.buffer);
    n.b = ir::Region::whole(b.buffer);
    n.c = ir::Region::whole(c.buffer);
    n.trans_a = trans_a;
    n.trans_b = trans_b;
    n.clear = clear;
  }));
}

Generator::GemmTypes Generator::gemm_types() {
  static const std::vector<GemmTypes> kTypes = {
      {f32, f32, f32},   {f32, f32, f32},         {f64, f64, f64},         {bf16, bf16, f32},
      {f16, f16, f32},   {f16, f16, f16},         {bf16, bf16, bf16},      {i8, i8, i32},
      {u8, i8, i32},     {u8, u8, i32},           {f8_e4m3, f8_e4m3, f32}, {f8_e5m2, f8_e4m3, f32},
      {tf32, tf32, f32}, {f8_e5m2, f8_e5m2, f32},
  };
  return random_.pick(kTypes);
}

void Generator::gemm() {
  const GemmTypes types = gemm_types();
  const auto size = [&] { return random_.pick({1, 2, 3, 4, 7, 8, 9, 16, 17, 24}); };
  const int64_t m = size(), n = size(), k = size();
  const bool trans_a = random_.chance(40), trans_b = random_.chance(40);
  const auto matrix = [&](DType dtype, int64_t rows, int64_t cols) {
    Shape shape = {rows, cols};
    if (random_.chance(20)) shape.insert(shape.begin(), 1);
    const Tile tile =
        small_tile(dtype, shape, random_.chance(70) ? MemSpace::shared : MemSpace::fragment);
    add(tile);
    return tile;
  };
  const Tile a = trans_a ? matrix(types.a, k, m) : matrix(types.a, m, k);
  const Tile b = trans_b ? matrix(types.b, n, k) : matrix(types.b, k, n);
  const int64_t kind = random_.range(0, 2);
  const Tile c = kind == 0 ? allocate(types.c, {m, n}) : small_tile(types.c, {m, n});
  const Expr clear = kind == 0   ? ir::bool_const(true)
                     : kind == 1 ? ir::bool_const(false)
                                 : uniform_condition();
  multiply(a, b, c, trans_a, trans_b, clear);
  finish_sum(c, k + 1);
}

void Generator::pipelined_gemm() {
  // The usual loop over k: copies into shared tiles, then a multiply into an accumulator.
  const GemmTypes types = gemm_types();
  const int64_t m = random_.pick({4, 8, 13, 16}), n = random_.pick({4, 8, 16, 17}),
                k = random_.pick({4, 8, 16}), steps = random_.range(0, 3);
  const bool trans_b = random_.chance(40);
  const auto source = [&](DType dtype) { return input(dtype, 2, 40, true); };
  const ir::Buffer x = source(types.a), y = source(types.b);
  const Tile a = allocate(types.a, {m, k}, MemSpace::shared);
  const Tile b = allocate(types.b, trans_b ? Shape{n, k} : Shape{k, n}, MemSpace::shared);
  const Tile c = small_tile(types.c, {m, n}, MemSpace::fragment);
  const bool clears = random_.chance(40);
  const ir::Var step = ir::Var::make(name("k"), i64);
  const Stmt body = scope([&] {
    const Expr at = ir::mul(step, ir::index(k));
    const auto load = [&](const ir::Buffer& from, const Tile& to, bool along_rows) {
      ir::Region region = ir::Region::whole(to.buffer);
      region.buffer = from;
      region.begin = along_rows ? std::vector<Expr>{at, exprs_.index(1)}
                                : std::vector<Expr>{exprs_.index(1), at};
      emit(ir::make<ir::Copy>({}, [&](ir::Copy& s) {
        s.src = region;
        s.dst = ir::Region::whole(to.buffer);
      }));
    };
    load(x, a, false);
    load(y, b, !trans_b);
    multiply(a, b, c, false, trans_b, clears ? ir::eq(step, ir::index(0)) : ir::bool_const(false));
  });
  emit(ir::make<ir::For>({}, [&](ir::For& loop) {
    loop.var = step;
    loop.lo = ir::index(0);
    loop.hi = ir::index(steps);
    loop.step = ir::index(1);
    loop.loop = random_.chance(70) ? ir::LoopKind::pipelined : ir::LoopKind::serial;
    loop.stages = loop.loop == ir::LoopKind::pipelined ? random_.range(0, 3) : 0;
    loop.body = body;
  }));
  finish_sum(c, k * steps + 1, steps + 1);
}

void Generator::reducer() {
  const ReduceKind kind =
      random_.pick({ReduceKind::sum, ReduceKind::max, ReduceKind::min, ReduceKind::bit_and,
                    ReduceKind::bit_or, ReduceKind::bit_xor});
  const bool bits =
      kind == ReduceKind::bit_and || kind == ReduceKind::bit_or || kind == ReduceKind::bit_xor;
  const DType dtype = bits ? random_.pick(kInts) : random_.pick({i32, i64, u32, u16, f32, f64});
  const Shape shape = {random_.range(1, 9)};
  const ir::Buffer partial = ir::make<ir::BufferNode>({}, [&](ir::BufferNode& n) {
    n.name = name("r");
    n.dtype = dtype;
    n.space = MemSpace::reducer;
    n.shape = {ir::index(shape[0])};
    n.reduce = kind;
  });
  emit(ir::alloc(partial));
  emit(ir::make<ir::ReducerInit>({}, [&](ir::ReducerInit& n) {
    n.reducer = partial;
    if (random_.chance(40))
      n.initial = ir::literal(dtype, static_cast<double>(random_.range(0, 4)));
  }));
  const Shape box = {shape[0], random_.range(1, 17)};
  const Vars vars = loop_vars(2);
  const bool rounds = rounds_ && dtype.is_float() && kind == ReduceKind::sum;
  parallel(vars, box, scope([&] {
             exprs_.indices.insert(exprs_.indices.end(), vars.begin(), vars.end());
             add_tile_leaves(vars, box, partial);
             const Expr value = bits     ? exprs_.value(dtype, 2)
                                : rounds ? exprs_.moderate_number(dtype, 2)
                                         : exprs_.small_number(dtype, 2);
             const Expr condition = random_.chance(30) ? exprs_.condition(1) : ir::bool_const(true);
             emit(ir::if_(condition, ir::make<ir::ReducerUpdate>({}, [&](ir::ReducerUpdate& n) {
                            n.reducer = partial;
                            n.indices = {vars[0]};
                            n.value = value;
                          })));
           }));
  const Tile dst = allocate(dtype, shape);
  emit(ir::make<ir::ReducerFinalize>({}, [&](ir::ReducerFinalize& n) {
    n.reducer = partial;
    n.dst = ir::Region::whole(dst.buffer);
  }));
  if (kind == ReduceKind::sum) return finish_sum(dst, box[1] + 1);
  settle_zeros(dst);
  add(dst);
}

}  // namespace tw::fuzz
