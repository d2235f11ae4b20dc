// Who runs when, barriers, and threads that can't go on.
#include "tilewright/sim/twin/block.h"

#include <algorithm>
#include <numeric>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/sim/machine.h"
#include "tilewright/sim/translate.h"

namespace tw::sim::twin {

std::vector<int64_t> place_in(int64_t number, const std::vector<int64_t>& grid) {
  const Index at = point_of(number, grid);
  return {at.begin(), at.begin() + static_cast<int64_t>(grid.size())};
}
std::string position_text(const ir::Node* node) {
  return node->loc.known() ? node->loc.text() : "at an unknown line";
}

Finding* LaunchState::report(FindingKind kind, const ir::Node* place, const std::string& text) {
  const auto [it, is_new] = known_.emplace(std::pair(place, kind), result->findings.size());
  if (!is_new) {
    ++result->findings[it->second].count;
    return nullptr;
  }
  result->findings.push_back({kind, place->loc, kernel + ": " + text});
  stopped = stopped || options.stop_at_finding;
  return &result->findings.back();
}
bool LaunchState::is_known(FindingKind kind, const ir::Node* place) {
  return known_.contains(std::pair(place, kind));
}
void LaunchState::print(std::string line) {
  if (options.print) {
    options.print(line);
  } else {
    result->printed.push_back(std::move(line));
  }
}
uint64_t LaunchState::next_random() {  // splitmix64
  uint64_t z = random += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

Block::Block(LaunchState& launch, Cluster& cluster, int64_t number)
    : launch_(launch),
      cluster_(cluster),
      number_(number),
      at_(place_in(number, launch.grid)),
      order_(launch.intervals, static_cast<int32_t>(number),
             static_cast<int32_t>(launch.code.threads)),
      shared_(launch.code.shared_bytes, launch.poison()),
      threads_(static_cast<size_t>(launch.code.threads)) {
  const LaunchCode& code = launch.code;
  if (code.shared_bytes > 0) shared_.watch(code.shared_unit);
  const size_t registers = code.registers.size(), local = static_cast<size_t>(code.local_bytes);
  registers_.resize(threads_.size() * registers);
  local_.assign(threads_.size() * local, launch.poison());
  local_written_.assign(local_.size(), 0);
  for (size_t i = 0; i < threads_.size(); ++i) {
    Thread& t = threads_[i];
    t.regs = registers_.data() + i * registers;
    t.local = local_.data() + i * local;
    t.written = local_written_.data() + i * local;
    std::copy(code.registers.begin(), code.registers.end(), t.regs);
    for (size_t dim = 0; dim < at_.size(); ++dim) {
      t.regs[code.block_vars[dim]] = encode(at_[dim], code.launch->block_vars[dim].dtype());
    }
    t.regs[code.thread] = encode(static_cast<int64_t>(i), code.launch->thread.dtype());
  }
}

std::string Block::thread_text(int32_t thread) const {
  return format("thread {} of block {}", thread, at_);
}
void Block::report(FindingKind kind, const ir::Node* node, const std::string& text) {
  launch_.report(kind, node, text);
}

Block::Status Block::run() {
  const int64_t before = launch_.result->instructions;
  const Status status = run_all();
  is_idle_ = launch_.result->instructions == before;
  if (status == Status::done) {
    has_ended_ = true;
    --cluster_.running;
    if (cluster_.blocks.size() > 1 && !launch_.stopped) check_end();
    if (!launch_.stopped) check_registers();
  }
  return status;
}

Block::Status Block::run_all() {
  const auto warps = static_cast<int32_t>((threads_.size() + kLanes - 1) / kLanes);
  std::vector<int32_t> order(static_cast<size_t>(warps));
  std::iota(order.begin(), order.end(), 0);
  for (;;) {
    if (launch_.options.seed != 0) {
      for (size_t i = order.size(); i-- > 1;) {
        std::swap(order[i], order[launch_.next_random() % (i + 1)]);
      }
    }
    wake(Thread::State::at_value);  // they look again
    changed_ = false;
    bool waits = false;  // some thread had its turn and is still in its loop
    for (const int32_t warp : order) {
      waits = run_warp(warp) || waits;
      if (launch_.stopped) return Status::done;
    }
    if (launch_.options.seed != 0 && launch_.next_random() % 4 == 0) advance_some_task();
    if (waits && !changed_ && !advance_some_task()) return Status::working;
    if (changed_ || waits) continue;
    const auto all_are = [&](Thread::State state) {
      return std::all_of(threads_.begin(), threads_.end(),
                         [&](const Thread& t) { return t.state == state; });
    };
    if (all_are(Thread::State::ended)) {
      finish_copies();
      return Status::done;
    }
    if (resolve_barrier() || advance_some_task()) continue;
    if (all_are(Thread::State::at_grid)) return Status::at_grid;
    const bool looks = std::any_of(threads_.begin(), threads_.end(), [](const Thread& t) {
      return t.state == Thread::State::at_value;
    });
    if (cluster_.running > 1 || looks) return Status::waiting;
    report_stuck();
    launch_.stopped = true;
    return Status::done;
  }
}

/// Runs the lanes of a warp until all wait for others, or have had their turn; then true.
bool Block::run_warp(int32_t warp) {
  const int32_t first = warp * kLanes;
  const auto end = std::min(first + kLanes, static_cast<int32_t>(threads_.size()));
  do {
    bool waits = false;
    // The lanes begin with a random one: their order is a rotation.
    const auto lanes = static_cast<uint64_t>(end - first);
    const auto begin = static_cast<int32_t>(
        launch_.options.seed != 0 ? launch_.next_random() % lanes : uint64_t{0});
    for (int32_t i = 0; i < end - first; ++i) {
      const int32_t number = first + (begin + i) % (end - first);
      Thread& t = threads_[static_cast<size_t>(number)];
      if (t.state != Thread::State::ready) continue;
      quantum_ = launch_.options.seed == 0
                     ? 10'000
                     : int64_t{1} << static_cast<int>(launch_.next_random() % 14);
      execute(number);
      if (launch_.stopped) return false;
      waits = waits || t.state == Thread::State::ready;
    }
    if (waits) return true;
  } while (resolve_warp(warp));
  return false;
}

void Block::arrive(int32_t thread, const BarrierCode& code) {
  const ir::Barrier& barrier = *code.node;
  Meeting& meeting = meetings_[static_cast<size_t>(barrier.id)];
  if (barrier.id == 0) return meeting.waiting.push_back(thread);
  Thread& t = threads_[static_cast<size_t>(thread)];
  if (meeting.arrived++ == 0) meeting.first = &barrier;
  if (meeting.first->threads != barrier.threads) {
    report(
        FindingKind::divergent_barrier, node_at(t),
        format("{} is at barrier {} for {} threads, others for {} ({})", thread_text(thread),
               barrier.id, barrier.threads, meeting.first->threads, position_text(meeting.first)));
    launch_.stopped = true;
    return;
  }
  if (barrier.arrive_only) {
    order_.release(thread, &meeting.passed, true);
    ++t.pc;
    t.state = Thread::State::ready;
  } else {
    meeting.waiting.push_back(thread);
  }
  if (meeting.arrived < barrier.threads) return;
  if (!meeting.waiting.empty()) order_.meet(meeting.waiting);
  for (const int32_t number : meeting.waiting) {
    order_.acquire(number, meeting.passed, true);
    Thread& other = threads_[static_cast<size_t>(number)];
    ++other.pc;
    other.state = Thread::State::ready;
  }
  meeting = {};
}

/// Tells all threads, which are at the barrier, what it says of their conditions.
void Block::fold(const BarrierCode& barrier) {
  const auto holding = std::count_if(threads_.begin(), threads_.end(),
                                     [&](const Thread& t) { return t.regs[barrier.cond] != 0; });
  const auto all = static_cast<std::ptrdiff_t>(threads_.size());
  const Bits result = barrier.node->fold == ir::BarrierFold::count ? static_cast<Bits>(holding)
                      : barrier.node->fold == ir::BarrierFold::all ? Bits{holding == all}
                                                                   : Bits{holding > 0};
  for (Thread& t : threads_) t.regs[barrier.dst] = result;
}

void Block::meet_grid(Clocks* all) {
  order_.meet();
  order_.release(0, all, false);
}
void Block::leave_grid(const Clocks& all) {
  for (Thread& t : threads_) {
    order_.acquire(number_of(t), all, false);
    t.through_grid = true;
    t.state = Thread::State::ready;
  }
}

/// Lets all threads go on if all are at one barrier of the block.
bool Block::resolve_barrier() {
  std::vector<int32_t>& here = meetings_[0].waiting;
  if (here.size() != threads_.size()) return false;
  const uint32_t pc = threads_.front().pc;
  const bool together =
      std::all_of(threads_.begin(), threads_.end(), [&](const Thread& t) { return t.pc == pc; });
  if (!together) return false;
  here.clear();
  order_.meet();
  const BarrierCode& barrier = launch_.code.barriers[launch_.code.instructions[pc].a];
  if (barrier.node->result) fold(barrier);
  for (Thread& t : threads_) {
    ++t.pc;
    t.state = Thread::State::ready;
  }
  return true;
}

void Block::report_grid(int64_t blocks) {
  report(FindingKind::deadlock, node_at(threads_.front()),
         format("block {} waits for the grid, of which {} blocks have come", at_, blocks));
}

std::string Block::whereabouts(int32_t thread) const {
  const Thread& t = threads_[static_cast<size_t>(thread)];
  if (t.state == Thread::State::ended) return "has ended";
  const ir::Node* node = node_at(t);
  const std::string position = position_text(node);
  if (t.state == Thread::State::at_warp) {
    const auto& op = *static_cast<const ir::WarpOp*>(node);
    return format("is at {} ({})", ir::enum_name(op.code), position);
  }
  if (t.state == Thread::State::at_phase) {
    const SyncOpCode& op = launch_.code.syncs[launch_.code.instructions[t.pc].a];
    const Access& access = launch_.code.accesses[static_cast<size_t>(op.phases)];
    return format("waits for a phase of {} ({})", element_of(t, access), position);
  }
  if (t.state == Thread::State::at_value) {
    const Instruction& in = launch_.code.instructions[t.pc];
    const AtomicCode& wait = launch_.code.atomics[in.b];
    const DType dtype = wait.node->buffer.dtype();
    return format("waits until {} is {} {}, but it is {} ({})",
                  element_of(t, launch_.code.accesses[in.a]), enum_name(wait.node->op).substr(5),
                  value_text(t.regs[wait.value], dtype), value_text(t.regs[in.dst], dtype),
                  position);
  }
  if (t.state == Thread::State::at_group) return format("waits for copies ({})", position);
  if (t.state == Thread::State::at_grid) return format("waits for the grid ({})", position);
  if (t.state == Thread::State::at_cluster) {
    return format("waits at the barrier of the cluster ({}), where {} of {} threads have arrived",
                  position, cluster_.arrived, cluster_.threads - cluster_.ended);
  }
  const auto& barrier = *static_cast<const ir::Barrier*>(node);
  if (barrier.id == 0) return format("waits at another one ({})", position);
  return format("waits at barrier {} ({}), where {} of {} threads are", barrier.id, position,
                meetings_[static_cast<size_t>(barrier.id)].arrived, barrier.threads);
}

/// All warps of a warp-group must change their registers at the same places.
void Block::check_registers() {
  for (const Thread& t : threads_) {
    const Thread& first = threads_[static_cast<size_t>(number_of(t) / kWarpgroup * kWarpgroup)];
    if (t.registers == first.registers) continue;
    const auto [mine, other] = std::mismatch(t.registers.begin(), t.registers.end(),
                                             first.registers.begin(), first.registers.end());
    const bool is_mine = mine != t.registers.end();
    report(FindingKind::divergent_warp, is_mine ? *mine : *other,
           format("{} changes its registers, where thread {} of its warp-group doesn't",
                  thread_text(number_of(is_mine ? t : first)), number_of(is_mine ? first : t)));
    return;
  }
}

void Block::report_stuck() {
  const auto looking = std::find_if(threads_.begin(), threads_.end(), [](const Thread& t) {
    return t.state == Thread::State::at_value;
  });
  if (looking != threads_.end()) {
    report(FindingKind::deadlock, node_at(*looking),
           format("{} {}, which nobody can change", thread_text(number_of(*looking)),
                  whereabouts(number_of(*looking))));
    return;
  }
  const auto at = [&](int64_t id) {
    return std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) {
      if (t.state != Thread::State::at_barrier) return false;
      return (static_cast<const ir::Barrier*>(node_at(t))->id == 0) == (id == 0);
    });
  };
  if (const auto first = at(0); first != threads_.end()) {
    const auto other = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) {
      return t.state != Thread::State::at_barrier || t.pc != first->pc;
    });
    report(
        FindingKind::divergent_barrier, node_at(*first),
        format("{} waits at a barrier that thread {} does not reach: it {}",
               thread_text(number_of(*first)), number_of(*other), whereabouts(number_of(*other))));
    return;
  }
  const auto in = [&](Thread::State state) {
    return std::find_if(threads_.begin(), threads_.end(),
                        [&](const Thread& t) { return t.state == state; });
  };
  if (const auto first = in(Thread::State::at_phase); first != threads_.end()) {
    const SyncOpCode& op = launch_.code.syncs[launch_.code.instructions[first->pc].a];
    const Phases& phases = *phases_at(*first, static_cast<uint32_t>(op.phases), false);
    report(FindingKind::deadlock, op.node,
           format("{} {}, where {} of {} arrivals and {} bytes are missing",
                  thread_text(number_of(*first)), whereabouts(number_of(*first)), phases.pending,
                  phases.count, phases.bytes));
    return;
  }
  if (const auto first = in(Thread::State::at_grid); first != threads_.end()) {
    const auto other = std::find_if(threads_.begin(), threads_.end(), [](const Thread& t) {
      return t.state != Thread::State::at_grid;
    });
    report(
        FindingKind::deadlock, node_at(*first),
        format("{} {}, thread {} {}", thread_text(number_of(*first)),
               whereabouts(number_of(*first)), number_of(*other), whereabouts(number_of(*other))));
    return;
  }
  if (const auto first = in(Thread::State::at_cluster); first != threads_.end()) {
    std::string text =
        format("{} {}", thread_text(number_of(*first)), whereabouts(number_of(*first)));
    for (const auto& block : cluster_.blocks) {
      const auto other = std::find_if(
          block->threads_.begin(), block->threads_.end(),
          [](const Thread& t) { return !t.in_cluster && t.state != Thread::State::ended; });
      if (other == block->threads_.end()) continue;
      const int32_t number = block->number_of(*other);
      text += format("; {} {}", block->thread_text(number), block->whereabouts(number));
      break;
    }
    report(FindingKind::deadlock, node_at(*first), text);
    return;
  }
  const auto first = at(1);
  const auto& barrier = *static_cast<const ir::Barrier*>(node_at(*first));
  const auto ended = std::find_if(threads_.begin(), threads_.end(),
                                  [](const Thread& t) { return t.state == Thread::State::ended; });
  std::string text = format("{} waits at barrier {} for {} threads, but {} are there",
                            thread_text(number_of(*first)), barrier.id, barrier.threads,
                            meetings_[static_cast<size_t>(barrier.id)].arrived);
  const auto elsewhere = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) {
    return t.state == Thread::State::at_barrier &&
           static_cast<const ir::Barrier*>(node_at(t))->id != barrier.id;
  });
  const auto other = elsewhere != threads_.end() ? elsewhere : ended;
  if (other != threads_.end()) {
    text += format("; thread {} {}", number_of(*other), whereabouts(number_of(*other)));
  }
  report(FindingKind::deadlock, &barrier, text);
}

}  // namespace tw::sim::twin
