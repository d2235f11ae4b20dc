// Scans over a block, digit by digit of the place along a line, the fastest first: runs in slots of
// a thread one after the other, lanes of a warp by shuffles, warps through shared memory. Each step
// leaves what is before a group in its line and the group's total to the next.
#include <algorithm>
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

/// More parts than that are added in a loop that stays one.
constexpr int64_t kUnrolledParts = 32;

/// A digit of a slot's or a thread's number: (number / stride) % extent.
struct Digit {
  int64_t stride, extent;
};
enum class Holder { slots, lanes, warps };
struct Level : Digit {
  Holder holder;
};
struct Digits {
  std::vector<Level> line;          // the place along the line, the fastest first; slots begin
  std::vector<Digit> slots, lines;  // what of the slots' and the threads' numbers is of other lines
};

/// None if digits are mixed, or don't follow one another along the line.
std::optional<Digits> digits_of(const Fragment& fragment, int64_t dim, int64_t threads) {
  std::vector<layout::Term> along;
  Digits digits;
  for (const layout::Term& term : fragment.map().terms()) {
    if (term.sources.size() != 1) return std::nullopt;
    if (term.sources[0].dim == dim) {
      along.push_back(term);
    } else {
      (term.out == kThread ? digits.lines : digits.slots).push_back({term.stride, term.extent});
    }
  }
  std::sort(along.begin(), along.end(), [](const layout::Term& a, const layout::Term& b) {
    return a.sources[0].div < b.sources[0].div;
  });
  int64_t covered = 1;
  for (const layout::Term& term : along) {
    if (term.sources[0].div != covered) return std::nullopt;
    covered *= term.extent;
    const Digit digit{term.stride, term.extent};
    if (term.out == kSlot) {
      digits.line.push_back({digit, Holder::slots});
      continue;
    }
    const int64_t lanes = lanes_of(digit.stride, digit.extent, threads);
    if (lanes > 1) digits.line.push_back({{digit.stride, lanes}, Holder::lanes});
    if (lanes < digit.extent) {
      digits.line.push_back({{digit.stride * lanes, digit.extent / lanes}, Holder::warps});
    }
  }
  if (covered != fragment.shape()[static_cast<size_t>(dim)]) return std::nullopt;
  if (digits.line.empty() || digits.line[0].holder != Holder::slots) {
    digits.line.insert(digits.line.begin(), {{1, 1}, Holder::slots});
  }
  return digits;
}

class BlockScan {
 public:
  BlockScan(const ir::Scan& scan, const Registers& line, const Var& thread, int64_t threads)
      : scan_(scan),
        fold_(ir::reduction_of(scan.scan)),
        line_(line),
        digits_(*digits_of(line.fragment, scan.dim, threads)),
        thread_(thread),
        threads_(threads) {}

  Stmt all(bool in_loop) {
    total_ = array("total", line_.fragment.slots());
    before_ = array("before", line_.fragment.slots());
    sum_ = array("sum", 1), prefix_ = array("prefix", 1);
    clear_outside();
    in_runs();
    for (size_t level = 1; level < digits_.line.size(); ++level) {
      switch (digits_.line[level].holder) {
        case Holder::slots:
          over_slots(level);
          break;
        case Holder::lanes:
          over_lanes(level);
          break;
        case Holder::warps:
          over_warps(level, in_loop);
          break;
      }
    }
    if (!is_top(0)) {
      add(each(groups(1), [&](const Expr& group, const Expr&) {
        return each(line_slots(0, 1), [&](const Expr& inside, const Expr&) {
          const Expr slot = ir::add(group, inside);
          return set(line_.array, slot, step(get(before_, group), get(line_.array, slot)));
        });
      }));
    }
    return ir::make<ir::Seq>(scan_.loc, [&](ir::Seq& s) { s.stmts = std::move(stmts_); });
  }

 private:
  // ---- statements ----
  void add(Stmt stmt) { stmts_.push_back(std::move(stmt)); }
  Buffer array(const char* name, int64_t size) {
    const Buffer result =
        ir::make_buffer(name, line_.array.dtype(), ir::MemSpace::local, std::vector<int64_t>{size});
    add(ir::alloc(result));
    return result;
  }
  static Expr get(const Buffer& array, const Expr& at) { return ir::load(array, {at}, true); }
  static Stmt set(const Buffer& array, const Expr& at, const Expr& value) {
    return ir::store(array, {at}, value, true);
  }
  Expr step(const Expr& a, const Expr& b) const { return fold_step(fold_, false, a, b); }
  Expr identity() const { return reduce_identity(fold_, line_.array.dtype()); }
  Var let(const char* name, const Expr& value, std::vector<Stmt>& stmts) const {
    const Var var = Var::make(name, value.dtype());
    stmts.push_back(ir::let(var, value));
    return var;
  }

  /// `body` for all values of the digits: of the slot and the number that they make.
  template <class Body>
  static Stmt each(const std::vector<Digit>& digits, const Body& body) {
    Expr slot = ir::index(0), number = ir::index(0);
    std::vector<Var> vars;
    for (const Digit& d : digits) {
      vars.push_back(Var::make("g", i64));
      slot = ir::add(slot, ir::mul(vars.back(), ir::index(d.stride)));
      number = ir::add(ir::mul(number, ir::index(d.extent)), vars.back());
    }
    Stmt result = body(slot, number);
    for (size_t i = digits.size(); i-- > 0;) {
      result = ir::for_(vars[i], ir::index(0), ir::index(digits[i].extent), result,
                        ir::LoopKind::unrolled);
    }
    return result;
  }
  /// The slots that stand for places along the line, of levels first .. last - 1.
  std::vector<Digit> line_slots(size_t first, size_t last) const {
    std::vector<Digit> result;
    for (size_t i = first; i < last; ++i) {
      if (digits_.line[i].holder == Holder::slots && digits_.line[i].extent > 1) {
        result.push_back(digits_.line[i]);
      }
    }
    return result;
  }
  /// The slots that stand for groups of what the levels before have scanned, of all lines.
  std::vector<Digit> groups(size_t level) const {
    std::vector<Digit> result = line_slots(level, digits_.line.size());
    result.insert(result.end(), digits_.slots.begin(), digits_.slots.end());
    return result;
  }
  bool is_top(size_t level) const { return level + 1 == digits_.line.size(); }
  /// A digit in the order of the scan.
  Expr in_order(const Level& level, const Expr& digit) const {
    return scan_.reverse ? ir::sub(ir::index(level.extent - 1), digit) : digit;
  }
  Expr place_of(const Level& level) const { return in_order(level, digit(level)); }
  /// (thread / stride) % extent.
  Expr digit(const Digit& d) const {
    const Expr quotient = ir::floordiv(thread_, ir::index(d.stride));
    return d.stride * d.extent < threads_ ? ir::floormod(quotient, ir::index(d.extent)) : quotient;
  }

  // ---- levels: each has total_ of its groups, puts what precedes them into before_, and leaves
  // total_ of the groups of the next ----
  /// What lies outside of the box doesn't count.
  void clear_outside() {
    const Fragment& f = line_.fragment;
    const auto inverse = layout::inverse(f.map());
    TW_CHECK(inverse.has_value(), "{} has no inverse", f);
    const Var slot = Var::make("s", i64);
    Expr inside;
    for (int d = 0; d < f.rank(); ++d) {
      const int64_t extent = scan_.src.buffer.extent(d);
      if (f.shape()[static_cast<size_t>(d)] == extent) continue;
      const Expr holds = ir::lt(coordinate(inverse->layout, d, {thread_, slot}), ir::index(extent));
      inside = inside ? ir::land(inside, holds) : holds;
    }
    if (!inside) return;
    add(ir::for_(slot, ir::index(0), ir::index(f.slots()),
                 ir::if_(ir::lnot(inside), set(line_.array, slot, identity())),
                 ir::LoopKind::unrolled));
  }

  /// What precedes a group of a level precedes all that are in it.
  Stmt precede(size_t level, const Expr& group, const Expr& value) const {
    return each(line_slots(1, level), [&](const Expr& inside, const Expr&) {
      const Expr slot = ir::add(group, inside);
      return set(before_, slot, level == 1 ? value : step(value, get(before_, slot)));
    });
  }

  /// `turn(slot, sum, with)` for the values of each group in order: `sum` is that of those before,
  /// `with` adds the value.
  template <class Turn>
  void in_turns(size_t number, const Buffer& values, const Turn& turn) {
    const Level& level = digits_.line[number];
    const Expr zero = ir::index(0), sum = get(sum_, zero);
    add(each(groups(number + 1), [&](const Expr& group, const Expr&) {
      const Var i = Var::make("i", i64), x = Var::make("x", sum.dtype());
      const Expr slot = ir::add(group, ir::mul(in_order(level, i), ir::index(level.stride)));
      const Stmt with = set(sum_, zero, step(sum, x));
      return ir::seq({set(sum_, zero, identity()),
                      ir::for_(i, zero, ir::index(level.extent),
                               ir::seq({ir::let(x, get(values, slot)), turn(slot, sum, with)}),
                               ir::LoopKind::unrolled),
                      is_top(number) ? Stmt() : set(total_, group, sum)});
    }));
  }
  void in_runs() {
    in_turns(0, line_.array, [&](const Expr& slot, const Expr& sum, const Stmt& with) {
      const Stmt result = set(line_.array, slot, sum);
      return scan_.exclusive ? ir::seq({result, with}) : ir::seq({with, result});
    });
  }
  void over_slots(size_t level) {
    in_turns(level, total_, [&](const Expr& slot, const Expr& sum, const Stmt& with) {
      return ir::seq({precede(level, slot, sum), with});
    });
  }

  /// All groups take each step together, since a step waits for the one before.
  void over_lanes(size_t number) {
    const Level& level = digits_.line[number];
    const Var place = let("place", place_of(level), stmts_);
    const auto before = scan_.reverse ? ir::WarpCode::shfl_down : ir::WarpCode::shfl_up;
    const auto shuffle = [&](ir::WarpCode code, const Expr& group, const Expr& lane,
                             std::vector<Stmt>& stmts) {
      const Var other = Var::make("other", line_.array.dtype());
      stmts.push_back(ir::make<ir::WarpOp>({}, [&](ir::WarpOp& n) {
        n.code = code;
        n.args = {get(total_, group), lane};
        n.result = other;
      }));
      return other;
    };
    for (int64_t distance = 1; distance < level.extent; distance *= 2) {
      add(each(groups(number), [&](const Expr& group, const Expr&) {
        std::vector<Stmt> stmts;
        const Var other =
            shuffle(before, group, ir::int_const(i32, distance * level.stride), stmts);
        stmts.push_back(ir::if_(ir::le(ir::index(distance), place),
                                set(total_, group, step(other, get(total_, group)))));
        return ir::seq(std::move(stmts));
      }));
    }
    add(each(groups(number), [&](const Expr& group, const Expr&) {
      std::vector<Stmt> stmts;
      const Var other = shuffle(before, group, ir::int_const(i32, level.stride), stmts);
      stmts.push_back(
          precede(number, group, ir::select(ir::lt(ir::index(0), place), other, identity())));
      return ir::seq(std::move(stmts));
    }));
    // The last lane has the total, which is enough for warps.
    if (is_top(number) || digits_.line[number + 1].holder == Holder::warps) return;
    const Expr to_last = ir::mul(ir::sub(ir::index(level.extent - 1), place),
                                 ir::index(scan_.reverse ? -level.stride : level.stride));
    const Var last = let(
        "last", ir::cast(i32, ir::add(ir::floormod(thread_, ir::index(kWarp)), to_last)), stmts_);
    add(each(groups(number), [&](const Expr& group, const Expr&) {
      std::vector<Stmt> stmts;
      const Var other = shuffle(ir::WarpCode::shfl, group, last, stmts);
      stmts.push_back(set(total_, group, other));
      return ir::seq(std::move(stmts));
    }));
  }

  /// Every thread adds all parts of its line, in order.
  void over_warps(size_t number, bool in_loop) {
    const Level& level = digits_.line[number];
    const Var place = let("place", place_of(level), stmts_);
    // 1. parts[group, place, line]. A line is what the rest of the thread's number says, but for
    // lanes that are in one group, whose last has its total.
    std::vector<Digit> rest = digits_.lines;
    Expr is_last;
    for (size_t i = 0; i < digits_.line.size(); ++i) {
      const Level& other = digits_.line[i];
      if (i == number || other.holder == Holder::slots) continue;
      if (i > number || other.holder == Holder::warps) {
        rest.push_back(other);
        continue;
      }
      const Expr last = ir::eq(place_of(other), ir::index(other.extent - 1));
      is_last = is_last ? ir::land(is_last, last) : last;
    }
    Expr own = ir::index(0);
    int64_t lines = 1;
    for (const Digit& d : rest) {
      own = ir::add(own, ir::mul(digit(d), ir::index(lines)));
      lines *= d.extent;
    }
    int64_t size = lines * level.extent;
    for (const Digit& d : groups(number)) size *= d.extent;
    const Buffer parts = ir::make_buffer("parts", line_.array.dtype(), ir::MemSpace::shared,
                                         std::vector<int64_t>{size});
    add(ir::alloc(parts));
    const Var line = let("line", own, stmts_);
    const auto at = [&](const Expr& group, const Expr& part) {
      const Expr number = ir::add(ir::mul(group, ir::index(level.extent)), part);
      return ir::add(ir::mul(number, ir::index(lines)), line);
    };
    if (in_loop) add(ir::barrier({}, "parts of the turn before are read"));
    const Stmt write = each(groups(number), [&](const Expr& slot, const Expr& group) {
      return set(parts, at(group, place), get(total_, slot));
    });
    add(is_last ? ir::if_(is_last, write) : write);
    add(ir::barrier({}, "parts of a scan are written before they are read"));
    // 2. The sum of those before.
    const Expr zero = ir::index(0);
    add(each(groups(number), [&](const Expr& slot, const Expr& group) {
      const Var i = Var::make("w", i64);
      const Expr sum = get(sum_, zero), is_own = ir::eq(place, ir::add(i, ir::index(1)));
      const Stmt one = ir::seq({set(sum_, zero, step(sum, get(parts, at(group, i)))),
                                set(prefix_, zero, ir::select(is_own, sum, get(prefix_, zero)))});
      const int64_t last = level.extent - 1;
      const Stmt total = set(total_, slot, step(sum, get(parts, at(group, ir::index(last)))));
      return ir::seq(
          {set(sum_, zero, identity()), set(prefix_, zero, identity()),
           ir::for_(i, zero, ir::index(last), one,
                    last <= kUnrolledParts ? ir::LoopKind::unrolled : ir::LoopKind::serial),
           precede(number, slot, get(prefix_, zero)), is_top(number) ? Stmt() : total});
    }));
  }

  const ir::Scan& scan_;
  const ir::ReduceKind fold_;
  const Registers& line_;
  const Digits digits_;
  const Var thread_;
  const int64_t threads_;
  std::vector<Stmt> stmts_;
  Buffer total_, before_, sum_, prefix_;
};

}  // namespace

bool can_scan(const Fragment& fragment, int64_t dim, int64_t threads) {
  return digits_of(fragment, dim, threads).has_value();
}

bool scan_crosses_warps(const Fragment& fragment, int64_t dim, int64_t threads) {
  const Digits digits = *digits_of(fragment, dim, threads);
  return std::any_of(digits.line.begin(), digits.line.end(),
                     [](const Level& level) { return level.holder == Holder::warps; });
}

std::string scan_text(const Fragment& fragment, int64_t dim, int64_t threads) {
  std::string text;
  const Digits digits = *digits_of(fragment, dim, threads);
  for (const Level& level : digits.line) {
    const char* where = level.holder == Holder::slots   ? "in a thread"
                        : level.holder == Holder::lanes ? "lanes"
                                                        : "parts through shared memory";
    text += format("{}{} {}", text.empty() ? "" : ", ", level.extent, where);
  }
  return text;
}

Stmt scan_block(const ir::Scan& scan, const Registers& line, const Var& thread, int64_t threads,
                bool in_loop) {
  return BlockScan(scan, line, thread, threads).all(in_loop);
}

}  // namespace tw::pass
