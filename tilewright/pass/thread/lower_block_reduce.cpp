// Reductions over a block: slots of a thread first, then lanes of its warp by shuffles (integers of
// a whole warp by an instruction or two), then warps through shared memory. The order is fixed, so
// repeated runs give the same bits.
#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

#include "tilewright/ir/build.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/pass/lower_tile_ops.h"
#include "tilewright/pass/thread/index_layout.h"
#include "tilewright/pass/thread/lower_threads.h"

namespace tw::pass {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Var;
using layout::Fragment;
using layout::Layout;

/// A digit of the thread's number: (thread / stride) % extent.
struct Digit {
  int64_t stride, extent;
  bool folded;  // threads that differ in it hold parts of one sum
};

/// The digits of the threads of a fragment, ascending; those that come from `dims` are folded.
std::vector<Digit> digits_of(const Fragment& src, const std::vector<int64_t>& dims,
                             int64_t threads) {
  std::vector<Digit> digits;
  for (const layout::Term& term : src.map().terms()) {
    if (term.out != kThread) continue;
    TW_CHECK(term.sources.size() == 1, "a reduction of {}, whose threads are mixed", src);
    const bool folded = std::find(dims.begin(), dims.end(), term.sources[0].dim) != dims.end();
    digits.push_back({term.stride, term.extent, folded});
  }
  std::sort(digits.begin(), digits.end(),
            [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
  int64_t covered = 1;
  for (const Digit& d : digits) {
    TW_CHECK(d.stride == covered, "a reduction of {}, whose threads leave gaps", src);
    covered *= d.extent;
  }
  TW_CHECK(covered == threads, "a reduction of {} in a block of {} threads", src, threads);
  return digits;
}

/// Folded digits, split into the part inside a warp and the rest. A block whose last warp is not
/// full has no shuffles.
struct Exchange {
  std::vector<Digit> lanes, warps;
};
Exchange exchange_of(const std::vector<Digit>& digits, int64_t threads) {
  Exchange result;
  for (const Digit& d : digits) {
    if (!d.folded || d.extent == 1) continue;
    const int64_t inside = lanes_of(d.stride, d.extent, threads);
    if (inside > 1) result.lanes.push_back({d.stride, inside, true});
    if (inside < d.extent) {
      result.warps.push_back({d.stride * inside, d.extent / inside, true});
    }
  }
  return result;
}

/// The instruction that folds a value over the whole warp, if there is one.
std::optional<ir::WarpCode> whole_warp(ir::ReduceKind kind, DType dtype,
                                       const std::vector<Digit>& lanes) {
  int64_t folded = 1;
  for (const Digit& d : lanes) folded *= d.extent;
  if (folded != kWarp || (dtype != i32 && dtype != u32)) return {};
  switch (kind) {
    case ir::ReduceKind::sum:
      return ir::WarpCode::reduce_add;
    case ir::ReduceKind::min:
      return ir::WarpCode::reduce_min;
    case ir::ReduceKind::max:
      return ir::WarpCode::reduce_max;
    case ir::ReduceKind::bit_and:
      return ir::WarpCode::reduce_and;
    case ir::ReduceKind::bit_or:
      return ir::WarpCode::reduce_or;
    case ir::ReduceKind::bit_xor:
      return ir::WarpCode::reduce_xor;
    default:
      return {};
  }
}

/// The instruction that does it for the halves of a wide integer one after the other.
std::optional<ir::WarpCode> in_two(ir::ReduceKind kind, DType dtype,
                                   const std::vector<Digit>& lanes) {
  const bool is_extremum = kind == ir::ReduceKind::max || kind == ir::ReduceKind::min;
  if (!is_extremum || (dtype != i64 && dtype != u64)) return {};
  return whole_warp(kind, i32, lanes);
}

Exchange exchange_of(const PartialFold& fold, int64_t threads) {
  return exchange_of(
      fold.src ? digits_of(*fold.src, fold.dims, threads) : std::vector<Digit>{{1, threads, true}},
      threads);
}

/// Folds values of an array over threads.
class Combine {
 public:
  Combine(const PartialFold& fold, const Var& thread, int64_t threads)
      : kind_(fold.kind),
        propagate_nan_(fold.propagate_nan),
        values_(fold.values),
        count_(fold.count),
        exchange_(exchange_of(fold, threads)),
        thread_(thread),
        threads_(threads) {}

  void over_lanes(std::vector<Stmt>& stmts) const {
    if (exchange_.lanes.empty()) return;
    stmts.push_back(each([&](const Expr& i) { return over_lanes_of(exchange_.lanes, i); }));
  }
  bool crosses_warps() const { return !exchange_.warps.empty(); }

 private:
  Expr step(const Expr& a, const Expr& b) const { return fold_step(kind_, propagate_nan_, a, b); }

  template <class Body>
  Stmt each(const Body& body) const {
    if (count_ == 1) return body(ir::index(0));
    const Var i = Var::make("i", i64);
    return ir::for_(i, ir::index(0), ir::index(count_), body(i), ir::LoopKind::unrolled);
  }

  Stmt over_lanes_of(const std::vector<Digit>& lanes, const Expr& i) const {
    if (const auto code = whole_warp(kind_, values_.dtype(), lanes)) {
      std::vector<Stmt> stmts;
      const Var total = in_one(*code, ir::load(values_, {i}, true), "total", stmts);
      stmts.push_back(ir::store(values_, {i}, total, true));
      return ir::seq(std::move(stmts));
    }
    if (const auto code = in_two(kind_, values_.dtype(), lanes)) return in_halves(*code, i);
    std::vector<Stmt> stmts;
    for (auto d = lanes.rbegin(); d != lanes.rend(); ++d) {
      for (int64_t distance = d->stride * d->extent / 2; distance >= d->stride; distance /= 2) {
        const Expr own = ir::load(values_, {i}, true);
        const bool logical = own.dtype().is_bool();
        const DType dtype = logical ? i32 : own.dtype();
        const Var other = Var::make("other", dtype);
        stmts.push_back(ir::make<ir::WarpOp>({}, [&](ir::WarpOp& n) {
          n.code = ir::WarpCode::shfl_xor;
          n.args = {ir::cast(dtype, own), ir::int_const(i32, distance)};
          n.result = other;
        }));
        stmts.push_back(ir::store(values_, {i}, step(own, ir::cast(own.dtype(), other)), true));
      }
    }
    return ir::seq(std::move(stmts));
  }

  /// What one instruction of the warp makes of a value of each lane.
  static Var in_one(ir::WarpCode code, const Expr& value, const char* name,
                    std::vector<Stmt>& stmts) {
    const Var result = Var::make(name, value.dtype());
    stmts.push_back(ir::make<ir::WarpOp>({}, [&](ir::WarpOp& n) {
      n.code = code;
      n.args = {value};
      n.result = result;
    }));
    return result;
  }
  /// The extremum of the high halves, then that of the low halves beside it.
  Stmt in_halves(ir::WarpCode code, const Expr& i) const {
    const DType dtype = values_.dtype();
    const Expr value = ir::load(values_, {i}, true);
    const Expr shift = ir::int_const(dtype, 32);
    const Expr high =
        ir::cast(dtype == i64 ? i32 : u32, ir::op(ir::OpCode::shr, dtype, {value, shift}));
    std::vector<Stmt> stmts;
    const Var top = in_one(code, high, "high", stmts);
    const Expr low = ir::select(ir::eq(high, top), ir::cast(u32, value),
                                ir::int_const(u32, kind_ == ir::ReduceKind::max ? 0 : UINT32_MAX));
    const Var rest = in_one(code, low, "low", stmts);
    stmts.push_back(ir::store(values_, {i},
                              ir::op(ir::OpCode::bit_or, dtype,
                                     {ir::op(ir::OpCode::shl, dtype, {ir::cast(dtype, top), shift}),
                                      ir::cast(dtype, rest)}),
                              true));
    return ir::seq(std::move(stmts));
  }

  /// (thread / stride) % extent.
  Expr digit(int64_t stride, int64_t extent) const {
    const Expr quotient = ir::floordiv(thread_, ir::index(stride));
    return stride * extent < threads_ ? ir::floormod(quotient, ir::index(extent)) : quotient;
  }

  /// The places of parts: one for each thread but for those that lanes folded already.
  struct Places {
    int64_t count;
    Expr own, first;      // that of the thread's part, and the first of its fold's
    Expr representative;  // whether this thread writes; null: all do
  };
  Places places() const {
    std::vector<Digit> folded = exchange_.lanes;
    std::sort(folded.begin(), folded.end(),
              [](const Digit& a, const Digit& b) { return a.stride < b.stride; });
    Places result{threads_, ir::index(0), {}, {}};
    for (const Digit& d : folded) result.count /= d.extent;
    int64_t from = 1;
    const auto gap = [&](int64_t until) {
      if (until > from) {
        result.own =
            ir::add(result.own, ir::mul(digit(from, until / from), ir::index(squeezed(from))));
      }
      from = until;
    };
    for (const Digit& d : folded) {
      gap(d.stride);
      const Expr zero = ir::eq(digit(d.stride, d.extent), ir::index(0));
      result.representative = result.representative ? ir::land(result.representative, zero) : zero;
      from = d.stride * d.extent;
    }
    gap(threads_);
    // The first place of the fold has the digits of the warps at 0.
    result.first = result.own;
    for (const Digit& d : exchange_.warps) {
      result.first =
          ir::sub(result.first, ir::mul(digit(d.stride, d.extent), ir::index(squeezed(d.stride))));
    }
    return result;
  }
  /// A stride in the thread's number without the digits that lanes folded.
  int64_t squeezed(int64_t stride) const {
    int64_t rest = stride;
    for (const Digit& d : exchange_.lanes) {
      if (d.stride < stride) rest /= d.extent;
    }
    return rest;
  }
  static Expr at(const Places& p, const Expr& i, const Expr& place) {
    return ir::add(ir::mul(i, ir::index(p.count)), place);
  }

 public:
  Buffer allocate(std::vector<Stmt>& stmts) const {
    const Buffer parts = ir::make_buffer("parts", values_.dtype(), ir::MemSpace::shared,
                                         std::vector<int64_t>{count_ * places().count});
    stmts.push_back(ir::alloc(parts));
    return parts;
  }
  Stmt write(const Buffer& parts) const {
    const Places p = places();
    const Stmt stores = each([&](const Expr& i) {
      return ir::store(parts, {at(p, i, p.own)}, ir::load(values_, {i}, true), true);
    });
    return p.representative ? ir::if_(p.representative, stores) : stores;
  }
  /// Every thread folds all parts that belong to its own.
  void fold(const Buffer& parts, std::vector<Stmt>& stmts) const {
    const Places places = this->places();
    const Var own = Var::make("own", i64);
    stmts.push_back(ir::let(own, places.first));
    stmts.push_back(each([&](const Expr& i) {
      // Digits of the warps from the slowest to the fastest, as loops.
      std::vector<std::pair<Var, const Digit*>> loops;
      Expr p = own;
      for (auto d = exchange_.warps.rbegin(); d != exchange_.warps.rend(); ++d) {
        const Var w = Var::make("w", i64);
        loops.emplace_back(w, &*d);
        p = ir::add(p, ir::mul(w, ir::index(squeezed(d->stride))));
      }
      Stmt fold = ir::store(
          values_, {i},
          step(ir::load(values_, {i}, true), ir::load(parts, {at(places, i, p)}, true)), true);
      for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
        fold = ir::for_(loop->first, ir::index(0), ir::index(loop->second->extent), fold,
                        ir::LoopKind::unrolled);
      }
      return ir::seq(
          {ir::store(values_, {i}, reduce_identity(kind_, values_.dtype()), true), fold});
    }));
  }

 private:
  ir::ReduceKind kind_;
  bool propagate_nan_;
  Buffer values_;
  int64_t count_;
  Exchange exchange_;
  Var thread_;
  int64_t threads_;
};

}  // namespace

Expr fold_step(ir::ReduceKind kind, bool propagate_nan, const Expr& a, const Expr& b) {
  const Expr step = reduce_step(kind, propagate_nan, a, b);
  const auto& op = step.as<ir::Op>();
  const bool is_extremum = op.code == ir::OpCode::min || op.code == ir::OpCode::max ||
                           op.code == ir::OpCode::min_nan || op.code == ir::OpCode::max_nan;
  if (!is_extremum || !op.dtype.is_float()) return step;
  return ir::make<ir::Op>(step.loc(), [&](ir::Op& n) {
    n = op;
    n.exactness = ir::Exactness::fast;
  });
}

int64_t lanes_of(int64_t stride, int64_t extent, int64_t threads) {
  const bool are_bits = stride < kWarp && std::has_single_bit(static_cast<uint64_t>(stride));
  return threads % kWarp == 0 && are_bits ? std::gcd(extent, kWarp / stride) : 1;
}

bool crosses_warps(const Fragment& src, const std::vector<int64_t>& dims, int64_t threads) {
  return !exchange_of(digits_of(src, dims, threads), threads).warps.empty();
}

std::string exchange_text(const Fragment& src, const std::vector<int64_t>& dims, int64_t threads,
                          ir::ReduceKind kind, DType dtype) {
  const Exchange exchange = exchange_of(digits_of(src, dims, threads), threads);
  int64_t lanes = 1, parts = 1;
  for (const Digit& d : exchange.lanes) lanes *= d.extent;
  for (const Digit& d : exchange.warps) parts *= d.extent;
  std::string text;
  if (lanes > 1) {
    text = whole_warp(kind, dtype, exchange.lanes) ? "one instruction of the warp"
           : in_two(kind, dtype, exchange.lanes)   ? "two instructions of the warp"
                                                   : format("shuffles over {} lanes", lanes);
  }
  if (parts > 1) {
    text += format("{}{} parts through shared memory", text.empty() ? "" : ", ", parts);
  }
  return text.empty() ? "no exchange" : text;
}

bool crosses_warps(int64_t threads) {
  return !exchange_of({{1, threads, true}}, threads).warps.empty();
}

PartialFold partial_fold(const ir::Reduce& n, const Registers& src, const Registers& dst) {
  return {n.reduce, n.propagate_nan, dst.array, dst.fragment.slots(), src.fragment, n.dims, n.loc};
}

Stmt exchange_parts(const std::vector<PartialFold>& folds, const Var& thread, int64_t threads,
                    bool in_loop) {
  std::vector<Stmt> stmts;
  std::vector<Combine> through_shared;
  for (const PartialFold& fold : folds) {
    Combine combine(fold, thread, threads);
    combine.over_lanes(stmts);
    if (combine.crosses_warps()) through_shared.push_back(std::move(combine));
  }
  std::vector<Buffer> parts;
  for (const Combine& combine : through_shared) parts.push_back(combine.allocate(stmts));
  const bool crosses = !through_shared.empty();
  if (crosses && in_loop) stmts.push_back(ir::barrier({}, "parts of the turn before are read"));
  for (size_t i = 0; i < parts.size(); ++i) stmts.push_back(through_shared[i].write(parts[i]));
  if (crosses) stmts.push_back(ir::barrier({}, "parts of a sum are written before they are read"));
  for (size_t i = 0; i < parts.size(); ++i) through_shared[i].fold(parts[i], stmts);
  return ir::make<ir::Seq>(folds.back().loc, [&](ir::Seq& q) { q.stmts = std::move(stmts); });
}

namespace {

/// Whether instructions fold two pairs at once.
bool has_pairs(ir::ReduceKind kind, DType dtype) {
  return ir::is_extremum(kind) && (dtype == f16 || dtype == bf16);
}

/// Whether slots 2i and 2i + 1 have the same place, for all i; more than one pair has it.
bool are_neighbors(const Layout& place, int64_t slots) {
  if (slots % 2 != 0 || slots < 4) return false;
  for (int64_t s = 0; s < slots; s += 2) {
    if (place.apply({0, s})[kSlot] != place.apply({0, s + 1})[kSlot]) return false;
  }
  return true;
}

}  // namespace

Stmt fold_own_part(const ir::Reduce& n, const Registers& src, const Registers& dst,
                   const Var& thread) {
  const Buffer& sums = dst.array;
  const DType dtype = sums.dtype();
  const auto step = [&](const Expr& a, const Expr& b) {
    return fold_step(n.reduce, n.propagate_nan, a, b);
  };
  const auto inverse = layout::inverse(src.fragment.map());
  TW_CHECK(inverse.has_value(), "{} has no inverse", src.fragment);
  std::vector<layout::Term> terms;  // element of src -> element of dst, replica 0
  layout::Coords to = dst.fragment.map().shape();
  for (int d = 0; d < src.fragment.rank(); ++d) {
    const int64_t extent = to[static_cast<size_t>(d)];
    if (extent > 1) terms.push_back({{{d, 1}}, extent, d, 1});
  }
  const auto element =
      layout::compose(inverse->layout, Layout(src.fragment.map().shape(), std::move(terms), to));
  const auto place = element ? layout::compose(*element, dst.fragment.map()) : std::nullopt;
  TW_CHECK(place.has_value(), "no slots of {} in {}", src.fragment, dst.fragment);

  const Var i = Var::make("i", i64), s = Var::make("s", i64);
  const int64_t slots = src.fragment.slots(), results = dst.fragment.slots();
  // Several sums side by side, where there are many terms: additions wait for one another.
  const int64_t terms_per_sum = slots / results;
  int64_t sides = terms_per_sum % 4 == 0 && terms_per_sum >= 16 && results == 1 ? 4 : 1;
  if (sides == 1 && has_pairs(n.reduce, dtype) && are_neighbors(*place, slots)) sides = 2;
  const Buffer parts = sides == 1 ? sums
                                  : ir::make_buffer(sums.name(), dtype, ir::MemSpace::local,
                                                    std::vector<int64_t>{results * sides});
  const Expr slot = slots == 1 ? ir::index(0) : Expr(s);
  const std::vector<Expr> x{thread, slot};
  const Expr result = results == 1 ? ir::index(0) : coordinate(*place, kSlot, x);
  const Expr to_slot =
      sides == 1 ? result
                 : ir::add(ir::mul(result, ir::index(sides)), ir::floormod(slot, ir::index(sides)));
  Stmt fold = ir::store(parts, {to_slot},
                        step(ir::load(parts, {to_slot}, true),
                             reduce_element(n.reduce, dtype, ir::load(src.array, {slot}, true))),
                        true);
  Expr inside;
  for (int d = 0; d < src.fragment.rank(); ++d) {
    const int64_t extent = n.src.buffer.extent(d);
    if (src.fragment.shape()[static_cast<size_t>(d)] == extent) continue;
    const Expr holds = ir::lt(coordinate(inverse->layout, d, x), ir::index(extent));
    inside = inside ? ir::land(inside, holds) : holds;
  }
  if (inside) fold = ir::if_(inside, fold);
  std::vector<Stmt> stmts;
  if (sides > 1) stmts.push_back(ir::alloc(parts));
  stmts.push_back(ir::for_(i, ir::index(0), parts.shape()[0],
                           ir::store(parts, {i}, reduce_identity(n.reduce, dtype), true),
                           ir::LoopKind::unrolled));
  stmts.push_back(slots == 1
                      ? fold
                      : ir::for_(s, ir::index(0), ir::index(slots), fold, ir::LoopKind::unrolled));
  if (sides > 1) {
    const auto total = [&](auto& self, const Expr& first, int64_t count) -> Expr {
      if (count == 1) return ir::load(parts, {first}, true);
      const Expr middle = ir::add(first, ir::index(count / 2));
      return step(self(self, first, count / 2), self(self, middle, count / 2));
    };
    const auto each = [&](const Expr& r) {
      return ir::store(sums, {r}, total(total, ir::mul(r, ir::index(sides)), sides), true);
    };
    const Var r = Var::make("r", i64);
    stmts.push_back(results == 1 ? each(ir::index(0))
                                 : ir::for_(r, ir::index(0), ir::index(results), each(r),
                                            ir::LoopKind::unrolled));
  }
  return ir::make<ir::Seq>(n.loc, [&](ir::Seq& q) { q.stmts = std::move(stmts); });
}

}  // namespace tw::pass
