// Memory: where buffers live, and accesses of one element or of neighbors.
#include <algorithm>
#include <bit>

#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"

namespace tw::cuda {
namespace {

using ir::Expr;
using ir::MemSpace;

bool in_tensor(const ir::Buffer& root) {
  return root.space() == MemSpace::global || root.space() == MemSpace::workspace;
}

/// Elements of memory_type() in a block buffer.
int64_t element_count(const ir::Buffer& buffer) {
  int64_t count = 1;
  for (int d = 0; d < buffer.rank(); ++d) {
    count *= buffer.extent(d) + (d == buffer.rank() - 1 ? buffer->padding : 0);
  }
  if (buffer.dtype().is_sub_byte()) count = (count + 1) / 2;
  // Four bytes are accessed as one.
  const bool in_words = buffer.space() == MemSpace::local && buffer.dtype().bits() <= 8;
  return in_words ? (count + 3) / 4 * 4 : count;
}

/// A type as wide as an access, of which it takes one.
std::string wide_type(int64_t bytes, DType dtype) {
  switch (bytes) {
    case 1:
      return "u8";
    case 2:
      return "u16";
    case 4:
      return dtype == f32 ? "f32" : "u32";
    case 8:
      return dtype == f32 ? "float2" : dtype == f64 ? "f64" : "uint2";
    default:
      return dtype == f32 ? "float4" : dtype == f64 ? "double2" : "uint4";
  }
}

}  // namespace

bool Emitter::Place::in_tensor() const { return tw::cuda::in_tensor(buffer.root()); }

const std::string& Emitter::name_of(const ir::Buffer& buffer) const {
  const auto found = buffers_.find(buffer);
  TW_CHECK(found != buffers_.end(), "{} is used before it is allocated", buffer.name());
  return found->second;
}

// ---- declarations

void Emitter::alloc(const ir::Alloc& alloc) {
  const ir::Buffer& buffer = alloc.buffer;
  const std::string type = memory_type(buffer.dtype());
  const auto new_name = [&] { return buffers_[buffer] = names_.make(buffer.name()); };
  const char* constness =
      in_tensor(buffer.root()) && !written_.contains(buffer.root()) ? "const " : "";
  if (buffer.dtype().lanes > 1) {
    throw Error(codes::tgt_03, alloc.loc, "{}: elements of {} have no lowering on cuda",
                buffer.name(), buffer.dtype());
  }
  if (buffer->address) {
    const Text at = value(buffer->address);
    line(format("{0}{1}* const {2} = ({0}{1}*){3};", constness, type, new_name(), at.in(kPrefix)));
    return;
  }
  if (buffer->view_of) {
    const ir::Buffer root = buffer.root();
    if (buffer->offset && !ir::is_int(buffer->offset, 0)) {
      view_offset_[buffer] = named(buffer->offset, (buffer.name() + "_offset").c_str());
    }
    const bool scalar = root.rank() == 0;
    if (buffer->peer) {
      const Text rank = value(ir::cast(u32, buffer->peer));
      line(format("{0}* const {1} = ({0}*)of_peer({2}, {3});", type, new_name(), name_of(root),
                  rank.s));
    } else if (memory_type(root.dtype()) == type && !scalar) {
      buffers_[buffer] = name_of(root);
    } else {
      line(format("{0}{1}* const {2} = ({0}{1}*){3}{4};", constness, type, new_name(),
                  scalar ? "&" : "", name_of(root)));
    }
    return;
  }
  switch (buffer.space()) {
    case MemSpace::shared:
    case MemSpace::shared_static:
      if (alloc.place < 0) {
        return line(format("__shared__ __align__(128) {} {}[{}];", type, new_name(),
                           element_count(buffer)));
      }
      return line(format("{0}* const {1} = ({0}*)(shared + {2});", type, new_name(), alloc.place));
    case MemSpace::variable:
    case MemSpace::local: {
      if (buffer.rank() > 0) {
        const char* align = moved_.contains(buffer)       ? "alignas(16) "
                            : buffer.dtype().bits() <= 16 ? "alignas(4) "
                                                          : "";
        return line(format("{}{} {}[{}];", align, type, new_name(), element_count(buffer)));
      }
      const std::string initially = alloc.initial ? " = " + initial(alloc.initial).s : "";
      return line(format("{} {}{};", to_text(buffer.dtype()), new_name(), initially));
    }
    default:
      throw Error(codes::tgt_03, alloc.loc, "{}: a buffer in {} has no lowering on cuda",
                  buffer.name(), enum_name(buffer.space()));
  }
}

// ---- places

Emitter::Place Emitter::place(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
  const ir::Buffer root = buffer->address ? buffer : buffer.root();
  Place at{.buffer = buffer};
  if (buffer.rank() == 0 && !buffer->view_of && !buffer->address && !tw::cuda::in_tensor(root) &&
      root.space() != MemSpace::shared) {
    at.base = name_of(buffer);
    at.is_scalar = true;
    return at;
  }
  const std::vector<Expr> strides = ir::strides_of(buffer);
  // Offsets in tensors need 64 bits.
  const bool narrow =
      !tw::cuda::in_tensor(root) &&
      std::all_of(strides.begin(), strides.end(),
                  [](const Expr& e) { return ir::as_int(e).has_value(); }) &&
      std::all_of(indices.begin(), indices.end(), [](const Expr& e) { return e.dtype() == i32; });
  const DType dtype = narrow ? i32 : i64;
  Expr linear = ir::zero(dtype);
  for (size_t d = 0; d < indices.size(); ++d) {
    const auto stride = ir::as_int(strides[d]);
    linear =
        ir::add(linear, ir::mul(ir::cast(dtype, indices[d]), stride ? ir::int_const(dtype, *stride)
                                                                    : ir::cast(dtype, strides[d])));
  }
  const auto own = buffers_.find(buffer);
  Text offset;
  if (own != buffers_.end()) {
    at.base = own->second;
    if (const auto known = view_offset_.find(buffer); known != view_offset_.end()) {
      offset = known->second;
    }
  } else {  // a view that nothing declares
    TW_CHECK(buffer->view_of, "{} is used before it is allocated", buffer.name());
    const std::string own = buffer->peer ? format("of_peer({}, {})", name_of(root),
                                                  value(ir::cast(u32, buffer->peer)).s)
                                         : name_of(root);
    at.base = format("(({}{}*){})", written_.contains(root) ? "" : "const ",
                     memory_type(buffer.dtype()), own);
    if (buffer->offset && !ir::is_int(buffer->offset, 0)) offset = value(buffer->offset);
  }
  const auto constant = ir::as_int(linear);
  const Text index = constant ? int_literal(dtype, *constant, true) : value(linear);
  if (constant && offset.s.empty()) at.constant = *constant;
  at.index = offset.s.empty() ? index : constant == 0 ? offset : infix(offset, " + ", index, kSum);
  return at;
}

std::string Emitter::pointer(const Place& at) {
  if (at.is_scalar) return "&" + at.base;
  if (!at.buffer.dtype().is_sub_byte()) return format("&{}[{}]", at.base, at.index.s);
  if (at.constant >= 0) return format("&{}[{}]", at.base, at.constant / 2);
  return format("&{}[{} >> 1]", at.base, at.index.in(kPrimary));
}

ir::Expr Emitter::is_inside(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
  Expr inside = ir::bool_const(true);
  for (size_t d = 0; d < indices.size(); ++d) {
    const Expr i = ir::cast(i64, indices[d]);
    const Expr within =
        ir::land(ir::le(ir::index(0), i), ir::lt(i, ir::cast(i64, buffer.shape()[d])));
    inside = ir::is_true(inside) ? within : ir::land(inside, within);
  }
  return inside;
}

// ---- accesses of one element

Text Emitter::load(const ir::Load& load) {
  const DType dtype = load.buffer.dtype();
  const auto read = [&]() -> Text {
    const Place at = place(load.buffer, load.indices);
    if (at.is_scalar) return {at.base};
    if (dtype.is_sub_byte()) return call("load_e2m1", {{at.base}, at.index});
    const Text element{format("{}[{}]", at.base, at.index.s)};
    return dtype.is_bool() ? infix(element, " != ", {"0"}, kEqual) : element;
  };
  if (load.unchecked || !in_tensor(load.buffer.root())) return read();
  const Expr outside = load.buffer->safe_value ? load.buffer->safe_value : ir::zero(dtype);
  const Text inside = value(is_inside(load.buffer, load.indices));
  return {format("{} ? {} : {}", inside.in(kOr), read().in(kOr), value(outside).in(kChoice)),
          kChoice};
}

void Emitter::store(const ir::Store& store) {
  const Text v = value(store.value);
  const Place at = place(store.buffer, store.indices);
  if (store.unchecked || !at.in_tensor()) return write(at, v, store.streaming);
  line(format("if ({}) {{", value(is_inside(store.buffer, store.indices)).s));
  indented([&] { write(at, v, store.streaming); });
  line("}");
}

void Emitter::write(const Place& at, const Text& value, bool streaming) {
  if (at.is_scalar) return line(format("{} = {};", at.base, value.s));
  if (at.buffer.dtype().is_sub_byte()) {
    const bool own = at.buffer.root().space() == MemSpace::local;
    const char* name = own ? "store_e2m1" : "store_e2m1_shared";
    return line(call(name, {{at.base}, at.index, value}).s + ";");
  }
  if (streaming && at.in_tensor()) {
    const DType dtype = at.buffer.dtype();
    const Text v = dtype.is_bool() ? as_type(u8, value) : value;
    return line(call("__stcs", {{pointer(at)}, v}).s + ";");
  }
  line(format("{}[{}] = {};", at.base, at.index.s, value.s));
}

// ---- accesses of neighbors

/// A struct of the access's width is copied: LDG.E.128, STS.128 (seen with NVRTC 13.0 in SASS). A
/// tensor that is only read and restricted goes through the read-only path by itself.
void Emitter::move(const ir::Move& move) {
  if (move.fold != ir::CopyFold::none) return fold(move);
  const Place from = place(move.src, move.src_indices), to = place(move.dst, move.dst_indices);
  const DType dtype = move.src.dtype();
  const int64_t bytes = move.count * dtype.bits() / 8;
  const bool hinted =
      move.evict != ir::EvictPolicy::normal && bytes >= 4 && (from.in_tensor() || to.in_tensor());
  const bool plain = !hinted && !(move.streaming && to.in_tensor());
  const std::string type = wide_type(bytes, plain ? dtype : u32);
  const std::string source = format("*(const {}*){}", type, pointer(from));
  if (plain && to.in_tensor() && std::has_single_bit(static_cast<uint64_t>(move.count))) {
    // Through a pointer to the wide type, else the store goes in words, or less (seen in SASS).
    const int shift = std::countr_zero(static_cast<uint64_t>(move.count));
    const Text at = to.constant >= 0 ? Text{format("{}", to.constant >> shift)}
                                     : infix(to.index, " >> ", {format("{}", shift)}, kShift);
    return line(format("(({}*){})[{}] = {};", type, to.base, at.s, source));
  }
  if (plain) return line(format("*({}*){} = {};", type, pointer(to), source));
  if (!hinted) return line(format("__stcs(({}*){}, {});", type, pointer(to), source));
  const char* policy = move.evict == ir::EvictPolicy::first ? "evict_first()" : "evict_last()";
  if (to.in_tensor()) {
    return line(format("store_hinted({}, {}, {});", pointer(to), source, policy));
  }
  const ir::Buffer root = move.src->address ? move.src : move.src.root();
  const bool constant =
      !written_.contains(root) && !root->address && !root->may_alias && !is_early_ && !awaits_;
  line(format("load{}_hinted(({}*){}, {}, {});", constant ? "_const" : "", type, pointer(to),
              pointer(from), policy));
}

void Emitter::prefetch(const ir::Prefetch& prefetch) {
  const Place at = place(prefetch.buffer, prefetch.indices);
  if (at.in_tensor()) line(format("prefetch({});", pointer(at)));
}

}  // namespace tw::cuda
