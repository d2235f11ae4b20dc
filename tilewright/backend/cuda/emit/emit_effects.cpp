// What threads do together or to the outside: barriers, operations of a warp, prints and asserts.
// Atomics are in emit_atomic.cpp.
#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"

namespace tw::cuda {
namespace {

using ir::WarpCode;

constexpr const char* kAllLanes = "0xffffffffu";

/// Whether CUDA exchanges values of the type as they are.
bool has_exchange(DType dtype) {
  return dtype == f32 || dtype == f64 || dtype.scalar == Scalar::tf32 ||
         (dtype.is_int() && dtype.bits() >= 32);
}

/// The bits of a value, as an unsigned integer of 32 or 64 bits.
Text exchanged_bits(DType dtype, const Text& v) {
  if (dtype == f64) return as_type(u64, call("__double_as_longlong", {v}));
  if (dtype == f32 || dtype.scalar == Scalar::tf32) return call("__float_as_uint", {v});
  if (dtype == u32 || dtype == u64) return v;
  return as_type(dtype.bits() == 64 ? u64 : u32, v);
}

Text shuffle(WarpCode code, DType dtype, const Text& v, const Text& lane, int64_t width) {
  const char* name = code == WarpCode::shfl       ? "__shfl_sync"
                     : code == WarpCode::shfl_xor ? "__shfl_xor_sync"
                     : code == WarpCode::shfl_up  ? "__shfl_up_sync"
                                                  : "__shfl_down_sync";
  std::vector<Text> args = {{kAllLanes}, has_exchange(dtype) ? v : as_type(u32, v), lane};
  if (width != 32) args.push_back({format("{}", width)});
  const Text moved = call(name, args);
  if (has_exchange(dtype)) return moved;
  return dtype.is_bool() ? infix(moved, " != ", {"0"}, kEqual) : as_type(dtype, moved);
}

/// How printf shows a value, and what it is given.
std::pair<std::string, std::string> shown(DType dtype, const Text& v) {
  if (dtype.is_bool()) return {"%s", format("{} ? \"true\" : \"false\"", v.in(kOr))};
  const bool is_wide = dtype.bits() == 64;
  if (dtype.is_signed_int()) return {is_wide ? "%lld" : "%d", v.s};
  if (dtype.is_int()) return {is_wide ? "%llu" : "%u", is_wide ? v.s : as_type(u32, v).s};
  return {dtype == f64 ? "%.17g" : "%.9g", as_type(f64, v).s};
}

/// A message as a part of a format of printf.
std::string escaped(std::string_view text) {
  std::string s;
  for (const char c : text) s += c == '%' ? "%%" : std::string(1, c);
  return s;
}

}  // namespace

void Emitter::barrier(const ir::Barrier& barrier) {
  const std::string reason = barrier.reason.empty() ? "" : "  // " + barrier.reason;
  if (barrier.fold != ir::BarrierFold::none) {
    const bool counts = barrier.fold == ir::BarrierFold::count;
    const char* name = counts                                 ? "__syncthreads_count"
                       : barrier.fold == ir::BarrierFold::all ? "__syncthreads_and"
                                                              : "__syncthreads_or";
    const Text cond = value(barrier.cond);
    const std::string result = names_.make(barrier.result.name());
    line(format("const {} {} = {}({}){};{}", counts ? "i32" : "bool", result, name, cond.s,
                counts ? "" : " != 0", reason));
    vars_[barrier.result] = result;
  } else if (barrier.id == 0) {
    line("__syncthreads();" + reason);
  } else {
    line(format("named_barrier{}<{}, {}>();{}", barrier.arrive_only ? "_arrive" : "", barrier.id,
                barrier.threads, reason));
  }
  if (const auto narrow = narrow_.find(&barrier); narrow != narrow_.end()) forget(narrow->second);
}

/// Only arrays that lie at multiples of 16 bytes.
void Emitter::forget(const std::vector<ir::Buffer>& arrays) {
  for (const ir::Buffer& array : arrays) {
    if (!moved_.contains(array)) continue;
    const std::string i = names_.make("i");
    int64_t elements = 1;
    for (size_t d = 0; d < array.shape().size(); ++d) elements *= array.extent(static_cast<int>(d));
    line("#pragma unroll");
    line(format("for (i64 {0} = 0; {0} < {1}; ++{0}) forget(((u32*){2})[{0}]);", i, elements / 2,
                name_of(array)));
  }
}

void Emitter::warp(const ir::WarpOp& warp) {
  if (warp.code == WarpCode::sync_warp) return line("__syncwarp();");
  const DType dtype = warp.args.empty() ? u32 : warp.args[0].dtype();
  const Text v = warp.args.empty() ? Text{} : value(warp.args[0]);
  const Text lane = warp.args.size() > 1 ? value(warp.args[1]) : Text{};
  const std::string result = names_.make(warp.result.name());
  const std::string head = format("const {} {} = ", to_text(warp.result.dtype()), result);
  const auto bind = [&](const Text& text) { line(head + text.s + ";"); };
  switch (warp.code) {
    case WarpCode::shfl:
    case WarpCode::shfl_up:
    case WarpCode::shfl_down:
      bind(shuffle(warp.code, dtype, v, lane, warp.width));
      break;
    case WarpCode::shfl_xor: {
      const Text moved = shuffle(warp.code, dtype, v, lane, warp.width);
      const auto distance = ir::as_int(warp.args[1]);
      const bool stays = warp.width == 32 || (distance && *distance < warp.width);
      // The hardware would take the value of another group.
      bind(stays ? moved
                 : Text{format("{} < {}u ? {} : {}", as_type(u32, lane).s, warp.width, moved.s,
                               v.s)});
      break;
    }
    case WarpCode::vote_any:
      bind(infix(call("__any_sync", {{kAllLanes}, v}), " != ", {"0"}, kEqual));
      break;
    case WarpCode::vote_all:
      bind(infix(call("__all_sync", {{kAllLanes}, v}), " != ", {"0"}, kEqual));
      break;
    case WarpCode::ballot:
      bind(call("__ballot_sync", {{kAllLanes}, v}));
      break;
    case WarpCode::active_mask:
      bind({"__activemask()"});
      break;
    case WarpCode::match_any:
      bind(call("__match_any_sync", {{kAllLanes}, exchanged_bits(dtype, v)}));
      break;
    case WarpCode::match_all: {
      const std::string same = names_.make("same");
      line(format("int {};", same));
      bind(call("__match_all_sync", {{kAllLanes}, exchanged_bits(dtype, v), {"&" + same}}));
      break;
    }
    default: {
      const std::string op(enum_name(warp.code).substr(7));  // reduce_
      const bool bits = warp.code >= WarpCode::reduce_and;
      if (warp.width == 32) {
        const Text own = bits && dtype == i32 ? as_type(u32, v) : v;
        const Text folded = call("__reduce_" + op + "_sync", {{kAllLanes}, own});
        bind(bits && dtype == i32 ? as_type(i32, folded) : folded);
        break;
      }
      // Instructions fold whole warps.
      const char* sign = op == "add" ? " + " : op == "and" ? " & " : op == "or" ? " | " : " ^ ";
      const Text own{result}, other = shuffle(WarpCode::shfl_xor, dtype, own, {"lanes"}, 32);
      const Text step =
          op == "min" || op == "max" ? call(op, {own, other}) : infix(own, sign, other, kSum);
      line(format("{} {} = {};", to_text(dtype), result, v.s));
      line("#pragma unroll");
      line(format("for (int lanes = {}; lanes > 0; lanes /= 2) {} = {};", warp.width / 2, result,
                  step.s));
    }
  }
  vars_[warp.result] = result;
}

/// One line of output: `head` is a format already.
void Emitter::print_line(const std::string& message, const std::vector<ir::Expr>& values,
                         const std::string& head) {
  std::string text = head, args;
  std::string_view rest = message;
  for (const ir::Expr& expr : values) {
    const DType dtype = expr.dtype();
    const bool is_real = dtype.is_float() && dtype != f64;
    const auto [hole, arg] = shown(dtype, is_real ? real(expr) : value(expr));
    const size_t at = rest.find("{}");
    text += escaped(rest.substr(0, at));
    if (at == rest.npos) {
      if (text != head) text += ' ';
      rest = {};
    } else {
      rest.remove_prefix(at + 2);
    }
    text += hole;
    args += ", " + arg;
  }
  text += escaped(rest);
  line(format("printf({}{});", quoted(text + "\n"), args));
}

void Emitter::print(const ir::Print& print) {
  if (!print.buffer) return print_line(print.message, print.values, "");
  if (!print.message.empty() || !print.values.empty()) {
    print_line(print.message, print.values, "");
  }
  // One line an element, with its indices.
  const ir::Buffer& buffer = print.buffer;
  std::vector<ir::Expr> values;
  std::vector<std::string> holes(static_cast<size_t>(buffer.rank()), "{}");
  for (int d = 0; d < buffer.rank(); ++d) {
    const ir::Var i = ir::Var::make("i", i64);
    values.push_back(i);
    vars_[i] = names_.make("i");
    const Text end = value(buffer.shape()[static_cast<size_t>(d)]);
    line("#pragma unroll 1");
    line(format("for (i64 {0} = 0; {0} < {1}; ++{0}) {{", vars_[i], end.in(kLess + 1)));
    ++indent_;
  }
  values.push_back(ir::load(buffer, values, true));
  print_line(
      format("{}{} = {{}}", buffer.name(), holes.empty() ? "" : "[" + join(holes, ", ") + "]"),
      values, "");
  for (int d = 0; d < buffer.rank(); ++d) {
    --indent_;
    line("}");
  }
}

/// The assertion of CUDA itself reports file, line, block and thread on stderr and gives the error
/// 710; values come before it.
void Emitter::check(const ir::Assert& check) {
  line(format("if (!({})) {{", value(check.cond).s));
  memo_.emplace_back();
  indented([&] {
    if (!check.values.empty()) print_line(check.message, check.values, "");
    const bool known = check.loc.known();
    line(format("__assertfail({}, {}, {}u, \"\", 1ull);", quoted(check.message),
                quoted(known ? check.loc.file : ""), known ? check.loc.line : 0));
  });
  memo_.pop_back();
  line("}");
}

}  // namespace tw::cuda
