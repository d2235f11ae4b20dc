#include "tilewright/lang/tile_node.h"

#include <algorithm>
#include <numeric>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/tile_ops.h"

namespace tw {
inline namespace lang {

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

void set_inputs(TileNode& node, std::vector<Tile> inputs, int own) {
  constexpr int kMaxCost = 1 << 20;  // a tile that is an input twice counts twice
  node.cost = own;
  for (const Tile& t : inputs) {
    if (!t.node()->fragment.ir()) node.cost = std::min(node.cost + t.node()->cost, kMaxCost);
    node.height = std::max(node.height, t.node()->height + 1);
  }
  if (node.height > ir::kMaxHeight) ir::too_high(node.where);
  node.inputs = std::move(inputs);
}

Tile from_fragment(const Site& site, std::vector<int64_t> shape, const Buffer& fragment) {
  auto node = make_node(site, std::move(shape), fragment.dtype());
  node->fragment = fragment;
  return Tile(std::move(node));
}

int axis_of(const Site& site, int axis, int rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  throw Error(codes::red_02, site.where, "{}: axis {} of {} dimensions", site.name, axis, rank);
}

namespace {

/// Cost up to which an element is rather computed again than kept.
constexpr int kCheap = 4;

int cost_of_one(const ir::Expr& e) {
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

}  // namespace

int cost_of(const ir::Expr& root) {
  std::map<const ir::ExprBase*, int> seen;
  int total = 0;
  const std::function<void(const ir::Expr&)> walk = [&](const ir::Expr& e) {
    if (!e || !seen.emplace(e.get(), 0).second) return;
    total += cost_of_one(e);
    if (const auto* op = e.try_as<ir::Op>()) std::ranges::for_each(op->args, walk);
    if (const auto* cast = e.try_as<ir::Cast>()) walk(cast->value);
  };
  walk(root);
  return total;
}

namespace {

bool is_visible(const Trace& trace, const Buffer& fragment) {
  return fragment.ir() && trace.is_visible(fragment.ir());
}

/// An element of a fragment; a tile of no dimensions is in one of shape [1].
Ref element_of(const Buffer& fragment, const Indices& index, SourceLoc where) {
  std::vector<Index> part;
  for (const Expr& i : index) part.emplace_back(i, where);
  if (part.empty()) part.emplace_back(0, where);
  return fragment.part(part);
}

/// Gives the elements of a tile inside a parallel loop, each computed once per index.
class Elements {
 public:
  explicit Elements(const Trace& trace) : trace_(trace) {}

  Expr operator()(const Tile& tile, const Indices& index) {
    const TileNode& node = *tile.node();
    if (node.scalar) return *node.scalar;
    Key key{&node, {}};
    for (const Expr& i : index) key.second.push_back(i.ir().get());
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second.second;
    const Expr value = compute(node, index);
    known_.emplace(std::move(key), std::pair(index, value));
    return value;
  }

 private:
  using Key = std::pair<const TileNode*, std::vector<const void*>>;

  Expr compute(const TileNode& node, const Indices& index) {
    if (is_visible(trace_, node.fragment)) {
      return element_of(node.fragment, index, node.where).value();
    }
    return node.element([&](size_t n, const Indices& i) { return (*this)(node.inputs[n], i); },
                        index);
  }

  const Trace& trace_;
  std::map<Key, std::pair<Indices, Expr>> known_;  // with the indices, so that keys stay unique
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

}  // namespace

Materializer::Materializer(const Site& site, const Tile& root)
    : site_(site), trace_(Trace::in_launch(site)) {
  count_edges(root);
}

void Materializer::prepare(const Tile& tile, int64_t box, bool is_root) {
  TileNode& node = *tile.node();
  if (node.scalar) return;
  if (node.fragment.ir() && node.is_live) keep(node);
  if (is_in_fragment(tile)) return;
  check_alive(node);
  const bool costly = node.cost > kCheap;
  if (costly && trace_.crosses_loop(node.made)) {
    trace_.record_at(node.made, [&] { materialize(tile); });
    return;
  }
  const bool held = tile.node().use_count() > users(tile) + (is_root ? 1 : 0);
  const bool repeated = element_count(node.shape) < box && !is_root;
  if (costly && (repeated || held)) return materialize(tile);
  if (!prepared_.emplace(&node, box).second) return;
  for (const Tile& input : node.inputs) prepare(input, box, false);
}

bool Materializer::is_in_fragment(const Tile& tile) const {
  return is_visible(trace_, tile.node()->fragment);
}

void Materializer::materialize(const Tile& tile) {
  TileNode& node = *tile.node();
  check_alive(node);
  for (const Tile& input : node.inputs) prepare(input, element_count(node.shape), false);
  const Extents shape = node.shape.empty() ? Extents{1} : extents(node.shape);
  const Buffer fragment = lang::fragment(node.dtype, shape, "tile", site_.where);
  write(tile, [&](const Indices& index, const Expr& value) {
    element_of(fragment, index, site_.where) = Operand(value, site_.where);
  });
  node.fragment = fragment;
}

void Materializer::write(const Tile& tile,
                         const std::function<void(const Indices&, const Expr&)>& to) const {
  for_each_element(site_, tile.shape(), [&](const Indices& index) {
    Elements elements(trace_);
    to(index, elements(tile, index));
  });
}

void Materializer::count_edges(const Tile& tile) {
  for (const Tile& input : tile.node()->inputs) {
    if (edges_[input.node().get()]++ == 0) count_edges(input);
  }
}
int64_t Materializer::users(const Tile& tile) const {
  const auto known = edges_.find(tile.node().get());
  return known == edges_.end() ? 0 : known->second;
}

/// Replaces the author's fragment by a copy, made where its value was taken, if it may
/// have changed since.
void Materializer::keep(TileNode& node) {
  if (!trace_.may_change(node.fragment.ir(), node.made, trace_.now())) return;
  trace_.record_at(node.made, [&] {
    const Buffer kept = lang::fragment(node.dtype, extents(node.shape), "tile", node.where);
    copy(Region(node.fragment, node.where), Region(kept, node.where));
    node.fragment = kept;
  });
  node.is_live = false;
}

void Materializer::check_alive(const TileNode& node) const {
  if (encloses(node.made.scope, &trace_.scope()) && node.element) return;
  throw Error(codes::mem_07, site_.where,
              "{}: a tile is used after the body that made it has ended", site_.name)
      .note("the tile was made at {}", node.where.text())
      .help("store it into a fragment that was allocated before that body");
}

Buffer in_fragment(const Site& site, const Tile& tile) {
  Materializer materializer(site, tile);
  materializer.prepare(tile, 0, true);
  if (!materializer.is_in_fragment(tile)) materializer.materialize(tile);
  return tile.node()->fragment;
}

}  // namespace lang
}  // namespace tw
