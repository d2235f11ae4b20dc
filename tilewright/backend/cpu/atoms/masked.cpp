#include "tilewright/backend/cpu/atoms/masked.h"

#include <vector>

namespace tw::cpu {
namespace {

/// AVX's own instruction, which takes a mask of whole lanes.
struct Atom {
  int bits, lanes;
  const char* intrinsic;
};
constexpr Atom kAtoms[] = {{32, 4, "llvm.x86.avx2.maskload.d"},
                           {32, 8, "llvm.x86.avx2.maskload.d.256"},
                           {64, 2, "llvm.x86.avx2.maskload.q"},
                           {64, 4, "llvm.x86.avx2.maskload.q.256"}};

/// The narrowest that holds all lanes, or the widest.
const Atom& atom_for(int bits, int lanes) {
  const Atom& narrow = kAtoms[bits == 32 ? 0 : 2];
  return lanes <= narrow.lanes ? narrow : *(&narrow + 1);
}

}  // namespace

// LLVM 19 splits a masked load in two for AVX2, and where a constant is half of the mask it may
// load the other half without one. So it isn't given masked loads there; narrow elements, which
// have no instruction, it turns into branches before that.
Val load_masked(const Target& target, Val pointer, Val mask, Elem elem, const Access& access) {
  Builder& b = pointer.builder();
  const int lanes = mask.lanes();
  const bool has_atom = elem.bits == 32 || elem.bits == 64;
  if (target.avx512 || target.vector_bits < 256 || !has_atom) {
    return b.masked_load(pointer, mask, b.zero(elem, lanes), access);
  }
  const Atom& atom = atom_for(elem.bits, lanes);
  // Whole pieces, with inactive lanes behind the last.
  const int pieces = (lanes + atom.lanes - 1) / atom.lanes;
  std::vector<int> extend;
  for (int l = 0; l < pieces * atom.lanes; ++l) extend.push_back(l < lanes ? l : lanes);
  const Val whole = pick_lanes(sext(mask, Elem{elem.bits}), b.zero(Elem{elem.bits}, lanes), extend);
  int64_t offset = 0;
  const Val loaded = in_pieces(atom.lanes, {&whole, 1}, [&](std::span<const Val> part) {
    const Val args[] = {b.offset(pointer, offset), part[0]};
    offset += int64_t{atom.lanes} * elem.bits / 8;
    return b.with_access(b.plain_intrinsic(atom.intrinsic, args), access);
  });
  std::vector<int> first;
  for (int l = 0; l < lanes; ++l) first.push_back(l);
  return bitcast(pick_lanes(loaded, first), elem);
}

}  // namespace tw::cpu
