#include "tilewright/lang/tile_value.h"

#include <algorithm>
#include <numeric>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/reduce.h"
#include "tilewright/lang/tile_node.h"
#include "tilewright/lang/tile_ops.h"

namespace tw {
inline namespace lang {

namespace {

/// The index of an input of `shape` for an index of a larger shape: aligned from the right, 0 where
/// the extent is 1.
Indices broadcast_index(const Indices& index, const std::vector<int64_t>& shape) {
  Indices result(index.end() - static_cast<std::ptrdiff_t>(shape.size()), index.end());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) result[d] = Expr(ir::index(0));
  }
  return result;
}

std::vector<int64_t> broadcast_shape(const Site& site, const std::vector<Tile>& tiles) {
  std::vector<int64_t> shape;
  for (const Tile& t : tiles) {
    const auto& next = t.shape();
    if (next.size() > shape.size()) shape.insert(shape.begin(), next.size() - shape.size(), 1);
    for (size_t back = 1; back <= next.size(); ++back) {
      int64_t& extent = shape[shape.size() - back];
      const int64_t other = next[next.size() - back];
      if (extent == 1) extent = other;
      if (other == 1 || other == extent) continue;
      std::vector<std::string> shapes;
      for (const Tile& tile : tiles) {
        if (!tile.node()->scalar) shapes.push_back(to_text(tile.shape()));
      }
      throw Error(codes::tile_01, site.where, "{}: shapes {} don't broadcast", site.name,
                  join(shapes, " and "))
          .help("extents must agree from the right, or be 1");
    }
  }
  return shape;
}

}  // namespace

DType Tile::dtype() const { return node_->dtype; }
const std::vector<int64_t>& Tile::shape() const { return node_->shape; }
Buffer Tile::fragment(SourceLoc where) const { return in_fragment({"fragment", where}, *this); }

TileOperand::TileOperand(const Operand& value) : TileArg(Tile(), value.where()) {
  auto node = std::make_shared<TileNode>();
  node->dtype = value.value().dtype();
  node->where = value.where();
  node->scalar = value.value();
  tile_ = Tile(std::move(node));
}

// ---- making, storing ----

Tile load(const Region& region) {
  const Site site{"load", region.where()};
  std::vector<int64_t> shape;
  for (const ir::Expr& e : region.ir().extent) {
    const auto known = ir::as_int(e);
    if (!known || *known < 1) {
      throw Error(codes::mem_01, site.where, "load: the shape is {}, it must be constant",
                  extents_text(region.ir().extent))
          .note("the region is {}", region.text())
          .help("give constant extents, as in x(at(i, 64), all)");
    }
    shape.push_back(*known);
  }
  if (shape.empty()) {
    throw Error(codes::mem_01, site.where, "load: {} is one element, no tile",
                region.buffer().name())
        .help("give extents, as in x(at(i, 1), all)");
  }
  const Buffer fragment =
      lang::fragment(region.dtype(), extents(shape), region.buffer().name() + "_tile", site.where);
  copy(region, Region(fragment, site.where));
  return from_fragment(site, shape, fragment);
}

Tile value(const Buffer& buffer, SourceLoc where) {
  const Site site{"value", where};
  const Region whole(buffer, where);
  Tile tile = from_fragment(site, constant_extents(site, whole), buffer);
  Trace::current(site).check_visible(buffer.ir(), site);
  tile.node()->is_live = true;
  return tile;
}

void store(const Region& region, TileArg argument) {
  const Site site{"store", region.where()};
  const Tile tile = std::move(argument.tile());
  // The region as a copy from the tile would see it.
  ir::Buffer shape = ir::make_buffer("tile", tile.dtype(), ir::MemSpace::fragment, tile.shape());
  const Region dst =
      match_extents(site, Region(ir::Region::whole(shape), false, site.where), region).second;
  Materializer materializer(site, tile);
  materializer.prepare(tile, element_count(tile.shape()), true);
  const auto copy_from = [&](const Buffer& fragment) {
    copy(Region(fragment, site.where), Region(dst.ir(), false, site.where));
  };
  const std::function<bool(const Tile&)> reads_dst = [&](const Tile& t) {
    const TileNode& n = *t.node();
    if (materializer.is_in_fragment(t)) return n.fragment.ir().root().same_as(dst.buffer().root());
    return std::ranges::any_of(n.inputs, reads_dst);
  };
  const TileNode& node = *tile.node();
  if (materializer.is_in_fragment(tile)) return copy_from(node.fragment);
  if (reads_dst(tile)) return copy_from(in_fragment(site, tile));
  if (node.is_cast && node.dtype == dst.dtype() && materializer.is_in_fragment(node.inputs[0])) {
    return copy_from(node.inputs[0].node()->fragment);
  }
  check_writable(site, dst.buffer());
  check_regions(site, {dst});
  materializer.write(tile, [&](const Indices& index, const Expr& value) {
    // Dimensions of the region take the indices of the tile in order, those of extent 1 none.
    ir::Region element = dst.ir();
    size_t next = 0;
    for (size_t d = 0; d < element.begin.size(); ++d) {
      if (ir::is_int(dst.ir().extent[d], 1)) continue;
      while (tile.shape()[next] == 1) ++next;
      element.begin[d] = ir::add(element.begin[d], index[next++].ir());
    }
    element.extent.clear();
    store_element(site, element, value);
  });
}

Tile full(const std::vector<int64_t>& shape, const Operand& x) {
  const Site site{"full", x.where()};
  const Expr value = x.value().is_number() ? Expr(x.value().typed()) : x.value();
  auto node = make_node(site, shape, value.dtype());
  node->element = [value](const TileNode::Input&, const Indices&) { return value; };
  return Tile(std::move(node));
}

Tile iota(const std::vector<int64_t>& shape, int axis, DType dtype, SourceLoc where) {
  const Site site{"iota", where};
  const auto d = static_cast<size_t>(axis_of(site, axis, static_cast<int>(shape.size())));
  auto node = make_node(site, shape, dtype);
  node->element = [=](const TileNode::Input&, const Indices& index) {
    return cast(Operand(index[d], where), dtype);
  };
  return Tile(std::move(node));
}

// ---- element functions ----

Tile map(const Site& site, std::vector<Tile> tiles, ElementFunction f) {
  // A dry run on nameless values tells the result's type and cost, and raises the author's errors.
  std::vector<Operand> samples;
  for (const Tile& t : tiles) {
    const Expr sample = t.node()->scalar ? *t.node()->scalar
                                         : Expr(ir::Var::make("element", t.dtype(), site.where));
    samples.emplace_back(sample, site.where);
  }
  const ir::Expr result = f(samples).typed();
  auto node = make_node(site, broadcast_shape(site, tiles), result.dtype());
  set_inputs(*node, std::move(tiles), cost_of(result));
  const std::vector<std::vector<int64_t>> shapes = [&] {
    std::vector<std::vector<int64_t>> list;
    for (const Tile& t : node->inputs) list.push_back(t.shape());
    return list;
  }();
  const SourceLoc where = site.where;
  node->element = [=](const TileNode::Input& input, const Indices& index) {
    std::vector<Operand> values;
    for (size_t n = 0; n < shapes.size(); ++n) {
      values.emplace_back(input(n, broadcast_index(index, shapes[n])), where);
    }
    return f(values);
  };
  return Tile(std::move(node));
}

Tile cast(TileArg x, DType dtype, const CastOptions& options) {
  const Site site{"cast", x.where()};
  if (x.tile().dtype() == dtype) return std::move(x.tile());
  Tile result = map(site, {std::move(x.tile())},
                    [=](const std::vector<Operand>& v) { return cast(v[0], dtype, options); });
  result.node()->is_cast = options.round == Rounding::rn && options.saturate;
  return result;
}

Tile bitcast(TileArg x, DType dtype) {
  const Site site{"bitcast", x.where()};
  return map(site, {std::move(x.tile())},
             [=](const std::vector<Operand>& v) { return bitcast(v[0], dtype); });
}

// ---- shapes ----

namespace {

/// A tile whose elements are those of x at mapped indices.
Tile remap(const Site& site, Tile x, std::vector<int64_t> shape,
           std::function<Indices(const Indices&)> to_input) {
  auto node = make_node(site, std::move(shape), x.dtype());
  set_inputs(*node, {std::move(x)}, 0);
  node->element = [to_input = std::move(to_input)](const TileNode::Input& input,
                                                   const Indices& index) {
    return input(0, to_input(index));
  };
  return Tile(std::move(node));
}

}  // namespace

Tile reshape(TileArg x, const std::vector<int64_t>& shape) {
  const Site site{"reshape", x.where()};
  const std::vector<int64_t> from = x.tile().shape();
  if (element_count(from) != element_count(shape)) {
    throw Error(codes::view_01, site.where, "reshape: {} has {} elements, {} has {}", from,
                element_count(from), shape, element_count(shape));
  }
  size_t first = 0;  // the first dimension that is not 1: what is left there is inside
  while (first + 1 < from.size() && from[first] == 1) ++first;
  return remap(site, std::move(x.tile()), shape, [from, shape, first](const Indices& index) {
    ir::Expr linear = ir::index(0);
    for (size_t d = 0; d < shape.size(); ++d) {
      linear = ir::add(ir::mul(linear, ir::index(shape[d])), index[d].ir());
    }
    Indices result(from.size());
    for (size_t d = from.size(); d-- > 0;) {
      const ir::Expr extent = ir::index(from[d]);
      result[d] = Expr(from[d] == 1 ? ir::index(0)
                       : d == first ? linear
                                    : ir::floormod(linear, extent));
      linear = ir::floordiv(linear, extent);
    }
    return result;
  });
}

Tile transpose(TileArg x, std::vector<int> perm) {
  const Site site{"transpose", x.where()};
  const std::vector<int64_t> from = x.tile().shape();
  const auto rank = static_cast<int>(from.size());
  if (perm.empty() && rank >= 2) {
    perm.resize(from.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  }
  std::vector<int> sorted = perm;
  std::ranges::sort(sorted);
  bool valid = static_cast<int>(perm.size()) == rank;
  for (int d = 0; valid && d < rank; ++d) valid = sorted[static_cast<size_t>(d)] == d;
  if (!valid) {
    throw Error(codes::red_02, site.where,
                "transpose: the permutation does not name each of {} dimensions once", rank);
  }
  std::vector<int64_t> shape;
  for (const int d : perm) shape.push_back(from[static_cast<size_t>(d)]);
  Tile result = remap(site, std::move(x.tile()), shape, [perm](const Indices& index) {
    Indices from_index(index.size());
    for (size_t d = 0; d < perm.size(); ++d) from_index[static_cast<size_t>(perm[d])] = index[d];
    return from_index;
  });
  result.node()->is_transposed = perm == std::vector{1, 0};
  return result;
}

Tile broadcast(TileArg x, const std::vector<int64_t>& shape) {
  const Site site{"broadcast", x.where()};
  const std::vector<int64_t> from = x.tile().shape();
  auto target = make_node(site, shape, x.tile().dtype());
  if (broadcast_shape(site, {x.tile(), Tile(target)}) != shape) {
    throw Error(codes::tile_01, site.where, "broadcast: {} does not broadcast to {}", from, shape);
  }
  return remap(site, std::move(x.tile()), shape,
               [from](const Indices& index) { return broadcast_index(index, from); });
}

// ---- folding ----

namespace {

Tile fold(std::string_view name, ReduceKind kind, const Tile& x, const Axis& axis) {
  const Site site{name, axis.where()};
  const int dim = axis_of(site, axis.value(), x.rank());
  const Tile source = x.dtype().is_narrow_float() ? cast(TileArg(x, site.where), f32) : x;
  const Buffer from = in_fragment(site, source);
  std::vector<int64_t> shape = x.shape();
  shape[static_cast<size_t>(dim)] = 1;
  const Buffer to = fragment(source.dtype(), extents(shape), name, site.where);
  reduce(kind, Region(from, site.where), Region(to, site.where), {dim});
  return from_fragment(site, shape, to);
}

}  // namespace

Tile sum(const Tile& x, Axis axis) { return fold("sum", ReduceKind::sum, x, axis); }
Tile prod(const Tile& x, Axis axis) { return fold("prod", ReduceKind::prod, x, axis); }
Tile max(const Tile& x, Axis axis) { return fold("max", ReduceKind::max, x, axis); }
Tile min(const Tile& x, Axis axis) { return fold("min", ReduceKind::min, x, axis); }
Tile abs_max(const Tile& x, Axis axis) { return fold("abs_max", ReduceKind::abs_max, x, axis); }
Tile abs_sum(const Tile& x, Axis axis) { return fold("abs_sum", ReduceKind::abs_sum, x, axis); }

// ---- multiplying ----

namespace {

Tile multiply(const Site& site, const Tile& a, const Tile& b, const Tile* c) {
  if (a.rank() != 2 || b.rank() != 2) {
    throw Error(codes::gemm_01, site.where,
                "dot: operands are {} and {}, they must have two dimensions", a.shape(), b.shape());
  }
  // A transposed matrix is multiplied as it is stored.
  const bool trans_a = a.node()->is_transposed, trans_b = b.node()->is_transposed;
  const Buffer left = in_fragment(site, trans_a ? a.node()->inputs[0] : a);
  const Buffer right = in_fragment(site, trans_b ? b.node()->inputs[0] : b);
  const DType sum_type = a.dtype() == f64 ? f64 : a.dtype().is_float() ? f32 : i32;
  const std::vector<int64_t> shape = {a.shape()[0], b.shape()[1]};
  const Buffer result =
      fragment(c != nullptr ? c->dtype() : sum_type, extents(shape), "dot", site.where);
  if (c != nullptr) store(Region(result, site.where), TileArg(*c, site.where));
  gemm(Region(left, site.where), Region(right, site.where), Region(result, site.where),
       {.trans_a = trans_a, .trans_b = trans_b, .clear = c == nullptr});
  return from_fragment(site, shape, result);
}

}  // namespace

Tile dot(TileArg a, TileArg b) { return multiply({"dot", a.where()}, a.tile(), b.tile(), nullptr); }
Tile dot(TileArg a, TileArg b, TileArg c) {
  return multiply({"dot", a.where()}, a.tile(), b.tile(), &c.tile());
}

}  // namespace lang
}  // namespace tw
