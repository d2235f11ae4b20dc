// Atomics (language 13): each combination of operation, type, order, scope and memory that a kernel
// uses becomes a function in front of it. What PTX lacks is a loop of compare and exchange.
#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"

namespace tw::cuda {
namespace {

using ir::AtomicOp;
using ir::MemoryOrder;
using ir::OpCode;

/// What PTX calls an operation on a type: "add.noftz.bf16"; empty where it has none.
std::string instruction(AtomicOp op, DType dtype) {
  const int bits = dtype.bits();
  if (dtype.is_bool() || bits < 16) return "";
  const std::string whole = format("b{}", bits);
  switch (op) {
    case AtomicOp::add:
      if (dtype == f16 || dtype == bf16) return "add.noftz." + to_text(dtype);
      if (dtype == f32 || dtype == f64) return "add." + to_text(dtype);
      return dtype.is_int() && bits >= 32 ? format("add.u{}", bits) : "";
    case AtomicOp::max:
    case AtomicOp::min:
      if (!dtype.is_int() || bits < 32) return "";
      return format("{}.{}{}", enum_name(op), dtype.is_signed_int() ? "s" : "u", bits);
    case AtomicOp::bit_and:
    case AtomicOp::bit_or:
    case AtomicOp::bit_xor:
      if (bits < 32) return "";
      return format("{}.{}", enum_name(op).substr(4), whole);
    case AtomicOp::exchange:
      return bits < 32 ? "" : "exch." + whole;
    case AtomicOp::compare_exchange:
      return "cas." + whole;
    default:
      return "";
  }
}

DType bits_type(DType dtype) { return dtype.bits() == 16 ? u16 : dtype.bits() == 32 ? u32 : u64; }

/// The letter of a register for inline PTX.
char register_letter(DType dtype) {
  if (dtype == f32) return 'f';
  if (dtype == f64) return 'd';
  return dtype.bits() == 16 ? 'h' : dtype.bits() == 32 ? 'r' : 'l';
}

/// Everything that distinguishes one function from another.
struct Form {
  AtomicOp op;
  DType dtype;
  MemoryOrder order;
  ir::AtomicScope scope;
  const char* space;  // ".shared", ".global"; "" for memory of another block
  bool wants_result;

  std::string name() const {
    std::string name = format("atomic_{}_{}", enum_name(op), to_text(dtype));
    if (order != MemoryOrder::relaxed) name += format("_{}", enum_name(order));
    if (scope != ir::AtomicScope::device) name += format("_{}", enum_name(scope));
    if (is_shared()) name += "_shared";
    if (*space == 0) name += "_peer";
    return wants_result || op == AtomicOp::store ? name : name + "_void";
  }
  bool is_shared() const { return std::string_view(space) == ".shared"; }
  std::string scope_text() const {
    return scope == ir::AtomicScope::block    ? "cta"
           : scope == ir::AtomicScope::device ? "gpu"
                                              : "sys";
  }
  /// ".acquire.gpu.shared", with the order as it may stand at this kind of access.
  std::string suffix() const {
    MemoryOrder o = order;
    if (o == MemoryOrder::seq_cst) {
      o = op == AtomicOp::load    ? MemoryOrder::acquire
          : op == AtomicOp::store ? MemoryOrder::release
                                  : MemoryOrder::acq_rel;
    }
    return format(".{}.{}{}", enum_name(o), scope_text(), space);
  }
  /// A sequentially consistent access is ordered by a fence in front of it.
  std::string fence() const {
    return order == MemoryOrder::seq_cst ? format("fence.sc.{}; ", scope_text()) : "";
  }
  std::string address() const {
    return is_shared() ? "\"r\"(static_cast<u32>(__cvta_generic_to_shared(p)))" : "\"l\"(p)";
  }
};

/// One instruction on registers of `type`; `type` is the dtype or that of its bits.
std::string asm_line(const Form& form, const std::string& mnemonic, DType type, int operands,
                     bool gives) {
  const char letter = register_letter(type);
  std::string places = gives ? "%0, [%1]" : "[%0]", inputs = form.address();
  const char* kNames[] = {"v", "w"};
  for (int i = 0; i < operands; ++i) {
    places += format(", %{}", i + (gives ? 2 : 1));
    inputs += format(", \"{}\"({})", letter, kNames[i]);
  }
  const std::string output = gives ? format(" \"={}\"(old)", letter) : "";
  return format(
      "  asm volatile(\"{}{} {};\"\n               :{}\n               : {}\n"
      "               : \"memory\");\n",
      form.fence(), mnemonic, places, output, inputs);
}

}  // namespace

void Emitter::atomic(const ir::Atomic& node) {
  const DType dtype = node.buffer.dtype();
  const ir::Buffer root = node.buffer.root();
  const bool moves = ir::only_reads(node.op) || node.op == AtomicOp::store;
  if (dtype.lanes > 1 || dtype.is_narrow_float() || (dtype.bits() < 16 && !moves)) {
    throw Error(codes::atom_01, node.loc, "atomic on {}: {} has no atomics on cuda",
                node.buffer.name(), dtype);
  }
  const bool shared =
      root.space() == ir::MemSpace::shared || root.space() == ir::MemSpace::shared_static;
  const char* space = node.buffer->peer ? "" : shared ? ".shared" : ".global";
  const Form form{node.op, dtype, node.order, node.scope, space, static_cast<bool>(node.result)};
  const std::string name = form.name(), type = memory_type(dtype);
  std::string& helper = (*helpers_)[name];
  if (helper.empty()) {
    const std::string own = instruction(node.op, dtype);
    // Registers hold 8 bits in 16, and all but f32 and f64 as their bits.
    const bool is_float = own.starts_with("add.f") && dtype != f16;
    const DType held = is_float ? dtype : dtype.bits() == 8 ? u16 : bits_type(dtype);
    const std::string held_type = to_text(held);
    const auto function = [&](const std::string& params, const std::string& body, bool gives) {
      return format("__device__ __forceinline__ {} {}({}* p{}) {{\n{}}}\n",
                    gives ? to_text(dtype) : "void", name, type, params, body);
    };
    const auto to_held = [&](const char* v) {
      const ir::Var var = ir::Var::make(v, dtype);
      vars_[var] = v;
      if (is_float || dtype == held) return std::string(v);
      if (dtype.bits() == 8) return as_type(held, {v}).s;
      return value(ir::op(OpCode::bitcast, held, {var})).s;
    };
    const auto from_held = [&](const char* v) {
      if (is_float || dtype == held) return std::string(v);
      if (dtype.bits() == 8) return as_type(dtype, {v}).s;
      const ir::Var var = ir::Var::make(v, held);
      vars_[var] = v;
      return value(ir::op(OpCode::bitcast, dtype, {var})).s;
    };
    const std::string declare = format("  {} old;\n", held_type);
    const std::string give = format("  return {};\n", from_held("old"));
    const std::string unit = dtype.bits() == 8 ? "u8" : format("b{}", dtype.bits());
    if (node.op == AtomicOp::load) {
      helper = function(
          "", declare + asm_line(form, "ld" + form.suffix() + "." + unit, held, 0, true) + give,
          true);
    } else if (ir::waits(node.op)) {
      const std::string load = asm_line(form, "ld" + form.suffix() + "." + unit, held, 0, true);
      const ir::Var seen = ir::Var::make("seen", dtype), x = ir::Var::make("x", dtype);
      vars_[seen] = "seen";
      vars_[x] = "x";
      const Text there = value(ir::op(ir::element_op(node.op).value(), bool_, {seen, x}));
      helper =
          function(format(", {} x", to_text(dtype)),
                   format("{}  for (;;) {{\n  {}    const {} seen = {};\n    if ({}) return{};\n"
                          "  }}\n",
                          declare, load, to_text(dtype), from_held("old"), there.s,
                          form.wants_result ? " seen" : ""),
                   form.wants_result);
    } else if (node.op == AtomicOp::store) {
      helper = function(format(", {} x", to_text(dtype)),
                        format("  const {} v = {};\n", held_type, to_held("x")) +
                            asm_line(form, "st" + form.suffix() + "." + unit, held, 1, false),
                        false);
    } else if (node.op == AtomicOp::compare_exchange) {
      helper = function(
          format(", {0} x, {0} y", to_text(dtype)),
          format("  const {0} v = {1}, w = {2};\n", held_type, to_held("x"), to_held("y")) +
              declare + asm_line(form, "atom" + form.suffix() + "." + own, held, 2, true) + give,
          true);
    } else if (!own.empty()) {
      // The form without result, red, acquires nothing.
      const bool gives = form.wants_result || node.op == AtomicOp::exchange ||
                         (node.order != MemoryOrder::relaxed && node.order != MemoryOrder::release);
      helper = function(
          format(", {} x", to_text(dtype)),
          format("  const {} v = {};\n", held_type, to_held("x")) + (gives ? declare : "") +
              asm_line(form, (gives ? "atom" : "red") + form.suffix() + "." + own, held, 1, gives) +
              (gives ? give : ""),
          gives);
    } else {
      // Computes the new value from the old one until nobody came between. A value that would not
      // change needs no exchange, unless the access orders others.
      const ir::Var seen = ir::Var::make("v", held), x = ir::Var::make("x", dtype);
      vars_[seen] = "v";
      vars_[x] = "x";
      const ir::Expr next = node.op == AtomicOp::exchange
                                ? ir::Expr(x)
                                : ir::op(ir::element_op(node.op).value(), dtype,
                                         {ir::op(OpCode::bitcast, dtype, {seen}), x});
      const Text bits = value(ir::op(OpCode::bitcast, held, {next}));
      std::string text =
          format("  {0} v, w, old = *(volatile {0}*)p;\n  do {{\n    v = old;\n", held_type);
      text += format("    w = {};\n", bits.s);
      if (node.order == MemoryOrder::relaxed) text += "    if (v == w) break;\n";
      text += "  " + asm_line(form,
                              "atom" + form.suffix() + "." +
                                  instruction(AtomicOp::compare_exchange, dtype),
                              held, 2, true);
      text += "  } while (old != v);\n";
      helper = function(format(", {} x", to_text(dtype)), text + (form.wants_result ? give : ""),
                        form.wants_result);
    }
  }
  std::vector<Text> args = {{pointer(place(node.buffer, node.indices))}};
  if (node.compare) args.push_back(value(node.compare));
  if (node.value) args.push_back(value(node.value));
  const Text done = call(name, args);
  if (!node.result) return line(done.s + ";");
  const std::string result = names_.make(node.result.name());
  line(format("const {} {} = {};", to_text(node.result.dtype()), result, done.s));
  vars_[node.result] = result;
}

/// Neighbors by one instruction: words of f32, or of two floats of 16 bits (PTX ISA, red, sm_90).
void Emitter::fold(const ir::Move& move) {
  const DType dtype = move.dst.dtype();
  const bool packed = dtype.bits() == 16;
  const int64_t words = packed ? move.count / 2 : move.count;
  const std::string name = format("atomic_add_{}_by_{}", to_text(dtype), move.count);
  std::string& helper = (*helpers_)[name];
  if (helper.empty()) {
    std::vector<std::string> places, inputs = {"\"l\"(p)"};
    for (int64_t i = 0; i < words; ++i) {
      places.push_back(format("%{}", i + 1));
      inputs.push_back(format("\"{}\"(v[{}])", packed ? 'r' : 'f', i));
    }
    helper = format(
        "__device__ __forceinline__ void {}({}* p, const {}* v) {{\n"
        "  asm volatile(\"red.relaxed.gpu.global.add.{}{}{} [%0], {};\"\n"
        "               :\n               : {}\n               : \"memory\");\n}}\n",
        name, memory_type(dtype), to_text(packed ? u32 : dtype), packed ? "noftz." : "",
        words > 1 ? format("v{}.", words) : "", packed ? to_text(dtype) + "x2" : "f32",
        words > 1 ? "{" + join(places, ", ") + "}" : places[0], join(inputs, ", "));
  }
  const std::string from = pointer(place(move.src, move.src_indices));
  const std::string value = packed ? format("(const u32*){}", from) : from;
  line(call(name, {{pointer(place(move.dst, move.dst_indices))}, {value}}).s + ";");
}

}  // namespace tw::cuda
