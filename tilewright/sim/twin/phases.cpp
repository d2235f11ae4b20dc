// Steps of the order between threads and engines: barriers with phases, groups of copies, fences.
#include <algorithm>
#include <utility>

#include "tilewright/base/format.h"
#include "tilewright/sim/twin/block.h"
#include "tilewright/sim/twin/engines.h"

namespace tw::sim::twin {
namespace {

using ir::SyncCode;

/// Makes a group of what a thread has started since the last one.
void commit(Groups& groups) { groups.committed.push_back(std::exchange(groups.open, {})); }

}  // namespace

void Block::wake(Thread::State state) {
  for (Thread& t : threads_) {
    if (t.state != state) continue;
    t.state = Thread::State::ready;
    changed_ = true;
  }
}

Phases* Block::phases_at(Thread& t, uint32_t number, bool init) {
  const Access& access = launch_.code.accesses[number];
  Target target;
  if (!locate(t, access, &target)) {
    launch_.stopped = true;
    return nullptr;
  }
  const int32_t thread = number_of(t);
  Block& home = *home_of(target.memory);
  if (init) {
    touch(t, number, target, Touch::write);
    home.shared_.mark_written(target.byte, target.bytes);
    Phases& phases = home.engines_.phases[target.byte];
    phases = Phases{};
    phases.home = &home;
    phases.byte = target.byte;
    phases.init = access.node;
    phases.initialized = order_.now(thread);
    return &phases;
  }
  touch(t, number, target, Touch::atomic);
  const auto at = home.engines_.phases.find(target.byte);
  if (at != home.engines_.phases.end() && home.shared_.was_written(target.byte, target.bytes)) {
    return &at->second;
  }
  report(FindingKind::uninitialized_read, access.node,
         format("{} uses the barrier {} before it is initialized", thread_text(thread),
                element_of(t, access)));
  launch_.stopped = true;
  return nullptr;
}

/// Ends the phase if nothing is missing.
void Block::settle(Phases& phases) {
  if (phases.pending != 0 || phases.bytes != 0) return;
  ++phases.number;
  phases.pending = phases.count;
  join_clocks(&phases.over, std::exchange(phases.arrivals, {}));
  wake(Thread::State::at_phase);
}

void Block::arrive_at(Phases& phases, const ir::Node* node, const std::string& who) {
  if (phases.pending == 0) {
    report(FindingKind::wrong_arrival, node,
           format("{} arrives at a barrier for {} arrivals ({}), which all have come; {} bytes are "
                  "missing",
                  who, phases.count, position_text(phases.init), phases.bytes));
    launch_.stopped = true;
    return;
  }
  --phases.pending;
  settle(phases);
}

bool Block::sync(Thread& t, const SyncOpCode& op) {
  const int32_t me = number_of(t);
  const auto value = static_cast<int64_t>(t.regs[op.value]);
  const SyncCode code = op.node->code;
  Phases* phases = nullptr;
  if (op.phases >= 0) {
    phases = phases_at(t, static_cast<uint32_t>(op.phases), code == SyncCode::phase_init);
    if (phases == nullptr) return false;
  }
  const auto fence = [&](Fences& fences) {
    fences.when.push_back(order_.now(me));
    order_.release(me, &fences.known, false);
  };
  switch (code) {
    case SyncCode::phase_init:
      if (value < 1) {
        report(FindingKind::wrong_arrival, op.node,
               format("{} makes a barrier for {} arrivals", thread_text(me), value));
        launch_.stopped = true;
        return false;
      }
      phases->count = phases->pending = value;
      return true;
    case SyncCode::phase_expect:
      phases->bytes += value;
      return true;
    case SyncCode::phase_arrive:
    case SyncCode::phase_arrive_expect:
      if (code == SyncCode::phase_arrive_expect) phases->bytes += value;
      order_.release(me, &phases->arrivals, false);
      phases->home->arrive_at(*phases, op.node, thread_text(me));
      return !launch_.stopped;
    case SyncCode::phase_arrive_copies: {
      LateArrival late;
      late.node = op.node;
      late.phases = phases->byte;
      Groups& groups = engines_.copies[me];
      late.after = groups.open;
      for (const auto& group : groups.committed) {
        late.after.insert(late.after.end(), group.begin(), group.end());
      }
      std::erase_if(late.after,
                    [](const TaskPtr& task) { return task->stage == Task::Stage::done; });
      order_.release(me, &late.known, false);
      if (!late.after.empty()) {
        engines_.late.push_back(std::move(late));
        return true;
      }
      join_clocks(&phases->arrivals, late.known);
      arrive_at(*phases, op.node, thread_text(me));
      return !launch_.stopped;
    }
    case SyncCode::phase_wait:
    case SyncCode::phase_try_wait: {
      const bool over = (phases->number & 1) != (static_cast<uint64_t>(value) & 1);
      if (over) {
        order_.acquire(me, phases->over, false);
        for (const TaskPtr& task : phases->tasks) task->waited_for = true;
        phases->tasks.clear();
      }
      if (code == SyncCode::phase_wait) return over;
      t.regs[op.dst] = over ? 1 : 0;
      return true;
    }
    case SyncCode::copies_commit:
      commit(engines_.copies[me]);
      return true;
    case SyncCode::bulk_commit:
      commit(engines_.bulk[me]);
      return true;
    case SyncCode::copies_wait:
    case SyncCode::bulk_wait:
    case SyncCode::bulk_wait_read:
      return wait_for_groups(t, op);
    case SyncCode::fence_engines:
      fence(engines_.fences[me]);
      return true;
    case SyncCode::fence_phases:
      fence(engines_.phase_fences[me]);
      return true;
    case SyncCode::fence_block:
    case SyncCode::fence_device:
    case SyncCode::fence_system: {
      // With relaxed atomics around them, fences release and acquire.
      MemoryFence& passed = memory_fences_[me];
      const bool block_only = code == SyncCode::fence_block;
      order_.acquire(me, passed.seen, block_only);
      order_.release(me, &passed.known, block_only);
      return true;
    }
    case SyncCode::cluster_arrive:
    case SyncCode::cluster_arrive_relaxed:
      return arrive_at_cluster(t, *op.node);
    case SyncCode::cluster_wait:
      return wait_for_cluster(t, *op.node);
    case SyncCode::wait_previous:
    case SyncCode::trigger_next:
      return true;
    case SyncCode::registers_increase:
    case SyncCode::registers_decrease:
      t.registers.push_back(op.node);
      return true;
    case SyncCode::grid:
      return std::exchange(t.through_grid, false);
  }
  return true;
}

/// Whether at most so many of the thread's groups are pending; then it knows what the others did.
bool Block::wait_for_groups(Thread& t, const SyncOpCode& op) {
  const int32_t me = number_of(t);
  const SyncCode code = op.node->code;
  const bool reading = code == SyncCode::bulk_wait_read;
  Groups& groups = (code == SyncCode::copies_wait ? engines_.copies : engines_.bulk)[me];
  const auto keep = static_cast<size_t>(t.regs[op.value]);
  if (groups.committed.size() <= keep) return true;
  const auto end = groups.committed.end() - static_cast<std::ptrdiff_t>(keep);
  const Task::Stage least = reading ? Task::Stage::read : Task::Stage::done;
  for (auto group = groups.committed.begin(); group != end; ++group) {
    for (const TaskPtr& task : *group) {
      if (task->stage < least) return false;
    }
  }
  Clocks learned;
  for (auto group = groups.committed.begin(); group != end; ++group) {
    for (const TaskPtr& task : *group) {
      order_.release_engine(
          task->stage == Task::Stage::done && !reading ? task->writing : task->reading, &learned);
      task->waited_for = true;
    }
  }
  order_.acquire(me, learned, false);
  // Whoever has waited for the reading may still wait for the rest.
  if (!reading) groups.committed.erase(groups.committed.begin(), end);
  return true;
}

}  // namespace tw::sim::twin
