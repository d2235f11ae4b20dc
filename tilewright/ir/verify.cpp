#include "tilewright/ir/verify.h"

#include <set>

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/fold.h"
#include "tilewright/ir/reduction.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"

namespace tw::ir {
namespace {

bool is_thread_operation(Kind kind) {
  return kind == Kind::Barrier || kind == Kind::WarpOp || kind == Kind::Move;
}

bool is_tile_operation(Kind kind) {
  switch (kind) {
    case Kind::Copy:
    case Kind::Fill:
    case Kind::Gemm:
    case Kind::Reduce:
    case Kind::Scan:
    case Kind::ReducerInit:
    case Kind::ReducerFinalize:
      return true;
    default:
      return false;
  }
}

/// Fields that may be null.
template <class T>
constexpr bool optional(std::string_view field) {
  if (std::is_same_v<T, Atomic>) return field == "value" || field == "compare" || field == "result";
  return field == "rbits" || field == "offset" || field == "address" || field == "safe_value" ||
         field == "l2_persist" || field == "initial" || field == "else_body" ||
         field == "view_of" || (std::is_same_v<T, Launch> && field == "guard") ||
         (std::is_same_v<T, Launch> && field == "thread") ||
         (std::is_same_v<T, WarpOp> && field == "result") ||
         (std::is_same_v<T, Print> && field == "buffer");
}

class Verifier {
 public:
  Verifier(Level level) : level_(level) { scopes_.emplace_back(); }

  void program(const Program& p) {
    for (const Symbol& s : p.symbols) {
      require(s.var.dtype() == i64, "size {} is {}, must be i64", s.var.name(), s.var.dtype());
      define(s.var);
    }
    for (const Param& param : p.params) {
      if (param.var && !defined_.contains(param.var.get())) define(param.var);
    }
    for (const Param& param : p.params) {
      require(!param.buffer == (param.kind == ParamKind::scalar), "parameter without its buffer");
      if (param.buffer) declare(param.buffer);
    }
    for (const Workspace& w : p.workspaces) declare(w.buffer);
    for (const Stmt& launch : p.launches) {
      require(launch.is<Launch>(), "the top of a program holds launches only");
      statement(launch);
    }
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  struct Around {  // what a statement is in
    bool launch = false, parallel = false, breakable = false;
  };

  // ---- reports ----
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> text, Args&&... args) {
    if (holds || found_.size() >= 20) return;
    std::string message = tw::format(text, std::forward<Args>(args)...);
    if (current_) {
      std::string where = print(current_);
      where = where.substr(0, where.find('\n'));
      message = "`" + where.substr(0, 120) + "`: " + message;
    }
    for (const std::string& known : found_) {
      if (known == message) return;
    }
    found_.push_back(std::move(message));
  }

  // ---- names ----
  void define(const Var& var) {
    require(defined_.insert(var.get()).second, "{} is defined a second time", var.name());
    enter(var.get());
  }
  void declare(const Buffer& buffer) {
    require(defined_.insert(buffer.get()).second, "{} is declared a second time", buffer.name());
    fields(*buffer.get());
    declaration(buffer);
    enter(buffer.get());
  }
  void enter(const Node* node) {
    if (visible_.insert(node).second) scopes_.back().push_back(node);
  }
  template <class F>
  void scope(F&& body) {
    scopes_.emplace_back();
    body();
    for (const Node* node : scopes_.back()) visible_.erase(node);
    scopes_.pop_back();
  }
  void use(const Buffer& buffer) {
    require(visible_.contains(buffer.get()), "{} is used outside its scope", buffer.name());
  }

  // ---- expressions ----
  void expr(const Expr& e) {
    if (e.is<VarNode>()) {
      require(visible_.contains(e.get()), "{} is used outside its scope", Var::of(e).name());
      return;
    }
    dispatch(*e.get(), [&]<class T>(const T& node) {
      if constexpr (std::is_base_of_v<ExprBase, T>) {
        const bool outside = std::exchange(complete_, true);
        fields(node);
        if (complete_) check(node);
        complete_ = complete_ && outside;
      }
    });
  }
  void check(const VarNode&) {}
  void check(const Const& n) {
    if (n.dtype.is_float()) {
      require(n.i == 0, "a float literal with integer bits");
      const bool is_exact = n.f != n.f || decode(encode(n.f, n.dtype), n.dtype) == n.f;
      require(is_exact, "{} is not a value of {}", n.f, n.dtype);
    } else {
      require(n.f == 0, "an integer literal with a fraction");
      require(as_int(int_const(n.dtype, n.i)) == n.i, "{} is not a value of {}", n.i, n.dtype);
    }
  }
  void check(const Op& n);
  void converts(DType from, DType to) {
    require(!(cast_error(from, to) == codes::copy_03), "no conversion from {} to {}", from, to);
  }
  void reduces(ReduceKind kind, DType from, DType to) {
    require(has_reduction(kind, from, to), "no {} from {} to {}", enum_name(kind), from, to);
  }
  void check(const Cast& n) {
    converts(n.value.dtype(), n.dtype);
    require(!n.rbits == (n.rounding != Rounding::rs), "a random word goes with rs rounding");
    require(!n.rbits || n.rbits.dtype() == u32, "the random word is {}, must be u32",
            n.rbits ? n.rbits.dtype() : f32);
  }
  void check(const Load& n) {
    access(n.buffer, n.indices);
    require(n.dtype == n.buffer.dtype(), "a load of {} from {}", n.dtype, n.buffer.dtype());
  }
  void access(const Buffer& buffer, const std::vector<Expr>& indices) {
    require(indices.size() == buffer.shape().size(), "{} has {} dimensions, found {} indices",
            buffer.name(), buffer.rank(), indices.size());
    for (const Expr& i : indices) integer(i, "index");
  }
  void integer(const Expr& e, const char* what) {
    require(!e || e.dtype().is_int(), "{} `{}` is {}, must be an integer", what, e,
            e ? e.dtype() : i64);
  }
  void typed(const Expr& e, DType dtype, const char* what) {
    require(!e || e.dtype() == dtype, "{} is {}, must be {}", what, e ? e.dtype() : dtype, dtype);
  }

  // ---- buffers and regions ----
  void declaration(const Buffer& buffer);
  void region(const Region& r) {
    complete(static_cast<bool>(r.buffer), "the buffer of a region");
    if (!r.buffer) return;
    fields(r);
    const size_t rank = r.buffer.shape().size();
    require(r.begin.size() == rank && r.extent.size() == rank,
            "{} has {} dimensions, found a region with {} and {}", r.buffer.name(), rank,
            r.begin.size(), r.extent.size());
    for (const Expr& e : r.begin) integer(e, "begin");
    for (const Expr& e : r.extent) {
      integer(e, "extent");
      require(as_int(e).value_or(0) >= 0, "extent `{}` is negative", e);
    }
  }
  /// The extents as numbers, -1 where they are not known; those of 1 left out if `dropping`.
  static std::vector<int64_t> extents(const Region& r, bool dropping) {
    std::vector<int64_t> list;
    for (const Expr& e : r.extent) {
      const Expr folded = fold(e);
      const int64_t extent = as_int(folded ? folded : e).value_or(-1);
      if (!dropping || extent != 1) list.push_back(extent);
    }
    return list;
  }
  void same_extents(std::vector<int64_t> a, std::vector<int64_t> b, const char* what) {
    bool same = a.size() == b.size();
    for (size_t i = 0; same && i < a.size(); ++i) same = a[i] == b[i] || a[i] < 0 || b[i] < 0;
    // An extent that is not known may be 1 and then take no part.
    const auto unknown = [](const std::vector<int64_t>& list) {
      return std::count(list.begin(), list.end(), -1) != 0;
    };
    require(same || unknown(a) || unknown(b), "{}: extents {} and {}", what, a, b);
  }

  // ---- statements ----
  void statement(const Stmt& stmt);
  void body(const Stmt& stmt, Around around) {
    const Around outside = std::exchange(around_, around);
    const Stmt current = current_;
    scope([&] { statement(stmt); });
    current_ = current;
    around_ = outside;
  }
  Around within(const For& n) const {
    Around around = around_;
    around.breakable = n.loop != LoopKind::vectorized;
    return around;
  }
  Around within(const Parallel&) const { return {true, true, false}; }
  Around within(const While&) const { return {true, around_.parallel, true}; }
  Around within(const Launch&) const { return {true, false, false}; }
  template <class T>
  Around within(const T&) const {
    return around_;
  }

  template <class T>
  void check(const T&) {}
  void check(const Let& n) { typed(n.value, n.var.dtype(), "the value"); }
  void check(const Alloc& n) {
    require(!n.initial || n.buffer.space() == MemSpace::variable, "only a variable has a value");
    typed(n.initial, n.buffer.dtype(), "the value");
  }
  void check(const Store& n) {
    access(n.buffer, n.indices);
    typed(n.value, n.buffer.dtype(), "the value");
  }
  void check(const For& n) {
    require(n.var.dtype().is_int(), "the index is {}, must be an integer", n.var.dtype());
    for (const Expr& e : {n.lo, n.hi, n.step}) typed(e, n.var.dtype(), "a bound");
    require(!is_int(n.step, 0), "the step is 0");
    require(n.loop != LoopKind::vectorized || (as_int(n.lo) && as_int(n.hi) && as_int(n.step)),
            "a vectorized loop has constant bounds");
    require(n.stage.size() == n.order.size(), "stage and order have different lengths");
    require(level_ != Level::loop || n.loop != LoopKind::unrolled, "an unrolled loop in loop IR");
    require(level_ != Level::thread || n.loop != LoopKind::vectorized,
            "a vectorized loop in thread IR");
  }
  void check(const Parallel& n) {
    require(!n.vars.empty() && n.vars.size() == n.extents.size(), "{} indices with {} extents",
            n.vars.size(), n.extents.size());
    for (const Expr& e : n.extents) integer(e, "extent");
  }
  void condition(const Expr& cond) {
    require(!cond || cond.dtype().is_bool() || cond.dtype().is_int(),
            "the condition is {}, must be bool or an integer", cond ? cond.dtype() : bool_);
  }
  void check(const If& n) { condition(n.cond); }
  void check(const While& n) { condition(n.cond); }
  void check(const Break&) { require(around_.breakable, "outside a serial loop"); }
  void check(const Continue&) { require(around_.breakable, "outside a serial loop"); }
  void check(const Copy& n) {
    const auto src = extents(n.src, !n.transpose), dst = extents_of_copy(n);
    same_extents(src, dst, "copy");
    require(n.transpose || src.size() == dst.size(), "copy: extents {} and {}", src, dst);
    converts(n.src.buffer.dtype(), n.dst.buffer.dtype());
  }
  static std::vector<int64_t> extents_of_copy(const Copy& n) {
    std::vector<int64_t> list = extents(n.dst, !n.transpose);
    if (n.transpose && list.size() >= 2) std::swap(list.end()[-1], list.end()[-2]);
    return list;
  }
  void check(const Fill& n) { typed(n.value, n.dst.buffer.dtype(), "the value"); }
  void check(const Gemm& n);
  void check(const Reduce& n);
  void check(const Scan& n) {
    require(n.dim >= 0 && n.dim < n.src.buffer.rank(), "no dimension {}", n.dim);
    same_extents(extents(n.src, true), extents(n.dst, true), "scan");
    reduces(reduction_of(n.scan), n.src.buffer.dtype(), n.dst.buffer.dtype());
  }
  void reducer(const Buffer& buffer) {
    require(buffer.space() == MemSpace::reducer, "{} is no reducer", buffer.name());
  }
  void check(const ReducerInit& n) {
    reducer(n.reducer);
    reduces(n.reducer->reduce, n.reducer.dtype(), n.reducer.dtype());
    typed(n.initial, n.reducer.dtype(), "the initial value");
  }
  void check(const ReducerUpdate& n) {
    reducer(n.reducer);
    access(n.reducer, n.indices);
    typed(n.value, n.reducer.dtype(), "the value");
  }
  void check(const ReducerFinalize& n) {
    reducer(n.reducer);
    std::vector<int64_t> shape;
    for (const Expr& e : n.reducer.shape()) {
      if (const int64_t extent = as_int(e).value_or(-1); extent != 1) shape.push_back(extent);
    }
    const auto dst = extents(n.dst, true);
    same_extents(shape, dst, "finalize");
    require(shape.size() == dst.size(), "finalize: extents {} and {}", shape, dst);
  }
  void check(const Prefetch& n) { access(n.buffer, n.indices); }
  void check(const Atomic& n) {
    access(n.buffer, n.indices);
    require(!n.value == (n.op == AtomicOp::load), "all but a load have a value");
    require(!n.compare == (n.op != AtomicOp::compare_exchange),
            "a compare_exchange has a value to compare with");
    typed(n.value, n.buffer.dtype(), "the value");
    typed(n.compare, n.buffer.dtype(), "the value to compare with");
    if (n.result) typed(n.result, n.buffer.dtype(), "the result");
  }
  void check(const Barrier& n) {
    require(n.id >= 0 && n.id < 16, "there is no barrier {}", n.id);
    require(n.threads >= 0 && (n.id == 0) == (n.threads == 0),
            "the number of threads goes with a named barrier");
  }
  void check(const WarpOp& n);
  void check(const Move& n) {
    access(n.src, n.src_indices);
    access(n.dst, n.dst_indices);
    require((n.src.space() == MemSpace::local) != (n.dst.space() == MemSpace::local),
            "it moves between memory and a local array");
    const int64_t bits = n.count * n.src.dtype().bits();
    require(n.src.dtype() == n.dst.dtype() && n.count >= 1 &&
                (bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128),
            "{} elements of {} to {}", n.count, n.src.dtype(), n.dst.dtype());
  }
  void check(const Assert& n) { condition(n.cond); }
  void check(const Assume& n) { typed(n.cond, bool_, "the condition"); }
  void check(const Launch& n) {
    require(!around_.launch, "a launch inside a launch");
    require(!n.thread == (level_ != Level::thread), "thread IR has an index of threads");
    require(n.aligned.empty() || level_ == Level::thread, "alignment is for thread IR");
    require(n.grid.size() == n.block_vars.size() && !n.grid.empty() && n.grid.size() <= 3,
            "{} grid extents with {} indices", n.grid.size(), n.block_vars.size());
    for (const Expr& e : n.grid) {
      integer(e, "grid extent");
      require(!has_load(e), "the grid reads memory");
    }
  }

  // ---- fields, generically: what is used, then what is defined, then what is inside ----
  template <class T>
  void fields(const T& node) {
    T::visit_fields(node, [&]<class V>(const char* name, const V& value) {
      if constexpr (requires { value.get(); }) {
        complete(value || optional<T>(name), name);
      }
      used(value, std::is_same_v<T, Alloc>);
    });
  }
  void complete(bool present, const char* what) {
    require(present, "{} is missing", what);
    complete_ = complete_ && present;
  }
  void used(const Expr& e, bool) {
    if (e) expr(e);
  }
  void used(const Var&, bool) {}
  void used(const Stmt&, bool) {}
  void used(const Buffer& b, bool declares) {
    if (b && !declares) use(b);
  }
  void used(const Region& r, bool) { region(r); }
  template <class V>
  void used(const std::vector<V>& list, bool declares) {
    if constexpr (requires(const V& v) { v.get(); }) {
      for (const V& v : list) complete(static_cast<bool>(v), "an element of a list");
    }
    for (const auto& v : list) used(v, declares);
  }
  template <class V>
  void used(const V&, bool) {}

  void defined(const Var& var) {
    if (var) define(var);
  }
  void defined(const std::vector<Var>& vars) {
    for (const Var& var : vars) defined(var);
  }
  template <class V>
  void defined(const V&) {}

  Level level_;
  std::vector<std::string> found_;
  Stmt current_;
  bool complete_ = true;  // the fields of the statement are there, so that it can be checked
  Around around_;
  std::set<const Node*> defined_, visible_;
  std::vector<std::vector<const Node*>> scopes_;
};

void Verifier::check(const Op& n) {
  const OpRow& row = op_row(n.code);
  require(n.args.size() == static_cast<size_t>(row.operands), "{} with {} operands", row.name,
          n.args.size());
  require(n.rounding == Rounding::rn || n.exactness == Exactness::ieee,
          "{}: a rounding goes with ieee", row.name);
  if (n.args.size() != static_cast<size_t>(row.operands)) return;
  if (row.op_class == OpClass::dot) {
    const DType sum = n.code == OpCode::dot2_bf16 ? f32 : i32;
    require(n.dtype == sum && n.args[0].dtype() == sum, "{} adds to {}, not {}", row.name, sum,
            n.dtype);
    require(n.args[1].dtype() == u32 && n.args[2].dtype() == u32, "{} of {} and {}", row.name,
            n.args[1].dtype(), n.args[2].dtype());
    return;
  }
  const size_t first = row.op_class == OpClass::choice ? 1 : 0;
  const DType type = n.args[first].dtype();
  for (size_t i = first + 1; i < n.args.size(); ++i) {
    require(n.args[i].dtype() == type, "{} of {} and {} in `{}`", row.name, type, n.args[i].dtype(),
            Expr(&n));
  }
  const auto accepts = [&](bool accepted) {
    require(accepted, "{} is not defined for {} in `{}`", row.name, type, Expr(&n));
  };
  DType result = type;
  switch (row.op_class) {
    case OpClass::arithmetic:
      accepts(type.is_int() || type.has_float_arithmetic());
      break;
    case OpClass::float_math:
      accepts(type.has_float_arithmetic());
      break;
    case OpClass::integer:
      accepts(type.is_int() || type.is_bool());
      require(n.code != OpCode::byte_permute || type.bits() == 32, "byte_permute of {}", type);
      break;
    case OpClass::compare:
      result = bool_;
      break;
    case OpClass::logic:
      accepts(type.is_bool());
      break;
    case OpClass::test:
      accepts(type.is_float());
      result = bool_;
      break;
    case OpClass::choice:
      require(n.args[0].dtype().is_bool(), "{}: the condition is {}", row.name, n.args[0].dtype());
      break;
    case OpClass::reinterpret:
      require(n.dtype.bits() == type.bits(), "{} of {} as {}", row.name, type, n.dtype);
      result = n.dtype;
      break;
    case OpClass::dot:
      break;  // above
  }
  require(n.dtype == result, "{} of {} gives {}, not {}", row.name, type, result, n.dtype);
}

void Verifier::declaration(const Buffer& buffer) {
  const BufferNode& b = *buffer.get();
  for (const Expr& e : b.shape) integer(e, "extent");
  require(b.strides.empty() || b.strides.size() == b.shape.size(), "{} has {} strides",
          buffer.name(), b.strides.size());
  const bool block = b.space != MemSpace::global && b.space != MemSpace::workspace;
  for (const Expr& e : b.shape) {
    require(!block || as_int(e).value_or(0) >= 1, "{} has extent `{}`", buffer.name(), e);
  }
  require(b.space != MemSpace::variable || b.shape.empty(), "{} is a variable of rank {}",
          buffer.name(), b.shape.size());
  typed(b.safe_value, b.dtype, "the safe value");
  if (b.l2_persist) {
    typed(b.l2_persist, f64, "l2_persist");
    const auto* ratio = b.l2_persist.try_as<Const>();
    require(!block && ratio != nullptr && ratio->f > 0 && ratio->f <= 1,
            "{} has l2_persist {}, which is for tensors and in (0, 1]", buffer.name(),
            b.l2_persist);
  }
  require(!b.view_of || !b.address, "{} views a buffer and an address", buffer.name());
}

void Verifier::check(const Gemm& n) {
  typed(n.clear, bool_, "clear");
  require(!n.c.buffer.dtype().is_bool(), "a sum of products in bool");
  for (const Region* r : {&n.a, &n.b}) converts(r->buffer.dtype(), n.c.buffer.dtype());
  for (const Region* r : {&n.a, &n.b, &n.c}) {
    require(r->extent.size() >= 2, "{} is no matrix", r->buffer.name());
    if (r->extent.size() < 2) return;
  }
  const auto matrix = [&](const Region& r, bool transposed) {
    std::vector<int64_t> list = extents(r, false);
    list.erase(list.begin(), list.end() - 2);
    if (transposed) std::swap(list[0], list[1]);
    return list;
  };
  const std::vector<int64_t> a = matrix(n.a, n.trans_a), b = matrix(n.b, n.trans_b),
                             c = matrix(n.c, false);
  require(a[1] == b[0] && c[0] == a[0] && c[1] == b[1], "{} times {} is not {}", a, b, c);
}

void Verifier::check(const WarpOp& n) {
  const bool shuffle = n.code <= WarpCode::shfl_down;
  const bool alone = n.code == WarpCode::active_mask || n.code == WarpCode::sync_warp;
  require(n.args.size() == (shuffle ? 2U : alone ? 0U : 1U), "{} operands", n.args.size());
  require(!n.result == (n.code == WarpCode::sync_warp), "the result of {}", enum_name(n.code));
  require(n.width >= 1 && n.width <= 32 && (n.width & (n.width - 1)) == 0, "width {}", n.width);
  if (!n.result || n.args.empty()) return;
  const DType value = n.args[0].dtype(), result = n.result.dtype();
  if (shuffle) {
    typed(n.args[1], i32, "the lane");
    require(result == value && value.bits() >= 8, "it gives {} for {}", result, value);
  } else if (n.code == WarpCode::vote_any || n.code == WarpCode::vote_all) {
    require(value.is_bool() && result.is_bool(), "it gives {} for {}", result, value);
  } else if (n.code >= WarpCode::reduce_add) {
    require(result == value && value.is_int() && value.bits() == 32, "it folds {}", value);
  } else {
    require(result == u32, "it gives {}, not u32", result);
  }
}

void Verifier::check(const Reduce& n) {
  std::vector<int64_t> rest;
  const std::vector<int64_t> src = extents(n.src, false);
  for (size_t i = 0; i < n.dims.size(); ++i) {
    require(
        n.dims[i] >= 0 && n.dims[i] < n.src.buffer.rank() && (i == 0 || n.dims[i] > n.dims[i - 1]),
        "dimensions {}", n.dims);
  }
  for (size_t i = 0; i < src.size(); ++i) {
    const bool reduced =
        std::find(n.dims.begin(), n.dims.end(), static_cast<int64_t>(i)) != n.dims.end();
    if (!reduced && src[i] != 1) rest.push_back(src[i]);
  }
  same_extents(rest, extents(n.dst, true), "reduce");
  reduces(n.reduce, n.src.buffer.dtype(), n.dst.buffer.dtype());
}

void Verifier::statement(const Stmt& stmt) {
  if (!stmt) return;
  if (!stmt.is<Seq>()) current_ = stmt;
  if (is_tile_operation(stmt.kind()) || stmt.is<Parallel>()) {
    require(level_ != Level::loop && level_ != Level::thread, "not in {} IR", level_);
    require(!around_.parallel || stmt.is<Parallel>(), "a tile operation in a parallel loop");
  }
  require(!is_thread_operation(stmt.kind()) || level_ == Level::thread ||
              (stmt.is<Barrier>() && level_ == Level::scheduled),
          "not in {} IR", level_);
  require(stmt.is<Launch>() || around_.launch, "outside a launch");
  dispatch(*stmt.get(), [&]<class T>(const T& node) {
    if constexpr (std::is_same_v<T, Seq>) {
      scope([&] {
        for (const Stmt& s : node.stmts) statement(s);
      });
    } else if constexpr (std::is_base_of_v<StmtBase, T>) {
      complete_ = true;
      fields(node);
      if constexpr (std::is_same_v<T, Alloc>) {
        if (node.buffer) declare(node.buffer);
      }
      if (complete_) check(node);
      const auto inside = [&] {
        T::visit_fields(node, [&](const char*, const auto& value) { defined(value); });
        T::visit_fields(node, [&]<class V>(const char*, const V& value) {
          if constexpr (std::is_same_v<V, Stmt>) body(value, within(node));
        });
      };
      // The indices of a loop or launch end with it, what a Let binds does not.
      if constexpr (requires { node.body; }) {
        scope(inside);
      } else {
        inside();
      }
    }
  });
}

}  // namespace

std::string to_text(Level level) {
  constexpr const char* kNames[] = {"tile", "scheduled", "loop", "thread"};
  return kNames[static_cast<int>(level)];
}
Level level_named(std::string_view name) {
  for (const Level level : {Level::tile, Level::scheduled, Level::loop, Level::thread}) {
    if (to_text(level) == name) return level;
  }
  throw Error({}, {}, "there is no level '{}'; the levels are tile, scheduled, loop, thread", name);
}

std::vector<std::string> violations(const Program& program, Level level) {
  Verifier verifier(level);
  verifier.program(program);
  return verifier.take();
}

void verify(const Program& program, Level level, const std::string& after) {
  const std::vector<std::string> found = violations(program, level);
  if (found.empty()) return;
  throw InternalError(format("internal error: {} is no valid {} IR{}{}; please report it\n  {}",
                             program.name, level, after.empty() ? "" : " after ", after,
                             join(found, "\n  ")));
}

}  // namespace tw::ir
