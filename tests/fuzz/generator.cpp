#include "tests/fuzz/generator.h"

#include <algorithm>
#include <numeric>

#include "tests/fuzz/values.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/visit.h"

namespace tw::fuzz {

using ir::Expr;
using ir::Stmt;

namespace {

/// Symbols by their value in this case. Odd, small, and now and then nothing at all.
constexpr std::array<int64_t, 8> kSymbolValues = {1, 3, 7, 16, 17, 33, 5, 0};

}  // namespace

Case generate(uint64_t seed, Functions functions) { return Generator(seed, functions).run(); }

Generator::Generator(uint64_t seed, Functions functions)
    : random_(seed), exprs_(random_, functions) {
  case_.seed = seed;
  case_.program.name = "fuzz" + std::to_string(seed);
  rounds_ = random_.chance(12);
}

Case Generator::run() {
  // The results of two executors are compared bit by bit, so a * b + c must round twice.
  case_.program.options.push_back({"no_contract", "on"});
  scalar_parameters();
  const int launches = random_.chance(20) ? 2 : 1;
  for (int number = 0; number < launches; ++number) launch(number);
  // Each symbol is some tensor's extent.
  for (size_t i = 0; i < symbol_values_.size(); ++i) {
    tensor(ir::ParamKind::input, "x", u8, {{case_.program.symbols[i].var, symbol_values_[i]}},
           false);
  }
  return std::move(case_);
}

void Generator::scalar_parameters() {
  for (int64_t count = random_.range(0, 2); count > 0; --count) {
    const DType dtype = random_.pick({i32, u8, f32, bf16, bool_, i64, f64});
    ir::Param param;
    param.kind = ir::ParamKind::scalar;
    param.var = ir::Var::make(name("scalar"), dtype);
    case_.program.params.push_back(param);
    case_.values.push_back(ParamValue::of_scalar(dtype, any_value(random_, dtype)));
    const Expr var = param.var;
    exprs_.leaves.push_back({dtype, [var] { return var; }});
  }
}

Extent Generator::symbol() {
  auto& symbols = case_.program.symbols;
  static_assert(kSymbolValues.size() == 8);
  if (symbols.size() < 2 && (symbols.empty() || random_.chance(30))) {
    ir::Symbol symbol;
    symbol.var = ir::Var::make(name("n"), i64);
    symbols.push_back(symbol);
    symbol_values_.push_back(kSymbolValues[static_cast<size_t>(random_.range(0, 7))]);
  }
  const auto which =
      static_cast<size_t>(random_.range(0, static_cast<int64_t>(symbols.size()) - 1));
  return {symbols[which].var, symbol_values_[which]};
}

Extent Generator::extent(int64_t lo, int64_t hi) {
  if (random_.chance(70)) {
    const int64_t value = random_.range(lo, hi);
    return {ir::index(value), value};
  }
  const Extent n = symbol();
  if (random_.chance(25)) {
    return {ir::add(ir::mul(n.expr, ir::index(2)), ir::index(1)), 2 * n.value + 1};
  }
  return n;
}

ir::Buffer Generator::tensor(ir::ParamKind kind, const std::string& stem, DType dtype,
                             const std::vector<Extent>& shape, bool small) {
  Shape extents;
  std::vector<Expr> extent_exprs;
  for (const Extent& extent : shape) {
    extents.push_back(extent.value);
    extent_exprs.push_back(extent.expr);
  }
  if (dtype.is_sub_byte()) {  // rows of whole bytes
    const int64_t even = (extents.back() + 2) / 2 * 2;
    extents.back() = even;
    extent_exprs.back() = ir::index(even);
  }
  // Strides: compact, or any order of the dimensions with gaps, which the program names by value.
  Shape strides(extents.size(), 1);
  const bool compact = dtype.is_sub_byte() || random_.chance(65);
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!compact && random_.chance(40)) std::reverse(order.begin(), order.end());
  int64_t stride = !compact && random_.chance(25) ? 2 : 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= std::max<int64_t>(extents[order[i]], 1);
    if (!compact && random_.chance(50)) stride += random_.range(0, 5);
  }
  ParamValue value = ParamValue::tensor(dtype, extents, strides, random_.range(0, 3));
  for (int64_t i = 0; i < value.elements(); ++i) {
    value.set(i, small ? small_value(random_, dtype) : any_value(random_, dtype));
  }
  ir::Param param;
  param.kind = kind;
  param.buffer = ir::make<ir::BufferNode>({}, [&](ir::BufferNode& n) {
    n.name = name(stem);
    n.dtype = dtype;
    n.shape = extent_exprs;
    if (!compact) {
      for (const int64_t s : strides) n.strides.push_back(ir::index(s));
    }
    // Sums over what lies outside of small values stay exact, too.
    if (random_.chance(20)) {
      n.safe_value = small ? ir::literal(dtype, static_cast<double>(random_.range(0, 1)))
                           : exprs_.constant(dtype);
    }
  });
  case_.program.params.push_back(param);
  case_.values.push_back(std::move(value));
  return param.buffer;
}

ir::Buffer Generator::input(DType dtype, size_t rank, int64_t largest, bool small) {
  constexpr int64_t kMostElements = 3000;
  std::vector<Extent> shape;
  int64_t elements = 1;
  for (size_t dim = 0; dim < rank; ++dim) {
    Extent next = extent(1, largest);
    if (elements * next.value > kMostElements) next = {ir::index(2), 2};
    elements *= next.value;
    shape.push_back(next);
  }
  const ir::Buffer buffer = tensor(ir::ParamKind::input, "x", dtype, shape, small);
  readable_.push_back(buffer);
  if (small) small_.push_back(buffer);
  return buffer;
}

bool Generator::written_as_small(const ir::Buffer& buffer) const {
  return std::any_of(small_.begin(), small_.end(),
                     [&](const ir::Buffer& other) { return other.same_as(buffer); });
}

void Generator::launch(int number) {
  grid_.clear();
  blocks_.clear();
  tiles_.clear();
  exprs_.indices.clear();
  std::vector<Expr> grid;
  for (int64_t rank = random_.range(1, random_.chance(80) ? 2 : 3); rank > 0; --rank) {
    const int64_t extent = random_.range(1, 3);
    // The grid is often known at the call only: cdiv(n, tile).
    const Extent n = symbol();
    if (random_.chance(25) && n.value <= 17) {
      grid.push_back(ir::cdiv(n.expr, ir::index(8)));
      grid_.push_back((n.value + 7) / 8);
    } else {
      grid.push_back(ir::index(extent));
      grid_.push_back(extent);
    }
    blocks_.push_back(ir::Var::make(name("b"), i64));
  }
  for (const ir::Var& block : blocks_) exprs_.indices.push_back(block);
  const size_t leaves = exprs_.leaves.size();
  const Stmt body = scope([&] {
    statements(static_cast<int>(random_.range(2, 9)));
    if (tiles_.empty()) elementwise();
    const size_t stores = static_cast<size_t>(random_.range(1, 3));
    for (size_t i = 0; i < std::min(stores, tiles_.size()); ++i) {
      store_output(tiles_[tiles_.size() - 1 - i]);
    }
    if (number == 0) store_to_workspace(tiles_.back());
  });
  exprs_.leaves.resize(leaves);
  const auto launch = [&](const Expr& guard) {
    return ir::make<ir::Launch>({}, [&](ir::Launch& n) {
      n.name = case_.program.name + "_" + std::to_string(number);
      n.grid = grid;
      n.block_vars = blocks_;
      n.body = body;
      n.guard = guard;
    });
  };
  const Stmt always = launch({});
  if (random_.chance(8)) {  // the same for some sizes
    const Expr some = ir::eq(ir::floormod(symbol().expr, ir::index(2)), ir::index(0));
    case_.program.launches.push_back(ir::with_fresh_bindings(launch(some)));
  }
  case_.program.launches.push_back(always);
  // What was written is read by later launches.
  readable_.insert(readable_.end(), written_.begin(), written_.end());
  written_.clear();
}

void Generator::store_output(const Tile& tile) {
  // Each block has a slot of its own: the leading dimensions are the block's index. The tile's part
  // may be smaller than the tile, or begin before it.
  DType dtype = tile.dtype();
  if (tile.is_rough()) {
    dtype = f64;
  } else if (random_.chance(30)) {
    const DType other = random_.pick(all_dtypes());
    if (cast_error(dtype, other) == Code{}) dtype = other;
  }
  std::vector<Extent> shape;
  ir::Region dst;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    shape.push_back({ir::index(grid_[i]), grid_[i]});
    dst.begin.push_back(blocks_[i]);
    dst.extent.push_back(ir::index(1));
  }
  for (const int64_t extent : tile.shape) {
    const bool even = dtype.is_sub_byte() || tile.dtype().is_sub_byte();
    const int64_t shift = even ? 0 : random_.pick({0, 0, 0, -1, 1});
    const int64_t held = std::max<int64_t>(1, extent + (even ? 0 : random_.pick({0, 0, 0, -1, 2})));
    shape.push_back({ir::index(held), held});
    dst.begin.push_back(ir::index(shift));
    dst.extent.push_back(ir::index(extent));
  }
  const auto kind = random_.chance(80) ? ir::ParamKind::output : ir::ParamKind::inout;
  dst.buffer = tensor(kind, "y", dtype, shape, false);
  case_.values.back().tolerance = tile.tolerance;
  emit(ir::make<ir::Copy>({}, [&](ir::Copy& n) {
    n.src = ir::Region::whole(tile.buffer);
    n.dst = dst;
  }));
}

void Generator::store_to_workspace(const Tile& tile) {
  if (tile.is_rough() || !random_.chance(40)) return;
  std::vector<Expr> shape;
  ir::Region dst;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    shape.push_back(ir::index(std::max<int64_t>(grid_[i], 1)));
    dst.begin.push_back(blocks_[i]);
    dst.extent.push_back(ir::index(1));
  }
  for (const int64_t extent : tile.shape) {
    shape.push_back(ir::index(extent));
    dst.begin.push_back(ir::index(0));
    dst.extent.push_back(ir::index(extent));
  }
  dst.buffer = ir::make_buffer(name("w"), tile.dtype(), ir::MemSpace::workspace, shape);
  // A grid with an empty dimension writes nothing: then only zeros may be read.
  const bool written = std::all_of(grid_.begin(), grid_.end(), [](int64_t n) { return n > 0; });
  case_.program.workspaces.push_back({dst.buffer, !written || random_.chance(30)});
  emit(ir::make<ir::Copy>({}, [&](ir::Copy& n) {
    n.src = ir::Region::whole(tile.buffer);
    n.dst = dst;
  }));
  written_.push_back(dst.buffer);
}

Expr Generator::global_element(const ir::Buffer& buffer, int depth) {
  std::vector<Expr> at;
  for (int dim = 0; dim < buffer.rank(); ++dim) at.push_back(exprs_.index(depth));
  return ir::load(buffer, at);
}

Stmt Generator::scope(const std::function<void()>& body) {
  std::vector<Stmt> stmts;
  std::vector<Stmt>* outer = std::exchange(out_, &stmts);
  const size_t tiles = tiles_.size(), leaves = exprs_.leaves.size(),
               indices = exprs_.indices.size(), variables = variables_.size(),
               tensors = readable_.size();
  ++depth_;
  body();
  --depth_;
  tiles_.resize(tiles);
  exprs_.leaves.resize(leaves);
  exprs_.indices.resize(indices);
  variables_.resize(variables);
  const auto is_view = [](const ir::Buffer& b) { return b->view_of || b->address; };
  readable_.erase(std::remove_if(readable_.begin() + static_cast<std::ptrdiff_t>(tensors),
                                 readable_.end(), is_view),
                  readable_.end());
  out_ = outer;
  return ir::make<ir::Seq>({}, [&](ir::Seq& n) { n.stmts = std::move(stmts); });
}

void Generator::statements(int count) {
  for (int i = 0; i < count; ++i) statement();
}

void Generator::statement() {
  using Make = void (Generator::*)();
  struct Row {
    int weight;
    bool nests;
    Make make;
  };
  static const std::vector<Row> kRows = {
      {10, false, &Generator::load_tile},   {3, false, &Generator::fill_tile},
      {10, false, &Generator::elementwise}, {8, false, &Generator::update_elements},
      {5, false, &Generator::copy_tiles},   {4, false, &Generator::transpose_tile},
      {7, false, &Generator::reduce},       {2, false, &Generator::predicate},
      {5, false, &Generator::scan},         {2, false, &Generator::fast_function},
      {6, false, &Generator::gemm},         {3, true, &Generator::pipelined_gemm},
      {3, false, &Generator::reducer},      {4, false, &Generator::view},
      {3, false, &Generator::tensor_view},  {1, false, &Generator::address_view},
      {3, false, &Generator::write_tensor}, {2, false, &Generator::copy_tensor},
      {4, false, &Generator::variable},     {4, false, &Generator::assign},
      {3, false, &Generator::let},          {4, true, &Generator::branch},
      {4, true, &Generator::loop},          {2, true, &Generator::while_loop},
      {4, false, &Generator::atomics},      {2, false, &Generator::exchange},
      {1, false, &Generator::assertion},
  };
  static const int kTotal = std::accumulate(kRows.begin(), kRows.end(), 0,
                                            [](int sum, const Row& r) { return sum + r.weight; });
  int64_t at = random_.range(0, kTotal - 1);
  for (const Row& row : kRows) {
    at -= row.weight;
    if (at >= 0) continue;
    if (row.nests && depth_ > 2) return elementwise();
    return (this->*row.make)();
  }
}

}  // namespace tw::fuzz
