// Views, and what is done with tensors directly.
#include <algorithm>

#include "tests/fuzz/generator.h"
#include "tests/fuzz/values.h"
#include "tilewright/base/convert.h"

namespace tw::fuzz {

using ir::Expr;
using ir::MemSpace;
using ir::Stmt;

void Generator::view() {
  const Tile* found = pick([](const Tile& t) {
    return !t.is_rough() && !t.is_fragment() && !t.dtype().is_sub_byte() && !t.buffer->view_of &&
           t.buffer->padding == 0;
  });
  if (found == nullptr) return elementwise();
  Tile view = *found;
  const ir::Buffer base = found->buffer;
  DType dtype = base.dtype();
  std::vector<Expr> strides;
  int64_t offset = 0;
  const int64_t kind = random_.range(0, 3);
  if (kind == 0) {  // another shape
    const int64_t elements = view.shape.back() * (view.shape.size() > 1 ? view.shape[0] : 1);
    if (view.shape.size() == 2)
      view.shape = {elements};
    else
      view.shape.insert(view.shape.begin(), 1);
  } else if (kind == 1 && dtype.is_int() && dtype.bits() > 8) {  // its bytes
    view.shape.back() *= dtype.bits() / 8;
    dtype = u8;
    view.small = false;
  } else if (kind == 1 && dtype.is_int()) {
    dtype = random_.pick({i8, u8, f8_e4m3, f8_e5m2});
    view.small = false;
  } else if (kind == 2 && view.shape.size() >= 2) {  // the last two dimensions exchanged
    strides = ir::strides_of(base);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    std::swap(view.shape[view.shape.size() - 1], view.shape[view.shape.size() - 2]);
  } else {  // a part
    strides = ir::strides_of(base);
    for (size_t dim = 0; dim < view.shape.size(); ++dim) {
      const int64_t begin = random_.range(0, view.shape[dim] - 1);
      offset += begin * *ir::as_int(strides[dim]);
      view.shape[dim] = random_.range(1, view.shape[dim] - begin);
    }
  }
  view.buffer = ir::make<ir::BufferNode>({}, [&](ir::BufferNode& n) {
    n.name = name("view");
    n.dtype = dtype;
    n.space = base.space();
    for (const int64_t extent : view.shape) n.shape.push_back(ir::index(extent));
    n.strides = strides;
    n.view_of = base;
    n.offset = ir::index(offset);
  });
  emit(ir::alloc(view.buffer));
  add(view);
}

void Generator::tensor_view() {
  std::vector<ir::Buffer> choices;
  for (const ir::Buffer& buffer : readable_) {
    if (buffer.rank() >= 2 && !buffer.dtype().is_sub_byte() && !buffer->view_of)
      choices.push_back(buffer);
  }
  if (choices.empty()) return load_tile();
  const ir::Buffer base = random_.pick(choices);
  std::vector<Expr> shape = base.shape(), strides = ir::strides_of(base);
  Expr offset = ir::index(0);
  const auto extent = ir::as_int(shape[0]);
  if (extent && *extent > 0 && random_.chance(50)) {  // one entry of the first dimension
    offset = ir::mul(strides[0], ir::index(random_.range(0, *extent - 1)));
    shape.erase(shape.begin());
    strides.erase(strides.begin());
  } else {  // the last two dimensions exchanged
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  }
  const ir::Buffer view = ir::make<ir::BufferNode>({}, [&](ir::BufferNode& n) {
    n.name = name("view");
    n.dtype = base.dtype();
    n.space = base.space();
    n.shape = shape;
    n.strides = strides;
    n.view_of = base;
    n.offset = offset;
    if (random_.chance(30)) n.safe_value = exprs_.constant(base.dtype());
  });
  emit(ir::alloc(view));
  readable_.push_back(view);
}

void Generator::address_view() {
  // A table of addresses, each of another parameter's memory.
  const DType dtype = random_.pick({i32, f32, u8, f16, i64});
  const Extent length = {ir::index(random_.range(1, 30)), 0};
  const int64_t count = *ir::as_int(length.expr);
  tensor(ir::ParamKind::input, "z", dtype, {{length.expr, count}}, false);
  const std::string target = case_.program.params.back().buffer.name();
  const int64_t stride = case_.values.back().strides[0];
  const ir::Buffer table = tensor(ir::ParamKind::input, "table", u64, {{ir::index(1), 1}}, false);
  case_.values.back().points_to = target;
  const ir::Buffer view = ir::make<ir::BufferNode>({}, [&](ir::BufferNode& n) {
    n.name = name("view");
    n.dtype = dtype;
    n.shape = {length.expr};
    if (stride != 1 || random_.chance(30)) n.strides = {ir::index(stride)};
    n.address = ir::load(table, {ir::index(0)});
  });
  emit(ir::alloc(view));
  readable_.push_back(view);
}

ir::Region Generator::slot(const std::vector<Extent>& shape, DType dtype) {
  std::vector<Extent> whole;
  ir::Region region;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    whole.push_back({ir::index(grid_[i]), grid_[i]});
    region.begin.push_back(blocks_[i]);
    region.extent.push_back(ir::index(1));
  }
  for (const Extent& extent : shape) {
    whole.push_back(extent);
    region.begin.push_back(ir::index(0));
    region.extent.push_back(extent.expr);
  }
  const auto kind = random_.chance(70) ? ir::ParamKind::output : ir::ParamKind::inout;
  region.buffer = tensor(kind, "y", dtype, whole, false);
  if (kind == ir::ParamKind::inout) written_.push_back(region.buffer);
  return region;
}

void Generator::write_tensor() {
  DType dtype = random_.pick(all_dtypes());
  if (dtype.is_sub_byte()) dtype = u8;
  std::vector<Extent> shape;
  for (int64_t rank = random_.range(1, 2); rank > 0; --rank) shape.push_back(extent(1, 20));
  const ir::Region region = slot(shape, dtype);
  const Vars vars = loop_vars(shape.size());
  std::vector<Expr> extents, at(blocks_.begin(), blocks_.end());
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    extents.push_back(shape[dim].expr);
    const bool reversed = random_.chance(20);
    at.push_back(reversed ? ir::sub(ir::sub(shape[dim].expr, ir::index(1)), vars[dim])
                          : Expr(vars[dim]));
  }
  parallel(vars, extents, scope([&] {
             exprs_.indices.insert(exprs_.indices.end(), vars.begin(), vars.end());
             // Fragments may not be indexed by loops of run-time extent (language 5.4).
             add_tile_leaves({}, Shape{}, region.buffer);
             const Stmt write = ir::store(region.buffer, at, exprs_.value(dtype, 3));
             emit(random_.chance(30) ? ir::if_(exprs_.condition(2), write) : write);
           }));
}

void Generator::copy_tensor() {
  DType to = random_.pick(all_dtypes());
  if (to.is_sub_byte()) to = f8_e4m3;
  const ir::Buffer src = input(to, 2, 20, false);
  const std::vector<Extent> shape = {extent(1, 12), extent(1, 12)};
  const ir::Region dst = slot(shape, to);
  if (random_.chance(50)) {
    const Expr value = uniform_value(to, 2);
    emit(ir::make<ir::Fill>({}, [&](ir::Fill& n) {
      n.dst = dst;
      n.value = value;
    }));
  }
  ir::Region from = global_region(src, {shape[0].value, shape[1].value});
  from.extent = {shape[0].expr, shape[1].expr};
  // A run-time extent may be 1, where the other side has a constant: both are the same here.
  emit(ir::make<ir::Copy>({}, [&](ir::Copy& n) {
    n.src = from;
    n.dst = dst;
    n.evict = random_.pick({ir::EvictPolicy::normal, ir::EvictPolicy::first});
  }));
}

}  // namespace tw::fuzz
