// e2m1: two elements to a byte, element 0 in the low nibble. Vectors that fill whole bytes are
// packed and unpacked by shuffles, anything else goes by bytes.
#include "tilewright/backend/cpu/emit/emitter.h"
#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

/// The nibble of a byte that an element index says.
Val nibble(Val bytes, Val index) {
  const Val shift = shl(trunc(index, kI8) & 1, 2);
  return lshr(bytes, shift) & 15;
}

}  // namespace

/// Whether the lanes fill whole bytes, several, in order.
bool Emitter::fills_bytes(const Address& at) const {
  if (!at.index.offsets || lanes_ % 2 != 0 || lanes_ == 2) return false;
  const std::vector<int64_t>& o = *at.index.offsets;
  for (size_t l = 0; l < o.size(); ++l) {
    if (o[l] != o[0] + static_cast<int64_t>(l)) return false;
  }
  return at.index.multiple % 2 == 0 && o[0] % 2 == 0;
}

Value Emitter::load_packed(const Address& at) {
  TW_CHECK(at.dtype.lanes == 1, "vectors of {}", at.dtype);
  Access how = at.storage->access;
  const bool masked = mask_ && !is_inside(at);
  if (at.index.uniform()) {
    const Val p = b_.offset(at.storage->base, ashr(at.index.val, 1));
    const auto read = [&] { return b_.load(p, kI8, 1, how); };
    return {.val = nibble(masked ? if_any_lane(read) : read(), at.index.val)};
  }
  if (!masked && fills_bytes(at)) {
    const Val first = at.index.val + at.index.offsets->front();
    const Val bytes = b_.load(b_.offset(at.storage->base, ashr(first, 1)), kI8, lanes_ / 2, how);
    std::vector<int> interleave;
    for (int l = 0; l < lanes_; ++l) interleave.push_back(l / 2 + (l % 2) * (lanes_ / 2));
    return {.val = pick_lanes(bytes & 15, lshr(bytes, 4), interleave), .varying = true};
  }
  const Val index = lanes(at.index, i64);
  const Val all = b_.constant(kI1, int64_t{1}, lanes_);
  const Val bytes = b_.gather(b_.offset(at.storage->base, ashr(index, 1)), masked ? mask_ : all,
                              b_.zero(kI8, lanes_), how);
  return {.val = nibble(bytes, index), .varying = true};
}

void Emitter::store_packed(const Address& at, const Value& value) {
  TW_CHECK(at.dtype.lanes == 1, "vectors of {}", at.dtype);
  Access how = at.storage->access;
  const bool of_block = at.storage->bytes >= 0;
  const auto write = [&](Val index, Val element) {
    const Val p = b_.offset(at.storage->base, ashr(index, 1));
    const Val shift = shl(trunc(index, kI8) & 1, 2);
    const Val others = ~shl(b_.constant(kI8, int64_t{15}), shift);
    if (of_block) {
      b_.store(p, (b_.load(p, kI8, 1, how) & others) | shl(element, shift), how);
    } else {  // another block may store the byte's other element meanwhile
      b_.atomic_rmw(Rmw::bit_and, p, others, Order::relaxed);
      b_.atomic_rmw(Rmw::bit_or, p, shl(element, shift), Order::relaxed);
    }
  };
  if (lanes_ == 1) return write(at.index.val, value.val);
  const Val elements = lanes(value, at.dtype);
  if (!mask_ && fills_bytes(at)) {
    std::vector<int> even, odd;
    for (int l = 0; l < lanes_; l += 2) {
      even.push_back(l);
      odd.push_back(l + 1);
    }
    const Val first = at.index.val + at.index.offsets->front();
    const Val bytes = pick_lanes(elements, even) | shl(pick_lanes(elements, odd), 4);
    return b_.store(b_.offset(at.storage->base, ashr(first, 1)), bytes, how);
  }
  // One lane after the other, since two may share a byte.
  const Val index = lanes(at.index, i64);
  for (int l = 0; l < lanes_; ++l) {
    const Block exit = b_.new_block("next_lane");
    if (mask_) {
      const Block active = b_.new_block("lane");
      b_.branch(extract(mask_, l), active, exit);
      b_.move_to(active);
    }
    write(extract(index, l), extract(elements, l));
    b_.branch(exit);
    b_.move_to(exit);
  }
}

}  // namespace tw::cpu
