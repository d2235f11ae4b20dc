#include "tilewright/backend/cpu/emit/builder.h"

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>

#include "tilewright/base/error.h"
#include "tilewright/base/format.h"

namespace tw::cpu {
namespace {

/// Where the attributes of a function as a whole go.
constexpr LLVMAttributeIndex kOfFunction = static_cast<unsigned>(LLVMAttributeFunctionIndex);

std::vector<LLVMValueRef> refs_of(std::span<const Val> values) {
  std::vector<LLVMValueRef> refs;
  for (const Val& v : values) refs.push_back(v.ref());
  return refs;
}

std::vector<LLVMTypeRef> types_of(std::span<const Val> values) {
  std::vector<LLVMTypeRef> types;
  for (const Val& v : values) types.push_back(LLVMTypeOf(v.ref()));
  return types;
}

LLVMMetadataRef metadata_string(LLVMContextRef context, const std::string& text) {
  return LLVMMDStringInContext2(context, text.data(), text.size());
}

void attach(LLVMContextRef context, LLVMValueRef instruction, const char* kind,
            LLVMMetadataRef node) {
  LLVMSetMetadata(instruction,
                  LLVMGetMDKindIDInContext(context, kind, static_cast<unsigned>(strlen(kind))),
                  LLVMMetadataAsValue(context, node));
}

LLVMAttributeRef attribute(LLVMContextRef context, const char* name, uint64_t value = 0) {
  return LLVMCreateEnumAttribute(context, LLVMGetEnumAttributeKindForName(name, strlen(name)),
                                 value);
}

LLVMAtomicOrdering ordering(Order order) {
  constexpr LLVMAtomicOrdering kOrders[] = {
      LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingAcquire, LLVMAtomicOrderingRelease,
      LLVMAtomicOrderingAcquireRelease, LLVMAtomicOrderingSequentiallyConsistent};
  return kOrders[static_cast<size_t>(order)];
}

}  // namespace

Builder::Builder(const std::string& module_name)
    : context_(LLVMContextCreate()),
      module_(LLVMModuleCreateWithNameInContext(module_name.c_str(), context_)),
      builder_(LLVMCreateBuilderInContext(context_)) {}

Builder::~Builder() {
  LLVMDisposeBuilder(builder_);
  LLVMDisposeModule(module_);
  LLVMContextDispose(context_);
}

std::string Builder::module_text() const {
  char* text = LLVMPrintModuleToString(module_);
  std::string result = text;
  LLVMDisposeMessage(text);
  return result;
}

LLVMTypeRef Builder::type(Elem elem, int lanes) const {
  LLVMTypeRef type = nullptr;
  if (elem.kind == Elem::pointer) {
    type = LLVMPointerTypeInContext(context_, 0);
  } else if (elem.kind == Elem::integer) {
    type = LLVMIntTypeInContext(context_, static_cast<unsigned>(elem.bits));
  } else if (elem == kBfloat) {
    type = LLVMBFloatTypeInContext(context_);
  } else if (elem == kHalf) {
    type = LLVMHalfTypeInContext(context_);
  } else {
    type = elem == kF32 ? LLVMFloatTypeInContext(context_) : LLVMDoubleTypeInContext(context_);
  }
  return lanes == 1 ? type : LLVMVectorType(type, static_cast<unsigned>(lanes));
}

// ---- constants ----

Val Builder::constant(Elem elem, int64_t value, int lanes) {
  if (elem.kind == Elem::floating) return constant(elem, static_cast<double>(value), lanes);
  LLVMTypeRef t = type(elem, 1);
  const Val scalar =
      make(elem.kind == Elem::pointer ? LLVMConstNull(t)
                                      : LLVMConstInt(t, static_cast<unsigned long long>(value), 1));
  return splat(scalar, lanes);
}
Val Builder::constant(Elem elem, double value, int lanes) {
  return splat(make(LLVMConstReal(type(elem, 1), value)), lanes);
}
Val Builder::constants(Elem elem, std::span<const int64_t> values) {
  std::vector<Val> lanes;
  for (const int64_t v : values) lanes.push_back(constant(elem, v));
  std::vector<LLVMValueRef> refs = refs_of(lanes);
  if (refs.size() == 1) return lanes[0];
  return make(LLVMConstVector(refs.data(), static_cast<unsigned>(refs.size())));
}
Val Builder::undefined(Elem elem, int lanes) { return make(LLVMGetPoison(type(elem, lanes))); }

// ---- functions and blocks ----

void Builder::begin_function(const std::string& name, Elem result, std::span<const Elem> params,
                             std::span<const std::string> names) {
  std::vector<LLVMTypeRef> types;
  for (const Elem param : params) types.push_back(type(param, 1));
  LLVMTypeRef function_type =
      LLVMFunctionType(type(result, 1), types.data(), static_cast<unsigned>(types.size()), 0);
  function_ = LLVMAddFunction(module_, name.c_str(), function_type);
  for (size_t i = 0; i < names.size(); ++i) {
    set_name(param(static_cast<int>(i)), names[i]);
  }
  LLVMAddAttributeAtIndex(function_, kOfFunction, attribute(context_, "nounwind"));
  for (const auto& [key, value] : target_attributes_) set_attribute(key, value);
  move_to(new_block("entry"));
}

void Builder::set_target_attributes(std::vector<std::pair<std::string, std::string>> attributes) {
  target_attributes_ = std::move(attributes);
}

Val Builder::param(int index) {
  return make(LLVMGetParam(function_, static_cast<unsigned>(index)));
}

void Builder::set_attribute(const std::string& name, const std::string& value) {
  LLVMAddAttributeAtIndex(
      function_, kOfFunction,
      LLVMCreateStringAttribute(context_, name.data(), static_cast<unsigned>(name.size()),
                                value.data(), static_cast<unsigned>(value.size())));
}

void Builder::mark_readonly_noalias(int param) {
  for (const char* name : {"noalias", "readonly"}) {
    LLVMAddAttributeAtIndex(function_, static_cast<unsigned>(param + 1), attribute(context_, name));
  }
}

Block Builder::new_block(const std::string& name) {
  return Block(LLVMAppendBasicBlockInContext(context_, function_, name.c_str()));
}
Block Builder::here() const { return Block(LLVMGetInsertBlock(builder_)); }
void Builder::move_to(Block block) { LLVMPositionBuilderAtEnd(builder_, block.ref()); }
bool Builder::is_terminated() const {
  return LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(builder_)) != nullptr;
}
void Builder::branch(Block to) { LLVMBuildBr(builder_, to.ref()); }
void Builder::branch(Val cond, Block if_true, Block if_false) {
  LLVMBuildCondBr(builder_, cond.ref(), if_true.ref(), if_false.ref());
}
void Builder::ret(Val value) { LLVMBuildRet(builder_, value.ref()); }

Val Builder::phi(Elem elem, int lanes, const std::string& name) {
  return make(LLVMBuildPhi(builder_, type(elem, lanes), name.c_str()));
}
void Builder::add_incoming(Val phi, Val value, Block from) {
  LLVMValueRef v = value.ref();
  LLVMBasicBlockRef block = from.ref();
  LLVMAddIncoming(phi.ref(), &v, &block, 1);
}

Val Builder::stack_slot(Elem elem, int64_t count, int64_t align, const std::string& name) {
  LLVMBasicBlockRef back = LLVMGetInsertBlock(builder_);
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function_);
  if (LLVMValueRef first = LLVMGetFirstInstruction(entry)) {
    LLVMPositionBuilderBefore(builder_, first);
  } else {
    LLVMPositionBuilderAtEnd(builder_, entry);
  }
  LLVMTypeRef array = LLVMArrayType2(type(elem, 1), static_cast<uint64_t>(count));
  LLVMValueRef slot = LLVMBuildAlloca(builder_, array, name.c_str());
  LLVMSetAlignment(slot, static_cast<unsigned>(align));
  LLVMPositionBuilderAtEnd(builder_, back);
  return make(slot);
}

// ---- memory ----

Val Builder::offset(Val pointer, Operand bytes) {
  LLVMValueRef index = (bytes.val ? bytes.val : constant(kI64, bytes.literal)).ref();
  return make(LLVMBuildGEP2(builder_, type(kI8, 1), pointer.ref(), &index, 1, ""));
}

Val Builder::finish_access(LLVMValueRef instruction, const Access& access, bool plain) {
  if (plain) LLVMSetAlignment(instruction, static_cast<unsigned>(access.align));
  if (access.alias_class != nullptr) {
    LLVMMetadataRef offset = LLVMValueAsMetadata(constant(kI64, int64_t{0}).ref());
    LLVMMetadataRef tag[] = {access.alias_class, access.alias_class, offset};
    attach(context_, instruction, "tbaa", LLVMMDNodeInContext2(context_, tag, 3));
  }
  if (access.invariant) {
    attach(context_, instruction, "invariant.load", LLVMMDNodeInContext2(context_, nullptr, 0));
  }
  if (access.streaming) {
    LLVMMetadataRef one = LLVMValueAsMetadata(constant(kI32, int64_t{1}).ref());
    attach(context_, instruction, "nontemporal", LLVMMDNodeInContext2(context_, &one, 1));
  }
  return make(instruction);
}

Val Builder::load(Val pointer, Elem elem, int lanes, const Access& access) {
  return finish_access(LLVMBuildLoad2(builder_, type(elem, lanes), pointer.ref(), ""), access,
                       true);
}
void Builder::store(Val pointer, Val value, const Access& access) {
  finish_access(LLVMBuildStore(builder_, value.ref(), pointer.ref()), access, true);
}

namespace {

/// One half of a vector's lanes: 0 the lower, 1 the upper.
Val half_of(Val v, int half) {
  std::vector<int> lanes(static_cast<size_t>(v.lanes() / 2));
  std::iota(lanes.begin(), lanes.end(), half * v.lanes() / 2);
  return pick_lanes(v, lanes);
}
Val joined(Val low, Val high) {
  std::vector<int> lanes(static_cast<size_t>(2 * low.lanes()));
  std::iota(lanes.begin(), lanes.end(), 0);
  return pick_lanes(low, high, lanes);
}
Access of_half(const Access& access, int64_t bytes) {
  Access half = access;
  half.align = std::gcd(access.align, bytes);
  return half;
}

}  // namespace

bool Builder::splits_mask(Val value) const {
  return mask_bits_ != 0 && value.lanes() * value.bits() > mask_bits_ && value.lanes() % 2 == 0;
}
Val Builder::masked_load(Val pointer, Val mask, Val otherwise, const Access& access) {
  if (splits_mask(otherwise)) {
    const int64_t bytes = int64_t{otherwise.lanes()} * otherwise.bits() / 16;
    const Val low = masked_load(pointer, half_of(mask, 0), half_of(otherwise, 0), access);
    return joined(low, masked_load(offset(pointer, bytes), half_of(mask, 1), half_of(otherwise, 1),
                                   of_half(access, bytes)));
  }
  const Val types[] = {otherwise, pointer};
  const Val args[] = {pointer, constant(kI32, access.align), mask, otherwise};
  return finish_access(intrinsic("llvm.masked.load", types, args).ref(), access, false);
}
void Builder::masked_store(Val pointer, Val mask, Val value, const Access& access) {
  if (splits_mask(value)) {
    const int64_t bytes = int64_t{value.lanes()} * value.bits() / 16;
    masked_store(pointer, half_of(mask, 0), half_of(value, 0), access);
    return masked_store(offset(pointer, bytes), half_of(mask, 1), half_of(value, 1),
                        of_half(access, bytes));
  }
  const Val types[] = {value, pointer};
  const Val args[] = {value, pointer, constant(kI32, access.align), mask};
  finish_access(intrinsic("llvm.masked.store", types, args).ref(), access, false);
}
Val Builder::gather(Val pointers, Val mask, Val otherwise, const Access& access) {
  const Val types[] = {otherwise, pointers};
  const Val args[] = {pointers, constant(kI32, access.align), mask, otherwise};
  return finish_access(intrinsic("llvm.masked.gather", types, args).ref(), access, false);
}
void Builder::scatter(Val pointers, Val mask, Val value, const Access& access) {
  const Val types[] = {value, pointers};
  const Val args[] = {value, pointers, constant(kI32, access.align), mask};
  finish_access(intrinsic("llvm.masked.scatter", types, args).ref(), access, false);
}

LLVMMetadataRef Builder::alias_class(const std::string& name) {
  if (alias_root_ == nullptr) {
    LLVMMetadataRef root = metadata_string(context_, "tilewright memory");
    alias_root_ = LLVMMDNodeInContext2(context_, &root, 1);
  }
  LLVMMetadataRef fields[] = {metadata_string(context_, format("{} #{}", name, ++alias_classes_)),
                              alias_root_, LLVMValueAsMetadata(constant(kI64, int64_t{0}).ref())};
  return LLVMMDNodeInContext2(context_, fields, 3);
}

Val Builder::atomic_load(Val pointer, Elem elem, Order order) {
  LLVMValueRef instruction = LLVMBuildLoad2(builder_, type(elem, 1), pointer.ref(), "");
  LLVMSetAlignment(instruction, static_cast<unsigned>(elem.bits / 8));
  LLVMSetOrdering(instruction, ordering(order));
  return make(instruction);
}
void Builder::atomic_store(Val pointer, Val value, Order order) {
  LLVMValueRef instruction = LLVMBuildStore(builder_, value.ref(), pointer.ref());
  LLVMSetAlignment(instruction, static_cast<unsigned>(value.bits() / 8));
  LLVMSetOrdering(instruction, ordering(order));
}
Val Builder::atomic_rmw(Rmw op, Val pointer, Val value, Order order) {
  constexpr LLVMAtomicRMWBinOp kOps[] = {
      LLVMAtomicRMWBinOpAdd,  LLVMAtomicRMWBinOpMin,  LLVMAtomicRMWBinOpMax,
      LLVMAtomicRMWBinOpUMin, LLVMAtomicRMWBinOpUMax, LLVMAtomicRMWBinOpAnd,
      LLVMAtomicRMWBinOpOr,   LLVMAtomicRMWBinOpXor,  LLVMAtomicRMWBinOpXchg,
      LLVMAtomicRMWBinOpFAdd, LLVMAtomicRMWBinOpFMin, LLVMAtomicRMWBinOpFMax};
  return make(LLVMBuildAtomicRMW(builder_, kOps[static_cast<size_t>(op)], pointer.ref(),
                                 value.ref(), ordering(order), 0));
}
Val Builder::compare_exchange(Val pointer, Val expected, Val desired, Order order, Val* success) {
  const Order failure = order == Order::acq_rel   ? Order::acquire
                        : order == Order::release ? Order::relaxed
                                                  : order;
  LLVMValueRef pair = LLVMBuildAtomicCmpXchg(builder_, pointer.ref(), expected.ref(), desired.ref(),
                                             ordering(order), ordering(failure), 0);
  if (success != nullptr) *success = make(LLVMBuildExtractValue(builder_, pair, 1, ""));
  return make(LLVMBuildExtractValue(builder_, pair, 0, ""));
}

// ---- calls ----

Val Builder::intrinsic(const char* name, std::span<const Val> overloads,
                       std::span<const Val> args) {
  const unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  TW_CHECK(id != 0, "LLVM has no intrinsic {}", name);
  std::vector<LLVMTypeRef> types = types_of(overloads);
  std::vector<LLVMValueRef> refs = refs_of(args);
  LLVMTypeRef type = LLVMIntrinsicGetType(context_, id, types.data(), types.size());
  LLVMValueRef function = LLVMGetIntrinsicDeclaration(module_, id, types.data(), types.size());
  return flagged(LLVMBuildCall2(builder_, type, function, refs.data(),
                                static_cast<unsigned>(refs.size()), ""));
}

Val Builder::call(const std::string& name, Elem result, int lanes, std::span<const Val> args,
                  bool pure) {
  std::vector<LLVMTypeRef> types = types_of(args);
  std::vector<LLVMValueRef> refs = refs_of(args);
  LLVMTypeRef function_type =
      LLVMFunctionType(type(result, lanes), types.data(), static_cast<unsigned>(types.size()), 0);
  LLVMValueRef function = LLVMGetNamedFunction(module_, name.c_str());
  if (function == nullptr) {
    function = LLVMAddFunction(module_, name.c_str(), function_type);
    LLVMAddAttributeAtIndex(function, kOfFunction, attribute(context_, "nounwind"));
    if (pure) {
      for (const char* fact : {"willreturn", "memory"}) {  // memory(none) is the value 0
        LLVMAddAttributeAtIndex(function, kOfFunction, attribute(context_, fact));
      }
    }
  }
  return make(LLVMBuildCall2(builder_, function_type, function, refs.data(),
                             static_cast<unsigned>(refs.size()), ""));
}

void Builder::call_pointer(Val pointer, std::span<const Val> args) {
  std::vector<LLVMTypeRef> types = types_of(args);
  std::vector<LLVMValueRef> refs = refs_of(args);
  LLVMTypeRef function_type = LLVMFunctionType(LLVMVoidTypeInContext(context_), types.data(),
                                               static_cast<unsigned>(types.size()), 0);
  LLVMBuildCall2(builder_, function_type, pointer.ref(), refs.data(),
                 static_cast<unsigned>(refs.size()), "");
}

Val Builder::helper(const std::string& name, std::span<const Val> args,
                    const std::function<Val(Builder&, std::span<const Val>)>& body) {
  std::vector<LLVMTypeRef> types = types_of(args);
  LLVMTypeRef function_type =
      LLVMFunctionType(types[0], types.data(), static_cast<unsigned>(types.size()), 0);
  LLVMValueRef function = LLVMGetNamedFunction(module_, name.c_str());
  if (function == nullptr) {
    function = LLVMAddFunction(module_, name.c_str(), function_type);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    LLVMValueRef caller = std::exchange(function_, function);
    const Block back = here();
    for (const char* fact : {"nounwind", "noinline", "strictfp"}) {
      LLVMAddAttributeAtIndex(function, kOfFunction, attribute(context_, fact));
    }
    for (const auto& [key, value] : target_attributes_) set_attribute(key, value);
    move_to(new_block("entry"));
    std::vector<Val> params;
    for (size_t i = 0; i < args.size(); ++i) params.push_back(param(static_cast<int>(i)));
    ret(body(*this, params));
    function_ = caller;
    move_to(back);
  }
  std::vector<LLVMValueRef> refs = refs_of(args);
  return make(LLVMBuildCall2(builder_, function_type, function, refs.data(),
                             static_cast<unsigned>(refs.size()), ""));
}

void Builder::set_rounding(int64_t mode) {
  const Val arg = constant(kI32, mode);
  mark_strict(plain_intrinsic("llvm.set.rounding", {&arg, 1}));
}

Val Builder::constrained(const char* name, std::span<const Val> args) {
  std::vector<Val> all(args.begin(), args.end());
  for (const char* text : {"round.dynamic", "fpexcept.strict"}) {
    all.push_back(make(LLVMMetadataAsValue(context_, metadata_string(context_, text))));
  }
  return mark_strict(intrinsic(name, args.first(1), all));
}

Val Builder::mark_strict(Val call) {
  LLVMAddCallSiteAttribute(call.ref(), kOfFunction, attribute(context_, "strictfp"));
  return call;
}

void Builder::set_name(Val value, const std::string& name) {
  size_t length = 0;
  LLVMGetValueName2(value.ref(), &length);
  if (length == 0) LLVMSetValueName2(value.ref(), name.data(), name.size());
}

Val Builder::flagged(LLVMValueRef ref) {
  if (LLVMIsAInstruction(ref) != nullptr && LLVMCanValueUseFastMathFlags(ref)) {
    LLVMFastMathFlags bits = LLVMFastMathNone;
    if (flags.contract) bits |= LLVMFastMathAllowContract;
    if (bits != LLVMFastMathNone) LLVMSetFastMathFlags(ref, bits);
  }
  return make(ref);
}

}  // namespace tw::cpu
