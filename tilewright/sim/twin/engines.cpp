// Asynchronous copies: what they take from where to where, and when.
#include "tilewright/sim/twin/engines.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tilewright/base/format.h"
#include "tilewright/sim/machine.h"
#include "tilewright/sim/twin/block.h"

namespace tw::sim::twin {
namespace {

/// Engines that a block has at least before one of them works again: two copies of one engine seem
/// ordered to each other.
constexpr size_t kRest = 16;
constexpr int64_t kUnit = 16;  // bytes that swizzles exchange

int64_t swizzled(int64_t byte, int64_t swizzle) {
  return byte ^ (((byte >> 7) & (swizzle / kUnit - 1)) * kUnit);
}

}  // namespace

int32_t Block::free_engine() {
  if (engines_.free.size() < kRest) return engines_.count++;
  const int32_t engine = engines_.free.front();
  engines_.free.erase(engines_.free.begin());
  return engine;
}

void Block::start(Thread& t, const AsyncCode& copy) {
  const auto task = std::make_shared<Task>();
  task->code = &copy;
  task->thread = number_of(t);
  if (copy.node->engine == ir::CopyEngine::tensor ? !add_boxes(t, copy, task.get())
                                                  : !add_pieces(t, copy, task.get())) {
    return;
  }
  for (const Piece& piece : task->pieces) task->bytes += piece.dst.bytes;
  task->engine = free_engine();
  const bool in_order = copy.node->engine == ir::CopyEngine::elements;
  task->fenced = engines_.fences[task->thread].known;
  order_.release(task->thread, &task->known, false);
  if (copy.phases >= 0) {
    Phases* phases = phases_at(t, static_cast<uint32_t>(copy.phases), false);
    if (phases == nullptr) return;
    task->phases = phases->byte;
    if (!is_fenced(*task, phases->initialized, true)) {
      report(FindingKind::unfenced_copy, copy.node,
             format("{} starts a copy that counts on a barrier whose initialization ({}) is not "
                    "fenced",
                    thread_text(task->thread), position_text(phases->init)));
    }
  } else {
    (in_order ? engines_.copies : engines_.bulk)[task->thread].open.push_back(task);
  }
  engines_.running.push_back(task);
}

/// A copy of neighbors.
bool Block::add_pieces(Thread& t, const AsyncCode& copy, Task* task) {
  Piece piece;
  const auto side = [&](const SideCode& s, Target* target, std::string* text) {
    const Access& access = launch_.code.accesses[s.access];
    const int64_t count = points_in(s.extent);
    *text = element_of(access, index_of(t, access), count);
    return locate_at(t, access, index_of(t, access), count, target);
  };
  piece.zero = t.regs[copy.valid] == 0;
  if (!side(copy.dst, &piece.dst, &task->dst_text)) return false;
  if (!piece.zero && !side(copy.src, &piece.src, &task->src_text)) return false;
  task->pieces.push_back(piece);
  return true;
}

/// A copy of a box: rows, of which a part may lie outside of the tensor.
bool Block::add_boxes(Thread& t, const AsyncCode& copy, Task* task) {
  const bool loads = copy.phases >= 0;
  const SideCode& far = loads ? copy.src : copy.dst;
  const SideCode& near = loads ? copy.dst : copy.src;
  const Access& tensor = launch_.code.accesses[far.access];
  const Access& box = launch_.code.accesses[near.access];
  const BufferCode& b = launch_.code.buffers[static_cast<size_t>(tensor.buffer)];
  const Index origin = index_of(t, tensor), corner = index_of(t, box);
  task->src_text = element_of(loads ? tensor : box, loads ? origin : corner, 1);
  task->dst_text = element_of(loads ? box : tensor, loads ? corner : origin, 1);
  const auto wrong = [&](const std::string& text) {
    report(FindingKind::misaligned, copy.node,
           format("{}: the box of {}: {}", thread_text(task->thread), b.buffer.name(), text));
    return false;
  };
  const size_t rank = b.shape.size();
  for (size_t dim = 0; !loads && dim < rank; ++dim) {
    // Seen on an H200: an illegal instruction. Boxes that end outside are cut off.
    if (origin[dim] >= 0) continue;
    report(FindingKind::out_of_bounds, copy.node,
           format("{}: a box is written to {}, before the tensor begins; only loads may",
                  thread_text(task->thread), task->dst_text));
    return false;
  }
  const auto extent_of = [&](size_t dim) { return static_cast<int64_t>(t.regs[b.shape[dim]]); };
  const int64_t width = far.extent.back(), size = b.width / 8;
  for (size_t dim = 0; dim + 1 < rank; ++dim) {
    const int64_t stride = static_cast<int64_t>(t.regs[b.strides[dim]]) * size;
    if (stride % kUnit != 0) return wrong(format("a stride of {} bytes", stride));
  }
  if (t.regs[b.strides.back()] != 1) return wrong("its rows are not contiguous");
  const Index zero{};
  Target base;
  const bool empty =
      std::any_of(b.shape.begin(), b.shape.end(), [&](Reg reg) { return t.regs[reg] == 0; });
  if (!empty && !locate_at(t, tensor, zero, 1, &base, false)) return false;
  if (reinterpret_cast<uintptr_t>(base.data) % kUnit != 0) {
    return wrong(format("the tensor begins {} past a multiple of {}",
                        reinterpret_cast<uintptr_t>(base.data) % kUnit, kUnit));
  }
  const std::vector<int64_t> far_rows(far.extent.begin(), far.extent.end() - 1);
  const std::vector<int64_t> near_rows(near.extent.begin(), near.extent.end() - 1);
  int64_t first = -1;
  for (int64_t row = 0; row < points_in(far_rows); ++row) {
    Index at = origin, in_box = corner;
    const Index far_row = point_of(row, far_rows), near_row = point_of(row, near_rows);
    bool inside = true;
    for (size_t dim = 0; dim + 1 < rank; ++dim) {
      at[dim] += far_row[dim];
      inside = inside && at[dim] >= 0 && at[dim] < extent_of(dim);
    }
    for (size_t dim = 0; dim < near_rows.size(); ++dim) in_box[dim] += near_row[dim];
    Target whole;
    if (!locate_at(t, box, in_box, width, &whole)) return false;
    if (first < 0) first = whole.byte;
    if (whole.byte != first + row * width * size) return wrong("it is not dense in shared memory");
    if (first % 128 != 0) return wrong(format("it begins at byte {} of shared memory", first));
    const int64_t begin = inside ? std::clamp(-at[rank - 1], int64_t{0}, width) : width;
    const int64_t end =
        inside ? std::clamp(extent_of(rank - 1) - at[rank - 1], begin, width) : width;
    const int64_t step = copy.node->swizzle == 0 ? width : kUnit / size;
    const auto part = [&](int64_t from, int64_t to, bool exists) {
      for (int64_t i = from; i < to;) {
        const int64_t next = std::min((i / step + 1) * step, to);
        Piece piece;
        Target& local = loads ? piece.dst : piece.src;
        local = whole;
        local.bytes = static_cast<int>((next - i) * size);
        local.byte = whole.byte + i * size;
        if (copy.node->swizzle != 0) local.byte = swizzled(local.byte, copy.node->swizzle);
        local.data = shared_.data() + local.byte;
        Index place = at;
        place[rank - 1] += i;
        Target& there = loads ? piece.src : piece.dst;
        if (exists && !locate_at(t, tensor, place, next - i, &there, false)) return false;
        if (!exists) there.bytes = local.bytes;
        piece.zero = loads && !exists;
        piece.skips = !loads && !exists;
        task->pieces.push_back(piece);
        i = next;
      }
      return true;
    };
    if (!part(0, begin, false) || !part(begin, end, true) || !part(end, width, false)) return false;
  }
  return true;
}

void Block::read(Task& task) {
  task.reading = order_.begin_engine(task.engine);
  const Actor actor{task.thread, task.reading, &task};
  const uint32_t access = task.code->src.access;
  for (const Piece& piece : task.pieces) {
    const auto bytes = static_cast<size_t>(piece.dst.bytes);
    const size_t at = task.data.size();
    task.data.resize(at + bytes);
    if (piece.zero) continue;
    touch(actor, access, piece.src, Touch::read);
    if (!piece.src.memory->was_written(piece.src.byte, piece.src.bytes)) {
      report(FindingKind::uninitialized_read, task.code->node,
             format("a copy of {} reads {} before it is written", thread_text(task.thread),
                    task.src_text));
    }
    std::memcpy(task.data.data() + at, piece.src.data, bytes);
  }
  task.stage = Task::Stage::read;
}

void Block::write(Task& task) {
  task.writing = order_.begin_engine(task.engine);
  const Actor actor{task.thread, task.writing, &task};
  const uint32_t access = task.code->dst.access;
  const std::byte* from = task.data.data();
  for (const Piece& piece : task.pieces) {
    const auto bytes = static_cast<size_t>(piece.dst.bytes);
    if (piece.skips) {
      from += bytes;
      continue;
    }
    if (task.code->fold == nullptr) {
      touch(actor, access, piece.dst, Touch::write);
      std::memcpy(piece.dst.data, from, bytes);
      piece.dst.memory->mark_written(piece.dst.byte, piece.dst.bytes);
    } else {
      touch(actor, access, piece.dst, Touch::atomic);
      const auto size = static_cast<size_t>(task.code->node->dst.buffer.dtype().bits() / 8);
      for (size_t i = 0; i < bytes; i += size) {
        Bits old = 0, value = 0;
        std::memcpy(&old, piece.dst.data + i, size);
        std::memcpy(&value, from + i, size);
        old = task.code->fold(old, value, 0);
        std::memcpy(piece.dst.data + i, &old, size);
      }
    }
    from += bytes;
  }
  task.data.clear();
  task.stage = Task::Stage::done;
}

/// Whether a fence for engines (or for new barriers) lies between what happened in the interval,
/// which the copy knows of, and the copy.
bool Block::is_fenced(const Task& task, IntervalId id, bool is_barrier) {
  if (order_.knows(task.fenced, id)) return true;
  const Interval& then = launch_.intervals[id];
  if (then.block != number_) return false;
  const auto after = [&](const Fences& fences) {
    const auto next = std::lower_bound(fences.when.begin(), fences.when.end(), id);
    return next != fences.when.end() && order_.knows(task.known, *next);
  };
  if (after(engines_.fences[then.thread])) return true;
  return is_barrier && (after(engines_.phase_fences[then.thread]) ||
                        order_.knows(engines_.phase_fences[task.thread].known, id));
}

void Block::check_fence(const Task& task, const Record& record, const Access& access) {
  if (task.code->node->engine == ir::CopyEngine::elements || record.interval == 0) return;
  if (order_.is_engine(record.interval) || is_fenced(task, record.interval, false)) return;
  const Interval& then = launch_.intervals[record.interval];
  const Actor actor{task.thread, 0, &task};
  report(FindingKind::unfenced_copy, access.node,
         format("{} is written by thread {} of block {} ({}) and used by {} with no fence for "
                "engines between",
                element_of(actor, access), then.thread, place_in(then.block, launch_.grid),
                position_text(launch_.code.accesses[record.access].node), name_of(actor)));
}

/// Takes a copy one step on; whether that was its last.
bool Block::advance(Task& task) {
  changed_ = true;
  if (task.stage == Task::Stage::started) {
    read(task);
    wake(Thread::State::at_group);
    return false;
  }
  write(task);
  wake(Thread::State::at_group);
  if (task.code->phases < 0) return true;
  Phases& phases = engines_.phases.at(task.phases);
  phases.bytes -= task.bytes;
  join_clocks(&phases.arrivals, task.known);
  order_.release_engine(task.writing, &phases.arrivals);
  const auto self = std::find_if(engines_.running.begin(), engines_.running.end(),
                                 [&](const TaskPtr& other) { return other.get() == &task; });
  phases.tasks.push_back(*self);
  settle(phases);
  return true;
}

/// Takes some copy on; false if there is none.
bool Block::advance_some_task() {
  std::vector<TaskPtr>& running = engines_.running;
  if (running.empty()) return false;
  const size_t which =
      launch_.options.seed == 0 ? 0 : static_cast<size_t>(launch_.next_random() % running.size());
  const TaskPtr task = running[which];
  if (!advance(*task)) return true;
  running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
  engines_.free.push_back(task->engine);
  if (!task->waited_for) engines_.unwaited.push_back(task);
  for (size_t i = 0; i < engines_.late.size(); ++i) {
    LateArrival& late = engines_.late[i];
    const bool done = std::all_of(late.after.begin(), late.after.end(),
                                  [](const TaskPtr& t) { return t->stage == Task::Stage::done; });
    if (!done) continue;
    Phases& phases = engines_.phases.at(late.phases);
    join_clocks(&phases.arrivals, late.known);
    for (const TaskPtr& before : late.after) {
      order_.release_engine(before->writing, &phases.arrivals);
      phases.tasks.push_back(before);
    }
    arrive_at(phases, late.node, "a late arrival");
    engines_.late.erase(engines_.late.begin() + static_cast<std::ptrdiff_t>(i--));
  }
  return true;
}

/// All threads have ended: shared memory goes away, so no copy may still need it.
void Block::finish_copies() {
  while (advance_some_task()) {
  }
  for (const TaskPtr& task : engines_.unwaited) {
    if (task->waited_for) continue;
    report(FindingKind::unfinished_copy, task->code->node,
           format("block {} ends, and nobody has waited for the copy of {} to {} that thread {} "
                  "started",
                  at_, task->src_text, task->dst_text, task->thread));
  }
}

}  // namespace tw::sim::twin
