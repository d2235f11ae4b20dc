// A block of the grid while it runs: its threads, its shared memory, and who waits where.
// Internal to sim/twin: twin.h is the interface.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/sim/twin/cluster.h"
#include "tilewright/sim/twin/code.h"
#include "tilewright/sim/twin/engines.h"
#include "tilewright/sim/twin/memory.h"
#include "tilewright/sim/twin/order.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::sim::twin {

inline constexpr int32_t kLanes = 32, kWarpgroup = 128;

/// What the blocks of a launch have in common.
struct LaunchState {
  LaunchState(const LaunchCode& code, const TwinOptions& options, TwinResult* result)
      : code(code), options(options), result(result), random(options.seed) {}

  const LaunchCode& code;
  const TwinOptions& options;
  TwinResult* result;
  std::string kernel;                  // its name in findings
  std::vector<int64_t> grid, cluster;  // of one rank
  std::vector<Memory>* memories = nullptr;
  Intervals intervals;
  /// What the last release at a location in global memory has passed on.
  std::map<const std::byte*, Clocks> released;
  bool stopped = false;  // the run can't go on

  /// Reports a mistake, or counts one that is known; the new finding, or null.
  Finding* report(FindingKind kind, const ir::Node* place, const std::string& text);
  bool is_known(FindingKind kind, const ir::Node* place);
  void print(std::string line);
  uint64_t next_random();
  /// What undefined contents are filled with.
  std::byte poison() const { return static_cast<std::byte>(0xA5 ^ (options.seed & 0xFF)); }

 private:
  uint64_t random;
  std::map<std::pair<const ir::Node*, FindingKind>, size_t> known_;
};

struct Thread {
  enum class State : uint8_t {
    ready,
    at_warp,
    at_barrier,
    at_phase,
    at_group,
    at_grid,
    at_cluster,
    at_value,
    ended
  };
  State state = State::ready;
  uint32_t pc = 0;  // of the instruction that is next, or that it waits at
  int64_t steps = 0;
  bool through_grid = false;   // all blocks have met where it waits
  bool in_cluster = false;     // it has arrived at the cluster's barrier, and not waited yet
  uint64_t cluster_phase = 0;  // in which it has arrived
  std::vector<const ir::Sync*> registers;  // where it has changed how many it has
  Bits* regs = nullptr;
  std::byte* local = nullptr;
  uint8_t* written = nullptr;  // of its local bytes
};

/// A named barrier of the block.
struct Meeting {
  std::vector<int32_t> waiting;
  int64_t arrived = 0;                 // with those that wait
  const ir::Barrier* first = nullptr;  // where the first of them is
  Clocks passed;                       // by those that went on
};

/// What a thread's fences of memory pass on: with later atomics, and from earlier ones.
struct MemoryFence {
  Clocks known, seen;
};

/// Hidden, so that its parts in several files call each other directly.
class [[gnu::visibility("hidden")]] Block {
 public:
  Block(LaunchState& launch, Cluster& cluster, int64_t number);

  enum class Status : uint8_t { working, waiting, at_grid, done };
  /// Runs the threads until all have ended (or the launch is stopped), until nothing but loops
  /// has happened for a while: perhaps they wait for another block; or until all of them do wait
  /// and only other blocks can change that.
  Status run();
  /// Whether the last run has executed nothing.
  bool is_idle() const { return is_idle_; }
  bool has_ended() const { return has_ended_; }
  Cluster& cluster() const { return cluster_; }
  /// All threads wait, or have ended, and nobody can go on.
  void report_stuck();

  /// At a barrier of the grid: adds what the block's threads know, and lets them go on with what
  /// all blocks do.
  void meet_grid(Clocks* all);
  void leave_grid(const Clocks& all);
  /// Only so many blocks have come there.
  void report_grid(int64_t blocks);

 private:
  /// Who touches memory: a thread, or an engine on its behalf.
  struct Actor {
    int32_t thread = 0;
    IntervalId now = 0;
    const Task* task = nullptr;
  };

  // Execution (execute.cpp)
  void execute(int32_t number);
  bool locate(const Thread& t, const Access& access, Target* target);
  bool locate_quickly(const Thread& t, const Access& access, Target* target);
  bool locate_at(const Thread& t, const Access& access, const Index& index, int64_t count,
                 Target* target, bool aligned = true);
  Bits load(Thread& t, uint32_t access);
  void store(Thread& t, uint32_t access, Bits value);
  void move(Thread& t, uint32_t dst, uint32_t src);
  void fold(Thread& t, uint32_t dst, uint32_t src, const AtomicCode& atomic);
  Bits exchange(Thread& t, uint32_t access, const AtomicCode& atomic);
  Bits exchange(Thread& t, uint32_t access, const AtomicCode& atomic, const Target& target,
                Bits value, Bits compare);
  void check_written(const Thread& t, const Access& access, const Target& target);
  void report_unwritten(const Thread& t, const Access& access);
  bool is_repeated(const Thread& t, uint32_t access, const Target& target);
  void print(Thread& t, const MessageCode& message);

  // Who touches what (touch.cpp)
  void touch(const Thread& t, uint32_t access, const Target& target, Touch how);
  void touch(const Actor& actor, uint32_t access, const Target& target, Touch how);
  bool knows(const Actor& actor, IntervalId id) const;
  const Record* conflict(const Trace& trace, const Actor& actor, const Record& me, Touch how) const;
  void remember(Trace* trace, const Actor& actor, const Record& me, Touch how);
  void report_race(const Actor& actor, const Record& me, Touch how, const Record& other,
                   const Trace& trace);
  std::string element_of(const Actor& actor, const Access& access) const;
  std::string name_of(const Actor& actor) const;

  // Engines (engines.cpp, phases.cpp)
  void start(Thread& t, const AsyncCode& copy);
  bool add_pieces(Thread& t, const AsyncCode& copy, Task* task);
  bool add_boxes(Thread& t, const AsyncCode& copy, Task* task);
  bool advance(Task& task);
  bool advance_some_task();
  void read(Task& task);
  void write(Task& task);
  bool is_fenced(const Task& task, IntervalId id, bool is_barrier);
  void check_fence(const Task& task, const Record& record, const Access& access);
  void finish_copies();
  int32_t free_engine();

  /// Executes the step; false: the thread has to wait, and tries it again.
  bool sync(Thread& t, const SyncOpCode& op);
  bool wait_for_groups(Thread& t, const SyncOpCode& op);
  Phases* phases_at(Thread& t, uint32_t access, bool init);
  void arrive_at(Phases& phases, const ir::Node* node, const std::string& who);
  void settle(Phases& phases);
  void wake(Thread::State state);

  // Waiting for each other (block.cpp, warp.cpp)
  bool run_warp(int32_t warp);
  bool resolve_warp(int32_t warp);
  void execute_warp(int32_t warp, const WarpOpCode& op);
  void arrive(int32_t thread, const BarrierCode& barrier);
  bool resolve_barrier();
  void fold(const BarrierCode& barrier);
  Status run_all();

  // Clusters (cluster.cpp)
  bool arrive_at_cluster(Thread& t, const ir::Sync& sync);
  bool wait_for_cluster(Thread& t, const ir::Sync& sync);
  void end_in_cluster(Thread& t);
  void settle_cluster();
  Block* peer(const Thread& t, const Access& access);
  Block* home_of(const Memory* memory);
  void check_end();
  void check_registers();

  // Words
  int32_t number_of(const Thread& t) const { return static_cast<int32_t>(&t - threads_.data()); }
  const ir::Node* node_at(const Thread& t) const { return launch_.code.nodes[t.pc]; }
  std::string thread_text(int32_t thread) const;
  std::string whereabouts(int32_t thread) const;
  std::string element_of(const Thread& t, const Access& access) const;
  std::string element_of(const Access& access, const Index& index, int64_t count) const;
  Index index_of(const Thread& t, const Access& access) const;
  void report(FindingKind kind, const ir::Node* node, const std::string& text);

  LaunchState& launch_;
  Cluster& cluster_;
  int64_t number_;
  std::vector<int64_t> at_;  // its place in the grid
  BlockOrder order_;
  Memory shared_;
  std::vector<Thread> threads_;
  std::vector<Bits> registers_;
  std::vector<std::byte> local_;
  std::vector<uint8_t> local_written_;
  std::array<Meeting, 16> meetings_;              // by number of the barrier
  std::map<const std::byte*, Clocks> released_;   // at a location in shared memory
  std::map<int32_t, MemoryFence> memory_fences_;  // by thread
  Engines engines_;
  int64_t quantum_ = 0;   // iterations that the thread may still run before others have their turn
  bool changed_ = false;  // some thread began to wait, went on or ended
  bool is_idle_ = false, has_ended_ = false;
};

/// `[0, 3]` of a block's number.
std::vector<int64_t> place_in(int64_t number, const std::vector<int64_t>& grid);
/// `p.tw:5`, or the statement's kind where nothing is known.
std::string position_text(const ir::Node* node);

}  // namespace tw::sim::twin
