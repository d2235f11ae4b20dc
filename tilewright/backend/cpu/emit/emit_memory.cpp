// Memory: where an element lies, and the cheapest instruction for what the lanes of an access have
// in common. One element for all lanes is a scalar access, neighbours are a vector, a small pattern
// is a vector and a shuffle, anything else a gather or scatter.
#include <algorithm>
#include <numeric>

#include "tilewright/backend/cpu/emit/emitter.h"
#include "tilewright/backend/cpu/rules/convert.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"

namespace tw::cpu {
namespace {

using ir::Expr;

/// How a lane of the type lies in memory.
Elem memory_elem(DType dtype) {
  return dtype.is_bool() || dtype.is_sub_byte() ? kI8 : register_elem(dtype);
}

int64_t size_of(DType dtype) { return std::max(1, dtype.bits() / 8); }

/// Whether lane l is at offset first + l.
bool is_contiguous(const std::vector<int64_t>& offsets) {
  for (size_t l = 0; l < offsets.size(); ++l) {
    if (offsets[l] != offsets[0] + static_cast<int64_t>(l)) return false;
  }
  return true;
}

/// An integer that holds one element of a vector dtype, for gathers.
Elem whole_elem(DType dtype) {
  if (dtype.lanes == 1) return memory_elem(dtype);
  if (dtype.bits() > 64) {
    throw Error(codes::tgt_03, {},
                "{}: elements of this type are only accessed contiguously on cpu", dtype);
  }
  return {dtype.bits()};
}

}  // namespace

const Storage& Emitter::storage_of(const ir::Buffer& root) {
  const auto found = storage_.find(root);
  TW_CHECK(found != storage_.end(), "buffer {} is used where it isn't allocated", root.name());
  return found->second;
}

/// Fixes what a view's declaration says at the point where it stands.
void Emitter::bind_view(const ir::Buffer& view) {
  if (view->address) {
    const int64_t align = std::max(view->align, size_of(DType(view.dtype().scalar)));
    storage_[view] = {.base = bitcast(uniform(view->address), kPtr), .align = align};
  } else if (view->offset) {
    const ir::Var at = ir::Var::make(view.name() + "_offset", view->offset.dtype());
    vars_[at] = value(view->offset);
    view_offset_[view] = at;
  }
}

Emitter::Address Emitter::address(const ir::Buffer& buffer, const std::vector<Expr>& indices) {
  Expr linear = ir::index(0);
  if (const auto at = view_offset_.find(buffer); at != view_offset_.end()) {
    linear = ir::cast(i64, at->second);
  } else if (buffer->offset) {
    linear = ir::cast(i64, buffer->offset);
  }
  const std::vector<Expr> strides = ir::strides_of(buffer);
  for (size_t d = 0; d < indices.size(); ++d) {
    linear = ir::add(linear, ir::mul(ir::cast(i64, indices[d]), ir::cast(i64, strides[d])));
  }
  return {&storage_of(buffer->address ? buffer : buffer.root()), value(linear), buffer.dtype()};
}

Val Emitter::pointer(const Address& at, Val index) {
  return b_.offset(at.storage->base, index * size_of(at.dtype));
}

Access Emitter::access(const Address& at) const {
  Access access = at.storage->access;
  int64_t distance = at.index.varying ? 1 : at.index.multiple;
  if (at.index.offsets) distance = std::gcd(distance, at.index.offsets->front());
  int64_t bytes = 0;
  if (__builtin_mul_overflow(distance, size_of(at.dtype), &bytes)) bytes = size_of(at.dtype);
  access.align = std::gcd(at.storage->align, bytes);
  return access;
}

bool Emitter::is_inside(const Address& at) const {
  const auto base = at.index.varying ? std::nullopt : at.index.val.literal();
  if (at.storage->bytes < 0 || !base) return false;
  const auto fits = [&](int64_t offset) {
    const int64_t bit = (*base + offset) * at.dtype.bits();
    return bit >= 0 && bit + at.dtype.bits() <= at.storage->bytes * 8;
  };
  return at.index.offsets ? std::all_of(at.index.offsets->begin(), at.index.offsets->end(), fits)
                          : fits(0);
}

Val Emitter::from_memory(DType dtype, Val memory) {
  if (dtype.lanes > 1) memory = bitcast(memory, memory_elem(dtype));
  return dtype.is_bool() ? ne(memory, 0) : memory;
}
Val Emitter::to_memory(DType dtype, Val value) {
  return dtype.is_bool() ? zext(value, kI8) : value;
}

/// The mask of memory lanes, several for an element of a vector dtype.
Val Emitter::wide_mask(DType dtype) {
  if (dtype.lanes == 1) return mask_;
  std::vector<int> repeat;
  for (int i = 0; i < element_lanes(dtype); ++i) repeat.push_back(i / dtype.lanes);
  return pick_lanes(mask_, repeat);
}

Value Emitter::load(const ir::Load& load) { return load_at(address(load.buffer, load.indices)); }

Value Emitter::load_at(const Address& at) {
  const DType dtype = at.dtype;
  if (dtype.is_sub_byte()) return load_packed(at);
  const Elem elem = memory_elem(dtype);
  const bool masked = mask_ && !is_inside(at);
  const Access how = access(at);

  if (at.index.uniform()) {
    const Val p = pointer(at, at.index.val);
    const auto read = [&] { return b_.load(p, elem, dtype.lanes, how); };
    return {.val = from_memory(dtype, masked ? if_any_lane(read) : read())};
  }
  if (at.index.offsets) {
    const std::vector<int64_t>& offsets = *at.index.offsets;
    const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
    const Val p = pointer(at, at.index.val + *low);
    if (is_contiguous(offsets)) {
      const int n = element_lanes(dtype);
      const Val v = masked ? b_.masked_load(p, wide_mask(dtype), b_.zero(elem, n), how)
                           : b_.load(p, elem, n, how);
      return {.val = from_memory(dtype, v), .varying = true};
    }
    const int64_t span = *high - *low + 1;
    if (!masked && span <= int64_t{4} * lanes_ && dtype.lanes == 1) {
      std::vector<int> mask;
      for (const int64_t o : offsets) mask.push_back(static_cast<int>(o - *low));
      // `how` knows the first lane's address, which may not be the lowest.
      const int64_t align = *low == offsets.front() ? how.align : size_of(dtype);
      const Access loose{align, how.alias_class, how.invariant};
      const Val v = b_.load(p, elem, static_cast<int>(span), loose);
      return {.val = from_memory(dtype, pick_lanes(v, mask)), .varying = true};
    }
  }
  const Elem whole = whole_elem(dtype);
  const Val all = b_.constant(kI1, int64_t{1}, lanes_);
  const Val v = b_.gather(pointers(at), masked ? mask_ : all, b_.zero(whole, lanes_), how);
  return {.val = from_memory(dtype, v), .varying = true};
}

/// The address of each lane, as an offset from one scalar where there is one.
Val Emitter::pointers(const Address& at) {
  const int64_t size = size_of(at.dtype);
  if (!at.index.offsets) return b_.offset(at.storage->base, at.index.val * size);
  std::vector<int64_t> bytes;
  for (const int64_t o : *at.index.offsets) bytes.push_back(o * size);
  return b_.offset(pointer(at, at.index.val), b_.constants(kI64, bytes));
}

void Emitter::store_at(const Address& at, const Value& value, bool streaming) {
  const DType dtype = at.dtype;
  if (dtype.is_sub_byte()) return store_packed(at, value);
  const bool masked = static_cast<bool>(mask_);

  if (at.index.uniform()) {
    // The lanes write one element: the last active one wins.
    const auto write = [&] {
      Val v = value.val;
      if (!value.uniform()) {
        TW_CHECK(dtype.lanes == 1, "lanes of {} write one element", dtype);
        v = extract(lanes(value, dtype), masked ? last_lane() : Operand(lanes_ - 1));
      }
      b_.store(pointer(at, at.index.val), to_memory(dtype, v), access(at));
      return b_.constant(kI8, int64_t{0});
    };
    if (masked) {
      if_any_lane(write);
    } else {
      write();
    }
    return;
  }
  Val v = to_memory(dtype, lanes(value, dtype));
  if (at.index.offsets && is_contiguous(*at.index.offsets)) {
    const Val p = pointer(at, at.index.val + at.index.offsets->front());
    if (!masked) return store_vector(at, p, v, streaming);
    if (!is_inside(at)) return b_.masked_store(p, wide_mask(dtype), v, access(at));
    // Memory of the block that may be read and written back stays a candidate for registers.
    const Val old = b_.load(p, v.elem(), v.lanes(), access(at));
    return b_.store(p, select(wide_mask(dtype), v, old), access(at));
  }
  const Elem whole = whole_elem(dtype);
  if (dtype.lanes > 1) v = bitcast(v, whole);
  const Val all = b_.constant(kI1, int64_t{1}, lanes_);
  b_.scatter(pointers(at), masked ? mask_ : all, v, access(at));
}

/// Index of the last active lane; there must be one.
Val Emitter::last_lane() {
  const Val bits = lanes_ == 1 ? zext(mask_, kI8) : bitcast(mask_, Elem{lanes_});
  const Val args[] = {bits, b_.constant(kI1, int64_t{1})};
  return int_resize(
      b_.constant(bits.elem(), int64_t{lanes_ - 1}) - b_.intrinsic("llvm.ctlz", {args, 1}, args),
      kI64, false);
}

/// A store without mask. One that isn't read again soon goes past the caches, in parts of 16 bytes
/// where the address turns out to be aligned to that, as rows of arrays nearly always are.
void Emitter::store_vector(const Address& at, Val pointer, Val memory, bool streaming) {
  constexpr int kPart = 16;
  Access how = access(at);
  const int lanes_of_part = kPart * 8 / memory.bits();
  if (!streaming || memory.lanes() % lanes_of_part != 0) return b_.store(pointer, memory, how);
  has_streamed_ = true;
  Access past = how;
  past.streaming = true;
  if (how.align % target_.vector_bytes() == 0) return b_.store(pointer, memory, past);
  past.align = kPart;
  const Block aligned = b_.new_block("aligned"), other = b_.new_block("unaligned");
  const Block exit = b_.new_block("stored");
  b_.branch(eq(bitcast(pointer, kI64) & (kPart - 1), 0), aligned, other);
  b_.move_to(aligned);
  for (int lane = 0; lane < memory.lanes(); lane += lanes_of_part) {
    std::vector<int> part(static_cast<size_t>(lanes_of_part));
    std::iota(part.begin(), part.end(), lane);
    b_.store(b_.offset(pointer, lane * memory.bits() / 8), pick_lanes(memory, part), past);
  }
  b_.branch(exit);
  b_.move_to(other);
  b_.store(pointer, memory, how);
  b_.branch(exit);
  b_.move_to(exit);
}

/// Brings a line nearer, to the second-level cache.
void Emitter::prefetch(const ir::Prefetch& prefetch) {
  const Address at = address(prefetch.buffer, prefetch.indices);
  // For many lanes the line of the first one.
  const Val index = at.index.varying   ? extract(at.index.val, 0)
                    : at.index.offsets ? at.index.val + at.index.offsets->front()
                                       : at.index.val;
  const Val line = pointer(at, index);
  const auto i32 = [&](int64_t v) { return b_.constant(kI32, v); };
  const Val args[] = {line, i32(0), i32(2), i32(1)};  // read, level 2, data
  b_.intrinsic("llvm.prefetch", {&line, 1}, args);
}

}  // namespace tw::cpu
