// The state of a program while the interpreter runs it, and the accesses that it checks.
// Internal to sim: interpreter.h is the interface.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/base/source_loc.h"
#include "tilewright/sim/element.h"
#include "tilewright/sim/finding.h"
#include "tilewright/sim/interpreter.h"
#include "tilewright/sim/memory.h"

namespace tw::sim {

class Machine;

/// An expression, ready to be evaluated; a statement, ready to be executed.
using Eval = std::function<Bits(Machine&)>;
enum class Flow : uint8_t { next, break_loop, continue_loop, stop };
using Exec = std::function<Flow(Machine&)>;

/// Where and how the program touches a buffer. Findings are counted per place.
struct Place {
  int view = 0;
  std::string name;
  SourceLoc where;
  bool in_tensor = false;  // outside its shape is legal
  bool unchecked = false;  // the author promises that it never is
  Eval safe_value;         // what it then reads; null: 0
};

class Machine {
 public:
  explicit Machine(const RunOptions& options) : options(options), random_(options.seed) {}

  const RunOptions& options;
  std::vector<Bits> vars;
  std::vector<View> views;
  std::vector<std::unique_ptr<Storage>> storages;  // by view
  /// What views at addresses can reach.
  std::vector<Storage*> reachable;
  RunResult result;

  Bits load(const Place& place, const Index& index);
  void store(const Place& place, const Index& index, Bits value);
  /// Replaces an element by what `update` makes of it, as one atomic access; gives the old value,
  /// 0 outside a tensor. `reads`: the old value matters.
  Bits exchange(const Place& place, const Index& index, bool reads,
                const std::function<Bits(Bits)>& update);

  /// Reports a mistake at a place (any address that is unique to it). `text` is asked once.
  void report(FindingKind kind, const void* place, SourceLoc where,
              const std::function<std::string()>& text);

  /// Runs body for each point of a box: in row-major order, or shuffled. With `watch`, two
  /// iterations must not conflict.
  Flow for_each(const std::vector<int64_t>& extents, bool watch,
                const std::function<Flow(const Index&)>& body);
  /// Watches conflicts between blocks from now on; 0 stops it.
  void watch_blocks(uint32_t launch) { launch_ = launch; }
  void enter_block(int64_t block, std::vector<int64_t> grid);
  bool in_parallel() const { return epoch_ != 0; }
  uint32_t epoch() const { return epoch_; }

  /// Counts one iteration of a loop; false when there were too many.
  bool step(const void* loop, SourceLoc where);
  /// What undefined contents are filled with.
  std::byte poison() { return static_cast<std::byte>(0xA5 ^ (random_ & 0xFF)); }
  /// The order in which n independent things are done; empty: as they come.
  std::vector<int64_t> order(int64_t n);

 private:
  bool locate(const Place& place, const Index& index, int64_t* bit);
  void note(const Place& place, const Index& index, int64_t bit, Access access);
  uint64_t next_random();

  uint64_t random_;
  int64_t steps_ = 0;
  uint32_t epochs_ = 0, epoch_ = 0;
  int32_t iteration_ = 0;
  std::vector<int64_t> box_;  // of the parallel loop that runs
  uint32_t launch_ = 0;
  int32_t block_ = 0;
  std::vector<int64_t> grid_;
  std::map<std::pair<const void*, FindingKind>, size_t> known_;
};

/// The point of a box with a row-major number.
Index point_of(int64_t number, const std::vector<int64_t>& extents);
/// Number of points; an extent below 1 makes it 0.
int64_t points_in(const std::vector<int64_t>& extents);

}  // namespace tw::sim
