// The recording behind the language: open sequences, what has been written so far, and where each
// load was written. Every construct of `lang` ends here; authors do not see it.
//
// A load is a value bound at its program point, yet it stays inside the expression that uses it as
// long as nothing in between may change the result (lang/settle.h decides). For that a point is a
// sequence and a time: time advances by one with each statement.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tilewright/lang/expr.h"
#include "tilewright/lang/schedule.h"

namespace tw {
inline namespace lang {

enum class ScopeKind : uint8_t { program, launch, branch, loop, while_loop, parallel };

/// A sequence that is being recorded, or was.
struct Scope {
  struct Entry {
    uint64_t time;
    ir::Stmt stmt;
    std::vector<ir::Buffer> writes;  // roots
    bool orders = false;             // threads: others may write memory before it
  };
  ScopeKind kind;
  Scope* parent;
  SourceLoc where;
  bool open = true;
  bool has_break = false;  // a loop that some break_() leaves
  bool pipelined = false;
  int depth = 0;               // of loops and conditions around
  size_t indices = 0;          // of loops, around and of this one
  std::vector<Entry> entries;  // by time

  bool is_loop() const { return kind >= ScopeKind::loop; }
};

/// A place in the program: after all entries of `scope` up to `time`.
struct Point {
  Scope* scope = nullptr;
  uint64_t time = 0;
};

/// A condition that holds, or whose opposite holds, where an operand is evaluated.
struct Condition {
  ir::Expr value;
  bool holds = true;
};

/// One program while it is traced.
class Trace {
 public:
  explicit Trace(std::string name, const Schedule& schedule = {});
  Trace(const Trace&) = delete;
  ~Trace();

  /// The trace of this thread; E-PROG-03 when there is none.
  static Trace& current(const Site& site);
  /// As `current`, inside a launch.
  static Trace& in_launch(const Site& site);

  const std::string& name() const { return program.name; }
  bool is_input(const ir::Buffer& root) const;
  Scope& scope() { return *scope_; }
  Point now() const { return {scope_, time_}; }

  // ---- sequences ----
  void open(ScopeKind kind, SourceLoc where, size_t indices = 0);
  /// Ends the innermost sequence and gives its statements.
  ir::Stmt close();
  /// The innermost scope of that kind around the present point, or null.
  Scope* enclosing(ScopeKind kind) const;
  bool inside(ScopeKind kind) const { return enclosing(kind) != nullptr; }

  // ---- recording ----
  /// Appends a statement whose expressions are settled.
  void emit(ir::Stmt stmt);
  /// Puts a statement at an earlier point of a sequence that is still open.
  void insert(const Point& at, ir::Stmt stmt);
  /// Runs f with its statements recorded at an earlier point.
  void record_at(const Point& at, const std::function<void()>& f);
  /// Makes a buffer of a block and records its allocation.
  ir::Buffer allocate(ir::MemSpace space, DType dtype, std::vector<ir::Expr> shape,
                      std::string name, SourceLoc where, ir::Expr initial = {});
  /// Records a buffer that is already made: a view.
  void allocate(const ir::Buffer& buffer);
  /// Changes the declaration of a buffer of this program, which nothing has compiled yet.
  void annotate(const ir::Buffer& buffer, const std::function<void(ir::BufferNode&)>& change);
  /// A load written here.
  ir::Expr load(const ir::Buffer& buffer, std::vector<ir::Expr> indices, bool unchecked,
                SourceLoc where);
  /// Makes expressions ready for a statement here, which the author wrote at `where`: each load
  /// reads what it read where it was written, each shared part is computed once.
  std::vector<ir::Expr> settle(SourceLoc where, const std::vector<ir::Expr>& values);
  ir::Expr settle(SourceLoc where, const ir::Expr& value) {
    return settle(where, std::vector{value})[0];
  }

  // ---- names ----
  /// A variable that is visible from a point on: a loop index, a let, a symbol.
  void declare(const ir::Var& var, const Point& at);
  void declare(const ir::Var& var) { declare(var, now()); }
  void declare(const ir::Buffer& buffer);
  /// Raises E-PROG-01, E-PROG-02 or E-MEM-07 unless the variable or buffer may be used here.
  void check_visible(const ir::Expr& var, SourceLoc where) const;
  void check_visible(const ir::Buffer& buffer, const Site& site) const;
  bool is_visible(const ir::Buffer& buffer) const;
  /// Name of the next loop index: i, j, k, ... by nesting.
  std::string index_name(size_t offset = 0) const;

  /// What has been recorded, apart from open sequences.
  ir::Program program;

  // ---- the schedule, and the names that it may set ----
  const Schedule::Settings& schedule() const { return schedule_; }
  std::set<std::string> tunables, loops, block_buffers;
  /// Raises E-SCHED-01 for a setting whose name the program does not have.
  void check_schedule() const;

  // ---- what settling asks ----
  Point point_of(const ir::Expr& load) const;
  Point defined_at(const ir::Expr& var) const;
  /// Whether a value of the buffer read at `from` may differ when it is read at `to`.
  bool may_change(const ir::Buffer& buffer, const Point& from, const Point& to) const;

  /// Whether a loop was opened between a point and here.
  bool crosses_loop(const Point& from) const;

  /// Loads that a Let has bound, each with the guard under which it reads (lang/settle.h).
  struct Bound {
    std::vector<Condition> guard;
    ir::Var var;
  };
  std::unordered_map<const ir::ExprBase*, std::vector<Bound>> bound;

  /// Reducers, and whether their epoch is open (language 9.4).
  using Epochs = std::map<ir::Buffer, bool, ir::ById>;
  Epochs epochs;
  /// Raises E-RDC-04 if the epoch of a reducer that another path knows differs there.
  void check_epochs(const Epochs& other_path, const Site& site) const;

  // ---- annotations that land in other nodes than their buffer's ----
  std::map<ir::Buffer, std::string, ir::ById> layouts;
  ir::RasterOrder raster = ir::RasterOrder::none;  // of the launch that is open
  int64_t raster_panel = 0;
  std::vector<int64_t> threads;  // of the launch that is open; empty: not fixed
  std::vector<int64_t> cluster;  // likewise; empty: none
  std::vector<ir::Expr> grid;
  std::vector<ir::Var> block_vars;
  ir::Var thread;            // its index of threads, once that was asked for
  std::set<int64_t> named;   // ids of its barriers
  int64_t static_bytes = 0;  // of static shared memory in the launch that is open

 private:
  Schedule::Settings schedule_;
  Trace* outer_;  // of an enclosing trace on this thread
  std::deque<Scope> scopes_;
  Scope* scope_;
  uint64_t time_ = 0;
  std::unordered_map<const ir::Node*, Point> points_;  // of loads, variables and buffers
  std::vector<ir::Expr> values_;                       // keep the keys of points_ alive
  std::vector<ir::Buffer> buffers_;
};

/// Whether `outer` is `inner` or contains it.
bool encloses(const Scope* outer, const Scope* inner);

}  // namespace lang
}  // namespace tw
