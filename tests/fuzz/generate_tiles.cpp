// Tiles: allocation, element loops, copies, views.
#include <algorithm>

#include "tests/fuzz/generator.h"
#include "tests/fuzz/values.h"
#include "tilewright/base/convert.h"

namespace tw::fuzz {

using ir::Expr;
using ir::MemSpace;
using ir::Stmt;

Generator::Shape Generator::tile_shape(DType dtype, size_t rank) {
  const int64_t limit = random_.chance(10) ? 1200 : 300;
  Shape shape;
  int64_t elements = 1;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t extent = random_.pick({1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64});
    while (elements * extent > limit) extent = (extent + 1) / 2;
    shape.push_back(extent);
    elements *= extent;
  }
  if (dtype.is_sub_byte()) shape.back() = (shape.back() + 1) / 2 * 2;
  return shape;
}

Tile Generator::allocate(DType dtype, Shape shape, std::optional<MemSpace> space) {
  if (!space) space = random_.pick({MemSpace::fragment, MemSpace::shared});
  Tile tile;
  tile.buffer = ir::make<ir::BufferNode>({}, [&](ir::BufferNode& n) {
    n.name = name("t");
    n.dtype = dtype;
    n.space = *space;
    for (const int64_t extent : shape) n.shape.push_back(ir::index(extent));
    if (*space == MemSpace::shared && random_.chance(8)) n.padding = random_.pick({2, 4, 8});
  });
  tile.shape = std::move(shape);
  emit(ir::alloc(tile.buffer));
  return tile;
}

void Generator::add(Tile tile) { tiles_.push_back(std::move(tile)); }

const Tile* Generator::pick(const std::function<bool(const Tile&)>& wanted) {
  std::vector<const Tile*> found;
  for (const Tile& tile : tiles_) {
    if (wanted(tile)) found.push_back(&tile);
  }
  return found.empty() ? nullptr : random_.pick(found);
}

Generator::Vars Generator::loop_vars(size_t count) {
  Vars vars;
  for (size_t i = 0; i < count; ++i) vars.push_back(ir::Var::make(name("p"), i64));
  return vars;
}

void Generator::parallel(const Vars& vars, const std::vector<Expr>& extents, Stmt body) {
  std::vector<size_t> order(vars.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (random_.chance(20)) std::reverse(order.begin(), order.end());
  const auto over = [&](size_t first, size_t last, const Stmt& inner) {
    return ir::make<ir::Parallel>({}, [&](ir::Parallel& n) {
      for (size_t i = first; i < last; ++i) {
        n.vars.push_back(vars[order[i]]);
        n.extents.push_back(extents[order[i]]);
      }
      n.body = inner;
      n.max_vector = random_.chance(10) ? 4 : 0;
    });
  };
  if (vars.size() < 2 || random_.chance(85)) return emit(over(0, vars.size(), body));
  emit(over(0, 1, over(1, vars.size(), body)));  // perfectly nested: the same box
}

void Generator::parallel(const Vars& vars, const Shape& extents, Stmt body) {
  std::vector<Expr> exprs;
  for (const int64_t extent : extents) exprs.push_back(ir::index(extent));
  parallel(vars, exprs, std::move(body));
}

void Generator::add_tile_leaves(const Vars& vars, const Shape& extents, const ir::Buffer& written) {
  for (const Tile& tile : tiles_) {
    if (tile.is_rough() || (written && tile.aliases(written))) continue;
    // Dimensions are matched from the last; what doesn't match is indexed at
    // will, in shared memory.
    std::vector<Expr> at(tile.shape.size());
    std::vector<int64_t> free(tile.shape.size(), 0);
    bool matches = true;
    for (size_t i = 0; i < at.size(); ++i) {
      const size_t dim = at.size() - 1 - i;
      if (tile.shape[dim] == 1) {
        at[dim] = ir::index(0);
      } else if (i < vars.size() && extents[vars.size() - 1 - i] == tile.shape[dim]) {
        at[dim] = vars[vars.size() - 1 - i];
      } else {
        matches = false;
        free[dim] = tile.shape[dim];
      }
    }
    if (!matches && tile.is_fragment()) continue;
    exprs_.leaves.push_back({tile.dtype(), [this, buffer = tile.buffer, at, free] {
                               std::vector<Expr> index = at;
                               for (size_t dim = 0; dim < index.size(); ++dim) {
                                 if (free[dim] != 0) index[dim] = exprs_.index_within(free[dim], 1);
                               }
                               return ir::load(buffer, index);
                             }});
  }
  for (const ir::Buffer& buffer : readable_) {
    exprs_.leaves.push_back({buffer.dtype(), [this, buffer] { return global_element(buffer, 2); }});
  }
}

Stmt Generator::element_body(const Tile& tile, const std::vector<Expr>& at, const Expr& value) {
  const ir::Buffer& buffer = tile.buffer;
  switch (random_.range(0, 6)) {
    case 0: {  // through a variable
      const ir::Var held = ir::Var::make(name("v"), tile.dtype());
      return ir::seq({ir::let(held, value), ir::store(buffer, at, held)});
    }
    case 1: {  // on both paths
      const Expr other = exprs_.index(1);
      return ir::make<ir::If>({}, [&](ir::If& n) {
        n.cond = ir::lt(other, exprs_.index(1));
        n.then_body = ir::store(buffer, at, value);
        n.else_body = ir::store(buffer, at, tile.small ? ir::zero(tile.dtype()) : value);
      });
    }
    case 2: {  // accumulated in an inner loop, the last value counts
      const ir::Buffer held =
          ir::make_buffer(name("v"), tile.dtype(), MemSpace::variable, std::vector<int64_t>{});
      const ir::Var k = ir::Var::make(name("k"), i64);
      const Stmt loop = ir::for_(k, ir::index(0), ir::index(random_.range(0, 3)),
                                 ir::if_(ir::lt(exprs_.index(1), k), ir::store(held, {}, value)));
      return ir::seq({ir::alloc(held, ir::zero(tile.dtype())), loop,
                      ir::store(buffer, at, ir::load(held, {}))});
    }
    case 3: {  // through an array of the iteration's own
      const int64_t length = random_.range(1, 5);
      const ir::Buffer array =
          ir::make_buffer(name("a"), tile.dtype(), MemSpace::local, std::vector<int64_t>{length});
      const ir::Var k = ir::Var::make(name("k"), i64);
      const auto kind = random_.pick({ir::LoopKind::serial, ir::LoopKind::vectorized});
      return ir::seq(
          {ir::alloc(array),
           ir::for_(k, ir::index(0), ir::index(length), ir::store(array, {k}, value), kind),
           ir::store(buffer, at, ir::load(array, {exprs_.index_within(length, 1)}))});
    }
    default:
      return ir::store(buffer, at, value);
  }
}

void Generator::write_elements(const Tile& tile, const std::function<Expr(DType)>& value) {
  const Vars vars = loop_vars(tile.shape.size());
  const Stmt body = scope([&] {
    exprs_.indices.insert(exprs_.indices.end(), vars.begin(), vars.end());
    add_tile_leaves(vars, tile.shape, tile.buffer);
    emit(element_body(tile, {vars.begin(), vars.end()}, value(tile.dtype())));
  });
  const bool serial = !tile.is_fragment() && !tile.dtype().is_sub_byte() && random_.chance(20);
  if (!serial) return parallel(vars, tile.shape, body);
  Stmt nest = body;
  for (size_t dim = vars.size(); dim-- > 0;) {
    const bool innermost = dim + 1 == vars.size();
    const auto kind =
        innermost && tile.shape[dim] > 1
            ? random_.pick({ir::LoopKind::serial, ir::LoopKind::vectorized})
            : random_.pick({ir::LoopKind::serial, ir::LoopKind::serial, ir::LoopKind::unrolled});
    nest = ir::for_(vars[dim], ir::index(0), ir::index(tile.shape[dim]), nest, kind);
  }
  emit(nest);
}

Tile Generator::small_tile(DType dtype, Shape shape, std::optional<MemSpace> space, bool tiny) {
  Tile tile = allocate(dtype, std::move(shape), space);
  tile.small = true;
  const bool rounds = rounds_ && dtype.has_float_arithmetic() && !tiny;
  write_elements(tile, [&](DType type) {
    return rounds ? exprs_.moderate_number(type, 2) : exprs_.small_number(type, 2, tiny);
  });
  return tile;
}

void Generator::settle_zeros(const Tile& tile) {
  if (!tile.dtype().has_float_arithmetic() || tile.dtype() == tf32) return;
  const Vars vars = loop_vars(tile.shape.size());
  const std::vector<Expr> at(vars.begin(), vars.end());
  parallel(vars, tile.shape,
           ir::store(tile.buffer, at, exprs_.positive_zero(ir::load(tile.buffer, at))));
}

ir::Region Generator::global_region(const ir::Buffer& buffer, const Shape& extents) {
  ir::Region region;
  region.buffer = buffer;
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    Expr begin = random_.chance(40) ? ir::index(0) : exprs_.index(2);
    if (buffer.dtype().is_sub_byte()) begin = ir::mul(begin, ir::index(2));
    region.begin.push_back(begin);
    region.extent.push_back(ir::index(extents[dim]));
  }
  return region;
}

void Generator::load_tile() {
  const bool small = random_.chance(30);
  DType to = random_.pick(all_dtypes()),
        from = random_.chance(60) ? to : random_.pick(all_dtypes());
  if (cast_error(from, to) != Code{}) from = to;
  if (from.is_sub_byte() != to.is_sub_byte() && from.is_sub_byte()) from = to;
  Tile tile = allocate(to, tile_shape(to));
  // Dimensions of extent 1 may be put anywhere among those of the tensor.
  Shape extents;
  for (const int64_t extent : tile.shape) {
    if (random_.chance(15)) extents.push_back(1);
    extents.push_back(extent);
  }
  const ir::Buffer src = !readable_.empty() && random_.chance(30)
                             ? random_.pick(readable_)
                             : input(from, extents.size(), 40, small);
  if (src.rank() != static_cast<int>(extents.size()) || cast_error(src.dtype(), to) != Code{} ||
      (src.dtype().is_sub_byte() && extents.back() % 2 != 0)) {
    write_elements(tile, [&](DType dtype) { return exprs_.value(dtype, 2); });
    return add(tile);
  }
  emit(ir::make<ir::Copy>({}, [&](ir::Copy& n) {
    n.src = global_region(src, extents);
    n.dst = ir::Region::whole(tile.buffer);
    n.dst.unchecked = random_.chance(20);
    n.max_vector = random_.pick({0, 0, 0, 2});
    n.prefer = random_.pick({ir::CopyMethod::automatic, ir::CopyMethod::sync});
  }));
  tile.small = small && !src->safe_value && src.dtype() == to && src.space() == MemSpace::global &&
               written_as_small(src);
  add(tile);
}

void Generator::fill_tile() {
  const DType dtype = random_.pick(all_dtypes());
  Tile tile = allocate(dtype, tile_shape(dtype));
  tile.small = random_.chance(50);
  ir::Region whole = ir::Region::whole(tile.buffer);
  const Expr value = tile.small ? ir::literal(dtype, static_cast<double>(random_.range(0, 1)))
                                : exprs_.value(dtype, 1);
  emit(ir::make<ir::Fill>({}, [&](ir::Fill& n) {
    n.dst = whole;
    n.value = value;
  }));
  add(tile);
}

void Generator::elementwise() {
  const DType dtype = random_.pick(all_dtypes());
  const Tile tile = allocate(dtype, tile_shape(dtype));
  write_elements(tile, [&](DType type) { return exprs_.value(type, 3); });
  add(tile);
}

void Generator::update_elements() {
  const Tile* found = pick([](const Tile& t) { return !t.is_rough(); });
  if (found == nullptr) return elementwise();
  const Tile tile = *found;
  const Vars vars = loop_vars(tile.shape.size());
  const std::vector<Expr> at(vars.begin(), vars.end());
  const Stmt body = scope([&] {
    exprs_.indices.insert(exprs_.indices.end(), vars.begin(), vars.end());
    add_tile_leaves(vars, tile.shape, tile.buffer);
    exprs_.leaves.push_back({tile.dtype(), [&] { return ir::load(tile.buffer, at); }});
    const Expr value =
        tile.small ? exprs_.small_number(tile.dtype(), 3) : exprs_.value(tile.dtype(), 3);
    const Stmt write = ir::store(tile.buffer, at, value);
    emit(random_.chance(30) ? ir::if_(exprs_.condition(2), write) : write);
  });
  parallel(vars, tile.shape, body);
}

void Generator::copy_tiles() {
  const Tile* found = pick([](const Tile& t) { return !t.is_rough() && !t.dtype().is_sub_byte(); });
  if (found == nullptr) return load_tile();
  const Tile src = *found;
  DType to = random_.chance(50) ? src.dtype() : random_.pick(all_dtypes());
  if (cast_error(src.dtype(), to) != Code{} || to.is_sub_byte()) to = src.dtype();
  // A part of the source becomes a new tile. Fragments are cut at multiples of the part only.
  ir::Region part;
  part.buffer = src.buffer;
  Shape shape;
  for (const int64_t extent : src.shape) {
    int64_t length = random_.chance(60) ? extent : random_.range(1, extent);
    if (src.is_fragment() && extent % length != 0) length = extent;
    shape.push_back(length);
    part.extent.push_back(ir::index(length));
    if (src.is_fragment()) {
      part.begin.push_back(ir::index(random_.range(0, extent / length - 1) * length));
    } else {
      part.begin.push_back(exprs_.index_within(extent - length + 1, 1));
    }
  }
  Tile dst = allocate(to, shape);
  emit(ir::make<ir::Copy>({}, [&](ir::Copy& n) {
    n.src = part;
    n.dst = ir::Region::whole(dst.buffer);
  }));
  dst.small = src.small && to == src.dtype();
  add(dst);
}

void Generator::transpose_tile() {
  const Tile* found = pick([](const Tile& t) {
    return !t.is_rough() && t.shape.size() >= 2 && !t.dtype().is_sub_byte();
  });
  if (found == nullptr) return load_tile();
  const Tile src = *found;
  Shape shape = src.shape;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  Tile dst = allocate(src.dtype(), shape);
  dst.small = src.small;
  emit(ir::make<ir::Copy>({}, [&](ir::Copy& n) {
    n.src = ir::Region::whole(src.buffer);
    n.dst = ir::Region::whole(dst.buffer);
    n.transpose = true;
  }));
  add(dst);
}

}  // namespace tw::fuzz
