#include "tilewright/backend/cpu/atoms/dot.h"

namespace tw::cpu {
namespace {

/// One instruction on 16, 8 or 4 sums.
struct Atom {
  int lanes;
  const char* intrinsic;
};
constexpr Atom kBf16[] = {{16, "llvm.x86.avx512bf16.dpbf16ps.512"},
                          {8, "llvm.x86.avx512bf16.dpbf16ps.256"},
                          {4, "llvm.x86.avx512bf16.dpbf16ps.128"}};
constexpr Atom kVnni[] = {{16, "llvm.x86.avx512.vpdpwssd.512"},
                          {8, "llvm.x86.avx512.vpdpwssd.256"},
                          {4, "llvm.x86.avx512.vpdpwssd.128"}};
constexpr Atom kMultiplyAdd[] = {{16, "llvm.x86.avx512.pmaddw.d.512"},
                                 {8, "llvm.x86.avx2.pmadd.wd"},
                                 {4, "llvm.x86.sse2.pmadd.wd"}};

/// The narrowest atom of the target that holds all lanes, or the widest.
const Atom& atom_for(const Atom (&atoms)[3], const Target& target, int lanes) {
  const Atom* best = &atoms[target.avx512 ? 0 : target.vector_bits == 256 ? 1 : 2];
  for (const Atom& atom : atoms) {
    if (atom.lanes >= lanes && atom.lanes < best->lanes) best = &atom;
  }
  return *best;
}

/// In f32, a half at a time.
Val compose_bf16(Val sum, Val a, Val b) {
  const auto low = [](Val v) { return bitcast(shl(v, 16), kF32); };
  const auto high = [](Val v) { return bitcast(v & 0xFFFF0000, kF32); };
  return fma(high(a), high(b), fma(low(a), low(b), sum));
}

Val compose_i16(Val sum, Val a, Val b) {
  const auto low = [](Val v) { return ashr(shl(v, 16), 16); };
  const auto high = [](Val v) { return ashr(v, 16); };
  return sum + low(a) * low(b) + high(a) * high(b);
}

}  // namespace

Val dot_pairs(const Target& target, ir::OpCode code, Val sum, Val a, Val b) {
  const Val args[] = {sum, a, b};
  const int lanes = sum.lanes();
  if (code == ir::OpCode::dot2_bf16) {
    if (!target.bf16_dot || lanes < 4) return compose_bf16(sum, a, b);
    const Atom& atom = atom_for(kBf16, target, lanes);
    return in_pieces(atom.lanes, args, [&](std::span<const Val> part) {
      const Val operands[] = {part[0], bitcast(part[1], kBfloat), bitcast(part[2], kBfloat)};
      return sum.builder().plain_intrinsic(atom.intrinsic, operands);
    });
  }
  if (lanes < 4) return compose_i16(sum, a, b);
  if (target.int8_dot) {
    const Atom& atom = atom_for(kVnni, target, lanes);
    return in_pieces(atom.lanes, args, [&](std::span<const Val> part) {
      return sum.builder().plain_intrinsic(atom.intrinsic, part);
    });
  }
  const Atom& atom = atom_for(kMultiplyAdd, target, lanes);
  return sum + in_pieces(atom.lanes, std::span(args).subspan(1), [&](std::span<const Val> part) {
           const Val operands[] = {bitcast(part[0], kI16), bitcast(part[1], kI16)};
           return sum.builder().plain_intrinsic(atom.intrinsic, operands);
         });
}

}  // namespace tw::cpu
