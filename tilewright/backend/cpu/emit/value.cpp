#include "tilewright/backend/cpu/emit/value.h"

#include <algorithm>
#include <vector>

#include <llvm-c/Core.h>

#include "tilewright/backend/cpu/emit/builder.h"
#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

/// Makes one operand a vector when the other is.
void match(Val& a, Val& b) {
  const int n = std::max(a.lanes(), b.lanes());
  a = splat(a, n);
  b = splat(b, n);
}

/// Lanes first, first + 1, ... of a vector; where they go beyond its end, the last lane again.
Val lanes_from(Val v, int first, int count) {
  if (first == 0 && count == v.lanes()) return v;
  std::vector<int> mask;
  for (int i = 0; i < count; ++i) mask.push_back(std::min(first + i, v.lanes() - 1));
  return pick_lanes(v, mask);
}

/// The values one after the other, cut to `lanes`. All have the same number of lanes.
Val concatenate(std::span<const Val> parts, int lanes) {
  Val all = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const int have = all.lanes(), more = parts[i].lanes();
    std::vector<int> mask;
    for (int l = 0; l < have + more; ++l) mask.push_back(l);
    all = pick_lanes(all, lanes_from(parts[i], 0, have), mask);
  }
  return lanes_from(all, 0, lanes);
}

/// LLVM's "undefined" lane.
constexpr int kAnyLane = -1;

LLVMTypeRef with_elem(Val a, Elem to) { return a.builder().type(to, a.lanes()); }

Val two_of_a_kind(const char* intrinsic, Val a, Operand b) {
  Val y = b.like(a);
  match(a, y);
  const Val args[] = {a, y};
  return a.builder().intrinsic(intrinsic, {&a, 1}, args);
}

}  // namespace

Elem Val::elem() const {
  LLVMTypeRef type = LLVMTypeOf(ref_);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
      return {static_cast<int>(LLVMGetIntTypeWidth(type))};
    case LLVMHalfTypeKind:
      return kHalf;
    case LLVMFloatTypeKind:
      return kF32;
    case LLVMDoubleTypeKind:
      return kF64;
    case LLVMBFloatTypeKind:
      return kBfloat;
    default:
      return kPtr;
  }
}

int Val::lanes() const {
  LLVMTypeRef type = LLVMTypeOf(ref_);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return 1;
  return static_cast<int>(LLVMGetVectorSize(type));
}

bool Val::is_const() const { return LLVMIsConstant(ref_) != 0; }

std::optional<int64_t> Val::literal() const {
  if (LLVMIsAConstantInt(ref_) == nullptr) return std::nullopt;
  return LLVMConstIntGetSExtValue(ref_);
}

Val Operand::like(Val other) const {
  return val ? val : other.builder().constant(other.elem(), literal, other.lanes());
}

#define TW_BINARY(name, Build)                                       \
  Val name(Val a, Operand b) {                                       \
    Val y = b.like(a);                                               \
    match(a, y);                                                     \
    Builder& builder = a.builder();                                  \
    return builder.make(Build(builder.ref(), a.ref(), y.ref(), "")); \
  }
TW_BINARY(operator+, LLVMBuildAdd)
TW_BINARY(operator-, LLVMBuildSub)
TW_BINARY(operator*, LLVMBuildMul)
TW_BINARY(operator&, LLVMBuildAnd)
TW_BINARY(operator|, LLVMBuildOr)
TW_BINARY(operator^, LLVMBuildXor)
TW_BINARY(shl, LLVMBuildShl)
TW_BINARY(lshr, LLVMBuildLShr)
TW_BINARY(ashr, LLVMBuildAShr)
TW_BINARY(sdiv, LLVMBuildSDiv)
TW_BINARY(udiv, LLVMBuildUDiv)
TW_BINARY(urem, LLVMBuildURem)
#undef TW_BINARY

Val operator~(Val a) { return a ^ -1; }
Val operator-(Val a) { return a.builder().zero(a.elem(), a.lanes()) - a; }

Val icmp(Pred pred, Val a, Operand b) {
  constexpr LLVMIntPredicate kPreds[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT, LLVMIntULE,
                                         LLVMIntUGT, LLVMIntUGE, LLVMIntSLT, LLVMIntSLE,
                                         LLVMIntSGT, LLVMIntSGE};
  Val y = b.like(a);
  match(a, y);
  Builder& builder = a.builder();
  return builder.make(
      LLVMBuildICmp(builder.ref(), kPreds[static_cast<size_t>(pred)], a.ref(), y.ref(), ""));
}

Val umin(Val a, Operand b) { return two_of_a_kind("llvm.umin", a, b); }
Val umax(Val a, Operand b) { return two_of_a_kind("llvm.umax", a, b); }
Val smin(Val a, Operand b) { return two_of_a_kind("llvm.smin", a, b); }
Val smax(Val a, Operand b) { return two_of_a_kind("llvm.smax", a, b); }

#define TW_FLOAT_BINARY(name, Build)                                            \
  Val name(Val a, Val b) {                                                      \
    match(a, b);                                                                \
    return a.builder().flagged(Build(a.builder().ref(), a.ref(), b.ref(), "")); \
  }
TW_FLOAT_BINARY(fadd, LLVMBuildFAdd)
TW_FLOAT_BINARY(fsub, LLVMBuildFSub)
TW_FLOAT_BINARY(fmul, LLVMBuildFMul)
#undef TW_FLOAT_BINARY

namespace {

/// A quotient or remainder whose dividend LLVM knows nothing of: LLVM 19 takes lanes where both
/// operands are known to be zero for zeros of the result, which is NaN there
/// (TargetLowering::SimplifyDemandedVectorElts).
Val fenced(decltype(&LLVMBuildFDiv) build, Val a, Val b) {
  match(a, b);
  Builder& builder = a.builder();
  if (a.lanes() > 1) a = builder.intrinsic("llvm.arithmetic.fence", {&a, 1}, {&a, 1});
  return builder.flagged(build(builder.ref(), a.ref(), b.ref(), ""));
}

}  // namespace

Val fdiv(Val a, Val b) { return fenced(LLVMBuildFDiv, a, b); }
Val frem(Val a, Val b) { return fenced(LLVMBuildFRem, a, b); }

Val fneg(Val a) { return a.builder().make(LLVMBuildFNeg(a.builder().ref(), a.ref(), "")); }

Val fma(Val a, Val b, Val c) {
  match(a, b);
  match(a, c);
  match(b, c);
  const Val args[] = {a, b, c};
  return a.builder().intrinsic("llvm.fma", {&a, 1}, args);
}

Val fcmp(FPred pred, Val a, Val b) {
  constexpr LLVMRealPredicate kPreds[] = {LLVMRealOEQ, LLVMRealOLT, LLVMRealOLE,
                                          LLVMRealOGT, LLVMRealOGE, LLVMRealORD,
                                          LLVMRealUNE, LLVMRealUNO, LLVMRealULT};
  match(a, b);
  Builder& builder = a.builder();
  return builder.make(
      LLVMBuildFCmp(builder.ref(), kPreds[static_cast<size_t>(pred)], a.ref(), b.ref(), ""));
}

#define TW_CAST(name, Build)                                                  \
  Val name(Val a, Elem to) {                                                  \
    Builder& builder = a.builder();                                           \
    return builder.make(Build(builder.ref(), a.ref(), with_elem(a, to), "")); \
  }
TW_CAST(zext, LLVMBuildZExt)
TW_CAST(sext, LLVMBuildSExt)
TW_CAST(trunc, LLVMBuildTrunc)
TW_CAST(fpext, LLVMBuildFPExt)
TW_CAST(fptrunc, LLVMBuildFPTrunc)
TW_CAST(sitofp, LLVMBuildSIToFP)
TW_CAST(uitofp, LLVMBuildUIToFP)
#undef TW_CAST

Val int_resize(Val a, Elem to, bool is_signed) {
  if (to.bits == a.bits()) return a;
  if (to.bits < a.bits()) return trunc(a, to);
  return is_signed ? sext(a, to) : zext(a, to);
}

Val fptosi_sat(Val a, Elem to) {
  const Val types[] = {a.builder().undefined(to, a.lanes()), a};
  return a.builder().intrinsic("llvm.fptosi.sat", types, {&a, 1});
}
Val fptoui_sat(Val a, Elem to) {
  const Val types[] = {a.builder().undefined(to, a.lanes()), a};
  return a.builder().intrinsic("llvm.fptoui.sat", types, {&a, 1});
}

Val bitcast(Val a, Elem to) {
  const int lanes = a.lanes() * a.bits() / to.bits;
  TW_CHECK(lanes * to.bits == a.lanes() * a.bits(), "bitcast of {} x {} bits to lanes of {}",
           a.lanes(), a.bits(), to.bits);
  Builder& builder = a.builder();
  LLVMTypeRef type = builder.type(to, lanes);
  if (to.kind == Elem::pointer) {
    return builder.make(LLVMBuildIntToPtr(builder.ref(), a.ref(), type, ""));
  }
  if (a.elem().kind == Elem::pointer) {
    return builder.make(LLVMBuildPtrToInt(builder.ref(), a.ref(), type, ""));
  }
  return builder.make(LLVMBuildBitCast(builder.ref(), a.ref(), type, ""));
}

Val select(Val cond, Val a, Val b) {
  match(a, b);
  if (cond.lanes() > 1) {
    a = splat(a, cond.lanes());
    b = splat(b, cond.lanes());
  }
  Builder& builder = a.builder();
  return builder.make(LLVMBuildSelect(builder.ref(), cond.ref(), a.ref(), b.ref(), ""));
}

Val splat(Val scalar, int lanes) {
  if (scalar.lanes() == lanes) return scalar;
  TW_CHECK(scalar.lanes() == 1, "a vector of {} lanes where {} are wanted", scalar.lanes(), lanes);
  const std::vector<int> all_first(static_cast<size_t>(lanes), 0);
  const Val vector = insert(scalar.builder().undefined(scalar.elem(), lanes), scalar, 0);
  return pick_lanes(vector, all_first);
}

Val extract(Val vector, Operand lane) {
  if (vector.lanes() == 1) return vector;
  Builder& builder = vector.builder();
  const Val index = lane.val ? lane.val : builder.constant(kI64, lane.literal);
  return builder.make(LLVMBuildExtractElement(builder.ref(), vector.ref(), index.ref(), ""));
}

Val insert(Val vector, Val scalar, int lane) {
  Builder& builder = vector.builder();
  return builder.make(LLVMBuildInsertElement(builder.ref(), vector.ref(), scalar.ref(),
                                             builder.constant(kI64, int64_t{lane}).ref(), ""));
}

Val pick_lanes(Val a, Val b, std::span<const int> mask) {
  Builder& builder = a.builder();
  if (mask.size() == 1) return extract(mask[0] < a.lanes() ? a : b, mask[0] % a.lanes());
  std::vector<LLVMValueRef> lanes;
  LLVMTypeRef i32 = builder.type(kI32, 1);
  for (const int lane : mask) {
    lanes.push_back(lane == kAnyLane ? LLVMGetUndef(i32)
                                     : LLVMConstInt(i32, static_cast<unsigned>(lane), 0));
  }
  LLVMValueRef vector = LLVMConstVector(lanes.data(), static_cast<unsigned>(lanes.size()));
  return builder.make(LLVMBuildShuffleVector(builder.ref(), a.ref(), b.ref(), vector, ""));
}
Val pick_lanes(Val a, std::span<const int> mask) {
  return pick_lanes(a, a.builder().undefined(a.elem(), a.lanes()), mask);
}

Val any_of(Val mask) {
  if (mask.lanes() == 1) return mask;
  return mask.builder().intrinsic("llvm.vector.reduce.or", mask);
}
Val all_of(Val mask) {
  if (mask.lanes() == 1) return mask;
  return mask.builder().intrinsic("llvm.vector.reduce.and", mask);
}

Val in_pieces(int width, std::span<const Val> args, const PieceFn& f) {
  const int lanes = args[0].lanes();
  std::vector<Val> results;
  for (int done = 0; done < lanes; done += width) {
    std::vector<Val> part;
    for (const Val& arg : args) part.push_back(lanes_from(arg, done, width));
    results.push_back(f(part));
  }
  return concatenate(results, lanes);
}

}  // namespace tw::cpu
