#include "tilewright/lang/tile_value.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/reduce.h"
#include "tilewright/lang/tile_ops.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

using Indices = std::vector<Expr>;
using Inputs = std::vector<Tile>;

/// One value: either its elements are in a fragment, or a function gives them from the elements of
/// other tiles.
struct TileNode {
  std::vector<int64_t> shape;
  DType dtype;
  SourceLoc where;
  Point made;    // where the value was written
  int cost = 0;  // of computing an element anew, without what is in fragments
  Inputs inputs = {};
  /// Element at an index; `input(n, index)` gives an element of input n.
  using Input = std::function<Expr(size_t, const Indices&)>;
  std::function<Expr(const Input&, const Indices&)> element = nullptr;
  std::optional<Expr> scalar = {};  // a value that is no tile, of shape []
  bool is_cast = false;             // a default cast of inputs[0]
  bool is_transposed = false;       // inputs[0], a matrix, with exchanged dimensions
  bool is_live = false;             // the fragment belongs to the author and may change
  Buffer fragment = {};             // null: not computed yet
};

namespace {

constexpr int kCheap = 4;  // cost up to which an element is rather computed again than kept

int64_t element_count(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::shared_ptr<TileNode> make_node(const Site& site, std::vector<int64_t> shape, DType dtype) {
  auto node = std::make_shared<TileNode>();
  node->shape = std::move(shape);
  node->dtype = dtype;
  node->where = site.where;
  node->made = Trace::in_launch(site).now();
  return node;
}

Tile from_fragment(const Site& site, std::vector<int64_t> shape, const Buffer& fragment) {
  auto node = make_node(site, std::move(shape), fragment.dtype());
  node->fragment = fragment;
  return Tile(std::move(node));
}

/// The index of an input of `shape` for an index of a larger shape: aligned from the right, 0 where
/// the extent is 1.
Indices broadcast_index(const Indices& index, const std::vector<int64_t>& shape) {
  Indices result(index.end() - static_cast<std::ptrdiff_t>(shape.size()), index.end());
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) result[d] = Expr(ir::index(0));
  }
  return result;
}

std::vector<int64_t> broadcast_shape(const Site& site, const Inputs& tiles) {
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

/// What an operation costs, in additions.
int cost_of(const ir::Expr& e) {
  const auto* op = e.try_as<ir::Op>();
  if (op == nullptr) return e.is<ir::Cast>() ? 1 : 0;
  switch (op->code) {
    case ir::OpCode::fdiv:
    case ir::OpCode::sqrt:
    case ir::OpCode::rcp:
      return kCheap;
    case ir::OpCode::truncdiv:
    case ir::OpCode::truncmod:
    case ir::OpCode::floordiv:
    case ir::OpCode::floormod:
      return 2 * kCheap;
    default:
      break;
  }
  const bool simple = ir::op_row(op->code).op_class != ir::OpClass::float_math ||
                      op->code == ir::OpCode::fma || op->code == ir::OpCode::floor;
  return simple ? 1 : 2 * kCheap;
}

int total_cost(const ir::Expr& root) {
  std::map<const ir::ExprBase*, int> seen;
  int total = 0;
  const std::function<void(const ir::Expr&)> walk = [&](const ir::Expr& e) {
    if (!e || !seen.emplace(e.get(), 0).second) return;
    total += cost_of(e);
    if (const auto* op = e.try_as<ir::Op>()) std::ranges::for_each(op->args, walk);
    if (const auto* cast = e.try_as<ir::Cast>()) walk(cast->value);
  };
  walk(root);
  return total;
}

bool is_visible(const Trace& trace, const Buffer& fragment) {
  return fragment.ir() && trace.is_visible(fragment.ir());
}

/// Gives the elements of a tile inside a parallel loop, each computed once per index.
class Elements {
 public:
  explicit Elements(const Trace& trace) : trace_(trace) {}

  Expr operator()(const Tile& tile, const Indices& index) {
    const TileNode& node = *tile.node();
    if (node.scalar) return *node.scalar;
    std::pair<const TileNode*, std::vector<const void*>> key{&node, {}};
    for (const Expr& i : index) key.second.push_back(i.ir().get());
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    const Expr value = compute(node, index);
    known_.emplace(std::move(key), value);
    return value;
  }

 private:
  Expr compute(const TileNode& node, const Indices& index) {
    if (is_visible(trace_, node.fragment)) {
      std::vector<Index> part;
      for (const Expr& i : index) part.emplace_back(i, node.where);
      return Expr(node.fragment.part(part));
    }
    return node.element([&](size_t n, const Indices& i) { return (*this)(node.inputs[n], i); },
                        index);
  }

  const Trace& trace_;
  std::map<std::pair<const TileNode*, std::vector<const void*>>, Expr> known_;
};

/// Runs body(index) for every index of a shape, in one parallel loop over the extents beside 1.
void for_each_element(const Site& site, const std::vector<int64_t>& shape,
                      const std::function<void(const Indices&)>& body) {
  Extents box;
  for (const int64_t extent : shape) {
    if (extent != 1) box.emplace_back(extent);
  }
  if (box.empty()) box.emplace_back(1);
  parallel(
      box,
      [&](const std::vector<Expr>& loop) {
        Indices index;
        size_t next = 0;
        for (const int64_t extent : shape) {
          index.push_back(extent != 1 ? loop[next++] : Expr(ir::index(0)));
        }
        body(index);
      },
      site.where);
}

/// Decides which parts of a value are put into fragments before it is computed element by element.
class Materializer {
 public:
  Materializer(const Site& site, const Tile& root) : site_(site), trace_(Trace::in_launch(site)) {
    count_edges(root);
  }

  /// Makes a tile ready to be read by `Elements` in a box of that many elements.
  void prepare(const Tile& tile, int64_t box, bool is_root) {
    TileNode& node = *tile.node();
    if (node.scalar) return;
    if (node.fragment.ir() && node.is_live) keep(node);
    if (is_visible(trace_, node.fragment)) return;
    check_alive(node);
    const bool costly = node.cost > kCheap;
    if (costly && trace_.crosses_loop(node.made)) {
      trace_.record_at(node.made, [&] { materialize(tile); });
      return;
    }
    const int64_t handles = node_users(tile) + (is_root ? 1 : 0);
    const bool held = tile.node().use_count() > handles;
    if (costly && ((element_count(node.shape) < box && !is_root) || held)) return materialize(tile);
    for (const Tile& input : node.inputs) prepare(input, box, false);
  }

  /// Computes a tile into a fragment of its own.
  void materialize(const Tile& tile) {
    TileNode& node = *tile.node();
    check_alive(node);
    const int64_t count = element_count(node.shape);
    for (const Tile& input : node.inputs) prepare(input, count, false);
    const Buffer fragment =
        lang::fragment(node.dtype, block_shape(node.shape), "tile", site_.where);
    write(tile, [&](const Indices& index, const Expr& value) {
      std::vector<Index> part;
      for (const Expr& i : index) part.emplace_back(i, site_.where);
      if (part.empty()) part.emplace_back(0, site_.where);
      fragment.part(part) = Operand(value, site_.where);
    });
    node.fragment = fragment;
  }

  /// Calls to(index, value) for every element, in one parallel loop.
  void write(const Tile& tile, const std::function<void(const Indices&, const Expr&)>& to) {
    for_each_element(site_, tile.shape(), [&](const Indices& index) {
      Elements elements(trace_);
      to(index, elements(tile, index));
    });
  }

 private:
  static Extents block_shape(const std::vector<int64_t>& shape) {
    return shape.empty() ? Extents{1} : extents(shape);
  }

  void count_edges(const Tile& tile) {
    for (const Tile& input : tile.node()->inputs) {
      if (edges_[input.node().get()]++ == 0) count_edges(input);
    }
  }
  int64_t node_users(const Tile& tile) {
    const auto known = edges_.find(tile.node().get());
    return known == edges_.end() ? 0 : known->second;
  }

  /// A copy of the author's fragment, made where its value was taken, if it may have changed since.
  void keep(TileNode& node) {
    if (!trace_.may_change(node.fragment.ir(), node.made, trace_.now())) return;
    trace_.record_at(node.made, [&] {
      const Buffer kept = lang::fragment(node.dtype, extents(node.shape), "tile", node.where);
      copy(Region(node.fragment, node.where), Region(kept, node.where));
      node.fragment = kept;
    });
    node.is_live = false;
  }

  void check_alive(const TileNode& node) const {
    if (encloses(node.made.scope, &trace_.scope()) && node.element) return;
    throw Error(codes::mem_07, site_.where,
                "{}: a tile is used after the body that made it has ended", site_.name)
        .note("the tile was made at {}", node.where.text())
        .help("store it into a fragment that was allocated before that body");
  }

  Site site_;
  Trace& trace_;
  std::map<const TileNode*, int64_t> edges_;
};

/// The tile in a fragment.
Buffer in_fragment(const Site& site, const Tile& tile) {
  Materializer materializer(site, tile);
  materializer.prepare(tile, 0, true);
  if (!is_visible(Trace::current(site), tile.node()->fragment)) materializer.materialize(tile);
  return tile.node()->fragment;
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
  Trace& trace = Trace::in_launch(site);
  // The region as a copy from the tile would see it.
  ir::Buffer shape = ir::make_buffer("tile", tile.dtype(), ir::MemSpace::fragment, tile.shape());
  const Region dst =
      match_extents(site, Region(ir::Region::whole(shape), false, site.where), region).second;
  Materializer materializer(site, tile);
  materializer.prepare(tile, element_count(tile.shape()), true);
  const auto copy_from = [&](const Buffer& fragment) {
    copy(Region(fragment, site.where), Region(dst.ir(), false, site.where));
  };
  const auto reads = [&](const ir::Buffer& root) {
    std::function<bool(const Tile&)> found = [&](const Tile& t) {
      const TileNode& n = *t.node();
      if (is_visible(trace, n.fragment)) return n.fragment.ir().root().same_as(root);
      return std::ranges::any_of(n.inputs, found);
    };
    return found(tile);
  };
  const TileNode& node = *tile.node();
  if (is_visible(trace, node.fragment)) return copy_from(node.fragment);
  if (reads(dst.buffer().root())) return copy_from(in_fragment(site, tile));
  if (node.is_cast && node.dtype == dst.dtype() &&
      is_visible(trace, node.inputs[0].node()->fragment)) {
    return copy_from(node.inputs[0].node()->fragment);
  }
  check_writable(site, dst.buffer());
  settle_regions(site, {dst});
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

namespace {

int axis_of(const Site& site, int axis, int rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  throw Error(codes::red_02, site.where, "{}: axis {} of {} dimensions", site.name, axis, rank);
}

}  // namespace

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
  node->cost = total_cost(result);
  for (const Tile& t : tiles) {
    if (!t.node()->fragment.ir()) node->cost += t.node()->cost;
  }
  node->inputs = std::move(tiles);
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

#define TW_DEFINE(name)                                                         \
  Tile name(TileArg x) {                                                        \
    const Site site{#name, x.where()};                                          \
    return map(site, {std::move(x.tile())},                                     \
               [](const std::vector<Operand>& v) { return lang::name(v[0]); }); \
  }
TW_UNARY_FUNCTIONS(TW_DEFINE)
TW_DEFINE(neg)
TW_DEFINE(bit_not)
TW_DEFINE(logical_not)
#undef TW_DEFINE

namespace {

Inputs pair_of(Tile& a, Tile& b) {
  Inputs list;
  list.push_back(std::move(a));
  list.push_back(std::move(b));
  return list;
}
Inputs triple_of(Tile& a, Tile& b, Tile& c) {
  Inputs list = pair_of(a, b);
  list.push_back(std::move(c));
  return list;
}

}  // namespace

#define TW_DEFINE(name)                                                               \
  Tile name(TileArg a, TileOperand b) {                                               \
    const Site site{#name, a.where()};                                                \
    return map(site, pair_of(a.tile(), b.tile()),                                     \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1]); }); \
  }                                                                                   \
  Tile name(const Operand& a, TileArg b) {                                            \
    TileOperand left(a);                                                              \
    const Site site{#name, a.where()};                                                \
    return map(site, pair_of(left.tile(), b.tile()),                                  \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1]); }); \
  }
#define TW_DEFINE_OPERATOR(symbol, name) TW_DEFINE(name)
TW_BINARY_OPERATORS(TW_DEFINE_OPERATOR)
TW_BINARY_FUNCTIONS(TW_DEFINE)
#undef TW_DEFINE_OPERATOR
#undef TW_DEFINE

#define TW_DEFINE(name)                                                                     \
  Tile name(TileArg a, TileOperand b, TileOperand c) {                                      \
    const Site site{#name, a.where()};                                                      \
    return map(site, triple_of(a.tile(), b.tile(), c.tile()),                               \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1], v[2]); }); \
  }                                                                                         \
  Tile name(const Operand& a, TileArg b, TileOperand c) {                                   \
    TileOperand left(a);                                                                    \
    const Site site{#name, a.where()};                                                      \
    return map(site, triple_of(left.tile(), b.tile(), c.tile()),                            \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1], v[2]); }); \
  }                                                                                         \
  Tile name(const Operand& a, const Operand& b, TileArg c) {                                \
    TileOperand left(a), middle(b);                                                         \
    const Site site{#name, a.where()};                                                      \
    return map(site, triple_of(left.tile(), middle.tile(), c.tile()),                       \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1], v[2]); }); \
  }
TW_TERNARY_FUNCTIONS(TW_DEFINE)
#undef TW_DEFINE

namespace fast {
#define TW_DEFINE(name)                                                         \
  Tile name(TileArg x) {                                                        \
    const Site site{"fast::" #name, x.where()};                                 \
    return map(site, {std::move(x.tile())},                                     \
               [](const std::vector<Operand>& v) { return fast::name(v[0]); }); \
  }
TW_FAST_FUNCTIONS(TW_DEFINE)
TW_DEFINE(sigmoid)
#undef TW_DEFINE
Tile div(TileArg a, TileOperand b) {
  const Site site{"fast::div", a.where()};
  return map(site, pair_of(a.tile(), b.tile()),
             [](const std::vector<Operand>& v) { return fast::div(v[0], v[1]); });
}
}  // namespace fast

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
  node->cost = x.node()->fragment.ir() ? 0 : x.node()->cost;
  node->inputs.push_back(std::move(x));
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
