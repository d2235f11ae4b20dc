// Runs one thread until it waits, and its accesses.
#include <algorithm>
#include <cstring>

#include "tilewright/base/convert.h"
#include "tilewright/base/format.h"
#include "tilewright/ir/ops.h"
#include "tilewright/sim/memory.h"
#include "tilewright/sim/translate.h"
#include "tilewright/sim/twin/block.h"

namespace tw::sim::twin {
namespace {

constexpr Bits kWritten = 0x0101010101010101;  // marks of 8 bytes

int64_t extended(Bits bits, int shift) { return static_cast<int64_t>(bits << shift) >> shift; }
Bits low_bits(Bits bits, unsigned width) {
  return width >= 64 ? bits : bits & ((Bits{1} << width) - 1);
}

Bits read_bits(const std::byte* from, int bytes) {
  Bits value = 0;
  switch (bytes) {
    case 1:
      return static_cast<Bits>(*from);
    case 2:
      std::memcpy(&value, from, 2);
      return value;
    case 4:
      std::memcpy(&value, from, 4);
      return value;
    default:
      std::memcpy(&value, from, 8);
      return value;
  }
}

void write_bits(std::byte* to, Bits value, int64_t bytes) {
  switch (bytes) {
    case 1:
      return static_cast<void>(std::memcpy(to, &value, 1));
    case 2:
      return static_cast<void>(std::memcpy(to, &value, 2));
    case 4:
      return static_cast<void>(std::memcpy(to, &value, 4));
    default:
      std::memcpy(to, &value, 8);
  }
}

/// Where an access to a plain local array leads, from the thread's first local byte on; -1 if not
/// inside.
int64_t plain_place(const Bits* regs, const Access& access) {
  const int64_t i = extended(regs[access.first.reg], access.first.shift);
  // Narrow first: the product must not wrap.
  if (i < 0 || i >= access.bytes) return -1;
  const int64_t at = i * access.width;
  return at < access.bytes ? access.base + at : -1;
}

}  // namespace

void Block::execute(int32_t number) {
  Thread& t = threads_[static_cast<size_t>(number)];
  const LaunchCode& code = launch_.code;
  const Instruction* const all = code.instructions.data();
  Bits* const r = t.regs;
  uint32_t pc = t.pc;
  int64_t executed = 0;  // 0 when a thread still waits for a value
  const auto leave = [&](Thread::State state) {
    t.pc = pc;
    t.state = state;
    changed_ = changed_ || (state != Thread::State::ready && executed > 0);
    launch_.result->instructions += executed;
  };
  for (;; ++pc) {
    const Instruction& in = all[pc];
    ++executed;
    switch (in.code) {
      case Code::apply:
        r[in.dst] = in.fn(r[in.a], r[in.b], r[in.c]);
        break;
      case Code::divide:
        if (r[in.b] == 0) {
          t.pc = pc;
          const auto& op = *static_cast<const ir::Op*>(code.nodes[pc]);
          report(FindingKind::division_by_zero, &op,
                 format("{} divides {} by 0 ({})", thread_text(number),
                        value_text(r[in.a], op.args[0].dtype()), ir::op_row(op.code).name));
        }
        r[in.dst] = in.fn(r[in.a], r[in.b], 0);
        break;
      case Code::shift:
        if (r[in.b] >= in.width) {
          t.pc = pc;
          const auto& op = *static_cast<const ir::Op*>(code.nodes[pc]);
          report(FindingKind::shift_out_of_range, &op,
                 format("{} shifts {} by {}", thread_text(number), op.args[0].dtype(),
                        value_text(r[in.b], op.args[1].dtype())));
        }
        r[in.dst] = in.fn(r[in.a], r[in.b], 0);
        break;
      case Code::add:
        r[in.dst] = r[in.a] + r[in.b];
        break;
      case Code::multiply:
        r[in.dst] = r[in.a] * r[in.b];
        break;
      case Code::copy:
        r[in.dst] = r[in.a];
        break;
      case Code::resize: {
        const int unused = 64 - in.width;
        const Bits value = in.c != 0 ? static_cast<Bits>(extended(r[in.a], unused)) : r[in.a];
        r[in.dst] = low_bits(value, in.b);
        break;
      }
      case Code::cast: {
        const CastCode& c = code.casts[in.b];
        r[in.dst] = !c.table.empty() ? c.table[r[in.a] & 255]
                                     : convert_bits(r[in.a], c.from, c.to, c.rounding, c.saturate,
                                                    static_cast<uint32_t>(r[in.c]));
        break;
      }
      case Code::jump:
        pc = in.dst - 1;
        break;
      case Code::jump_if:
        if (r[in.a] != 0) pc = in.dst - 1;
        break;
      case Code::jump_unless:
        if (r[in.a] == 0) pc = in.dst - 1;
        break;
      case Code::loop: {
        const auto i = static_cast<int64_t>(r[in.a]), end = static_cast<int64_t>(r[in.b]);
        const auto step = static_cast<int64_t>(r[in.c]);
        if (step == 0) {
          report(FindingKind::loop_step, code.nodes[pc], "the loop's step is 0");
          launch_.stopped = true;
          return leave(Thread::State::ended);
        }
        if (step > 0 ? i >= end : i <= end) pc = in.dst - 1;
        break;
      }
      case Code::advance:
        r[in.dst] = r[in.a] + r[in.b];
        if (++t.steps > launch_.options.max_steps) {
          report(FindingKind::endless_loop, code.nodes[pc],
                 format("{} has run more than {} iterations", thread_text(number),
                        launch_.options.max_steps));
          launch_.stopped = true;
          return leave(Thread::State::ended);
        }
        if (--quantum_ <= 0) {
          ++pc;
          return leave(Thread::State::ready);
        }
        break;
      case Code::load: {
        const Access& access = code.accesses[in.a];
        const int64_t at = access.plain ? plain_place(r, access) : -1;
        if (at >= 0 && all_written(t.written + at, access.width)) {
          const Bits value = read_bits(t.local + at, static_cast<int>(access.width));
          r[in.dst] = access.truth ? Bits{value != 0} : value;
        } else {
          r[in.dst] = load(t, in.a);
        }
        break;
      }
      case Code::store: {
        const Access& access = code.accesses[in.a];
        const int64_t at = access.plain ? plain_place(r, access) : -1;
        if (at >= 0) {
          write_bits(t.local + at, r[in.b], access.width);
          write_bits(reinterpret_cast<std::byte*>(t.written + at), kWritten, access.width);
        } else {
          store(t, in.a, r[in.b]);
        }
        break;
      }
      case Code::move_in:
      case Code::move_out:
        move(t, in.a, in.b);
        break;
      case Code::fold_out:
        fold(t, in.a, in.b, code.atomics[in.dst]);
        break;
      case Code::atomic: {
        const AtomicCode& atomic = code.atomics[in.b];
        t.pc = pc;
        r[in.dst] = exchange(t, in.a, atomic);
        if (!atomic.waits || atomic.combine(r[in.dst], r[atomic.value], 0) != 0) break;
        --executed;  // it has only looked, and will again
        return leave(Thread::State::at_value);
      }
      case Code::forget: {
        const BufferCode& b = code.buffers[in.a];
        std::fill_n(t.local + b.base, b.bytes, launch_.poison());
        std::fill_n(t.written + b.base, b.bytes, uint8_t{0});
        break;
      }
      case Code::warp:
        return leave(Thread::State::at_warp);
      case Code::barrier:
        leave(Thread::State::at_barrier);
        return arrive(number, code.barriers[in.a]);
      case Code::async:
        t.pc = pc;
        start(t, code.asyncs[in.a]);
        if (launch_.stopped) return leave(Thread::State::ended);
        break;
      case Code::sync: {
        t.pc = pc;
        if (sync(t, code.syncs[in.a])) break;
        const SyncOpCode& op = code.syncs[in.a];
        return leave(launch_.stopped                               ? Thread::State::ended
                     : op.phases >= 0                              ? Thread::State::at_phase
                     : op.node->code == ir::SyncCode::grid         ? Thread::State::at_grid
                     : op.node->code == ir::SyncCode::cluster_wait ? Thread::State::at_cluster
                                                                   : Thread::State::at_group);
      }
      case Code::print:
        print(t, code.messages[in.a]);
        break;
      case Code::fail: {
        const MessageCode& m = code.messages[in.a];
        std::vector<std::string> values;
        for (size_t i = 0; i < m.values.size(); ++i) {
          values.push_back(value_text(r[m.values[i]], m.dtypes[i]));
        }
        report(m.assumed ? FindingKind::false_assumption : FindingKind::failed_assert,
               code.nodes[pc], format("{}: {}", thread_text(number), fill_in(m.text, values)));
        if (m.assumed) break;
        launch_.stopped = true;
        return leave(Thread::State::ended);
      }
      case Code::end:
        leave(Thread::State::ended);
        return end_in_cluster(t);
    }
  }
}

Index Block::index_of(const Thread& t, const Access& access) const {
  Index index{};
  for (size_t dim = 0; dim < access.index.size(); ++dim) {
    index[dim] = extended(t.regs[access.index[dim].reg], access.index[dim].shift);
  }
  return index;
}

std::string Block::element_of(const Thread& t, const Access& access) const {
  return element_of(access, index_of(t, access), access.count);
}
std::string Block::element_of(const Access& access, const Index& index, int64_t count) const {
  const BufferCode& b = launch_.code.buffers[static_cast<size_t>(access.buffer)];
  const std::string& name = b.buffer.name();
  if (b.shape.empty()) return name;
  std::string text = element_text(name, index, static_cast<int>(b.shape.size()));
  if (count > 1) {
    text.pop_back();
    text += format(" :+ {}]", count);
  }
  return text;
}

bool Block::locate(const Thread& t, const Access& access, Target* target) {
  return locate_quickly(t, access, target) ||
         locate_at(t, access, index_of(t, access), access.count, target);
}

/// The place of most accesses that are as they should be; false: locate_at says more.
bool Block::locate_quickly(const Thread& t, const Access& access, Target* target) {
  if (!access.direct) return false;
  auto element = static_cast<int64_t>(t.regs[access.offset]);
  const int64_t more = access.count - 1;
  for (const Dimension& dim : access.dimensions) {
    const int64_t i = extended(t.regs[dim.index.reg], dim.index.shift);
    if (i < 0 || i >= static_cast<int64_t>(t.regs[dim.extent])) return false;
    element += i * static_cast<int64_t>(t.regs[dim.stride]);
  }
  if (more > 0) {
    const Dimension& dim = access.dimensions.back();
    const int64_t last = extended(t.regs[dim.index.reg], dim.index.shift) + more;
    if (last >= static_cast<int64_t>(t.regs[dim.extent]) || t.regs[dim.stride] != 1) return false;
  }
  const int64_t bytes = access.count * access.width;
  const int64_t byte = access.base + element * access.width;
  target->byte = byte;
  target->bytes = static_cast<int>(bytes);
  if (access.space != Space::global &&
      (byte < access.base || byte + bytes > access.base + access.bytes)) {
    return false;
  }
  if (access.space == Space::local) {
    target->data = t.local + byte;
    return true;
  }
  Memory& memory = access.space == Space::shared
                       ? shared_
                       : (*launch_.memories)[static_cast<size_t>(access.memory)];
  if (!memory.holds(byte, bytes)) return false;
  target->data = memory.data() + byte;
  const auto address = access.space == Space::shared
                           ? static_cast<uint64_t>(byte)
                           : static_cast<uint64_t>(reinterpret_cast<uintptr_t>(target->data));
  const auto align = static_cast<uint64_t>(std::min<int64_t>(bytes, 16));  // a power of two
  if ((address & (align - 1)) != 0) return false;
  target->memory = &memory;
  return true;
}

/// The place of `count` neighbors from an index on, for the thread's access or one like it.
bool Block::locate_at(const Thread& t, const Access& access, const Index& index, int64_t count,
                      Target* target, bool aligned) {
  const BufferCode& b = launch_.code.buffers[static_cast<size_t>(access.buffer)];
  const auto text = [&] { return element_of(access, index, count); };
  auto element = static_cast<int64_t>(t.regs[b.offset]);
  const size_t rank = b.shape.size();
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t i = index[dim];
    const auto extent = static_cast<int64_t>(t.regs[b.shape[dim]]);
    const int64_t last = dim + 1 == rank ? i + (count - 1) : i;
    if (i < 0 || last >= extent) {
      std::vector<int64_t> shape;
      for (const Reg reg : b.shape) shape.push_back(static_cast<int64_t>(t.regs[reg]));
      report(FindingKind::out_of_bounds, access.node,
             format("{}: {} is outside {} {}", thread_text(number_of(t)), text(), b.buffer.name(),
                    shape));
      return false;
    }
    element += i * static_cast<int64_t>(t.regs[b.strides[dim]]);
  }
  const BufferCode& root = launch_.code.buffers[static_cast<size_t>(b.root)];
  int64_t bit = element * b.width;
  // A view counts elements of its root without the padding.
  if (root.padding_bits != 0 && &b != &root) bit += bit / root.row_bits * root.padding_bits;
  target->bytes = static_cast<int>(std::max(count * b.width / 8, int64_t{1}));
  target->nibble = b.width < 8 ? static_cast<int>(bit & 7) : 0;
  target->byte = root.base + (bit >> 3);
  const char* what = nullptr;
  switch (b.space) {
    case Space::local:
      target->data = t.local + target->byte;
      if (target->byte < root.base || target->byte + target->bytes > root.base + root.bytes) {
        what = "its array";
      }
      break;
    case Space::shared: {
      Block* const home = b.buffer->peer ? peer(t, access) : this;
      if (home == nullptr) return false;
      target->memory = &home->shared_;
      target->data = home->shared_.data() + target->byte;
      if (target->byte < root.base || target->byte + target->bytes > root.base + root.bytes) {
        what = "its buffer";
      } else if (!home->shared_.holds(target->byte, target->bytes)) {
        what = "the block's shared memory";
      }
      break;
    }
    case Space::global: {
      std::vector<Memory>& memories = *launch_.memories;
      if (b.buffer->address) {
        // Element 0 is at the address; the memory that has the element is looked for.
        const auto at = reinterpret_cast<std::byte*>(t.regs[b.address]) + (bit >> 3);
        for (Memory& m : memories) {
          if (m.data() == nullptr || at < m.data() || at >= m.data() + m.bytes()) continue;
          target->memory = &m;
          target->byte = at - m.data();
        }
      } else {
        target->memory = &memories[static_cast<size_t>(root.memory)];
      }
      if (target->memory == nullptr || !target->memory->holds(target->byte, target->bytes)) {
        what = "its memory";
      } else {
        target->data = target->memory->data() + target->byte;
      }
      break;
    }
  }
  if (what != nullptr) {
    report(FindingKind::outside_storage, access.node,
           format("{}: {} lies outside {}", thread_text(number_of(t)), text(), what));
    return false;
  }
  if (count > 1 && target->nibble != 0) {
    report(FindingKind::misaligned, access.node,
           format("{}: {} begins inside a byte", thread_text(number_of(t)), text()));
    return false;
  }
  if (target->memory == nullptr || target->bytes == 1) return true;
  if (count > 1 && t.regs[b.strides[rank - 1]] != 1) {
    report(
        FindingKind::misaligned, access.node,
        format("{}: {} are no neighbors in memory, their stride is {}", thread_text(number_of(t)),
               text(), static_cast<int64_t>(t.regs[b.strides[rank - 1]])));
    return false;
  }
  const auto address = b.space == Space::shared
                           ? static_cast<uint64_t>(target->byte)
                           : static_cast<uint64_t>(reinterpret_cast<uintptr_t>(target->data));
  const auto align = std::min<uint64_t>(static_cast<uint64_t>(target->bytes), 16);
  if (aligned && address % align != 0) {
    report(FindingKind::misaligned, access.node,
           format("{}: {} has {} bytes and begins {} past a multiple of {}",
                  thread_text(number_of(t)), text(), target->bytes, address % align, align));
    return false;
  }
  return true;
}

inline void Block::check_written(const Thread& t, const Access& access, const Target& target) {
  const bool written = target.memory != nullptr
                           ? target.memory->was_written(target.byte, target.bytes)
                           : all_written(t.written + target.byte, target.bytes);
  if (!written) report_unwritten(t, access);
}
void Block::report_unwritten(const Thread& t, const Access& access) {
  report(
      FindingKind::uninitialized_read, access.node,
      format("{} reads {} before it is written", thread_text(number_of(t)), element_of(t, access)));
}

/// Whether the thread has read the same in the same interval, as far as one look tells: it met all
/// that was there, and a write since then would have replaced it.
inline bool Block::is_repeated(const Thread& t, uint32_t number, const Target& target) {
  Memory& memory = *target.memory;
  if (!memory.is_watched()) return true;
  const int64_t unit = memory.unit_of(target.byte);
  if (memory.unit_of(target.byte + target.bytes - 1) != unit) return false;
  const int32_t thread = number_of(t);
  const Record& kept = memory.trace(unit).reader(thread / kLanes);
  return kept.interval == order_.now(thread) && kept.access == number;
}

Bits Block::load(Thread& t, uint32_t number) {
  const Access& access = launch_.code.accesses[number];
  const BufferCode& b = launch_.code.buffers[static_cast<size_t>(access.buffer)];
  Target target;
  if (!locate(t, access, &target)) return 0;
  if (target.memory != nullptr && !is_repeated(t, number, target)) {
    touch(t, number, target, b.width < 8 ? Touch::atomic : Touch::read);
  }
  check_written(t, access, target);
  const Bits value = read_bits(target.data, target.bytes);
  if (b.width < 8) return (value >> target.nibble) & 15;
  return b.buffer.dtype().is_bool() ? Bits{value != 0} : value;
}

void Block::store(Thread& t, uint32_t number, Bits value) {
  const Access& access = launch_.code.accesses[number];
  const BufferCode& b = launch_.code.buffers[static_cast<size_t>(access.buffer)];
  Target target;
  if (!locate(t, access, &target)) return;
  if (b.width < 8) {
    const Bits kept = read_bits(target.data, 1) & ~(Bits{15} << target.nibble);
    value = kept | (value & 15) << target.nibble;
  }
  std::memcpy(target.data, &value, static_cast<size_t>(target.bytes));
  if (target.memory != nullptr) {
    // Half a byte is exchanged atomically, since its neighbor may be another thread's.
    touch(t, number, target, b.width < 8 ? Touch::atomic : Touch::write);
    target.memory->mark_written(target.byte, target.bytes);
  } else {
    std::fill_n(t.written + target.byte, target.bytes, uint8_t{1});
  }
}

void Block::move(Thread& t, uint32_t dst, uint32_t src) {
  const Access& to = launch_.code.accesses[dst];
  const Access& from = launch_.code.accesses[src];
  Target target, source;
  const bool has_source = locate(t, from, &source), has_target = locate(t, to, &target);
  if (!has_source || !has_target) return;
  if (source.memory != nullptr) touch(t, src, source, Touch::read);
  check_written(t, from, source);
  std::memcpy(target.data, source.data, static_cast<size_t>(target.bytes));
  if (target.memory != nullptr) {
    touch(t, dst, target, Touch::write);
    target.memory->mark_written(target.byte, target.bytes);
  } else {
    std::fill_n(t.written + target.byte, target.bytes, uint8_t{1});
  }
}

void Block::fold(Thread& t, uint32_t dst, uint32_t src, const AtomicCode& atomic) {
  const Access& to = launch_.code.accesses[dst];
  const Access& from = launch_.code.accesses[src];
  Target target, source;
  const bool has_source = locate(t, from, &source), has_target = locate(t, to, &target);
  if (!has_source || !has_target) return;
  check_written(t, from, source);
  const int bytes = target.bytes / to.count;
  for (int i = 0; i < to.count; ++i) {
    const std::byte* value = source.data + static_cast<std::ptrdiff_t>(i) * bytes;
    Target element = target;
    element.data += value - source.data;
    element.byte += value - source.data;
    element.bytes = bytes;
    exchange(t, dst, atomic, element, read_bits(value, bytes), 0);
  }
}

Bits Block::exchange(Thread& t, uint32_t number, const AtomicCode& atomic) {
  Target target;
  if (!locate(t, launch_.code.accesses[number], &target)) return 0;
  return exchange(t, number, atomic, target, t.regs[atomic.value], t.regs[atomic.compare]);
}

Bits Block::exchange(Thread& t, uint32_t number, const AtomicCode& atomic, const Target& target,
                     Bits value, Bits compare) {
  const Access& access = launch_.code.accesses[number];
  const int32_t me = number_of(t);
  if (target.memory == nullptr) {
    report(FindingKind::race, access.node,
           format("{}: {} is local, nobody else sees it", thread_text(me), element_of(t, access)));
    return 0;
  }
  if (atomic.reads) check_written(t, access, target);
  const Bits old = read_bits(target.data, target.bytes);
  const auto bytes = static_cast<size_t>(target.bytes);
  if (atomic.writes) {
    const Bits now = atomic.combine(old, value, compare);
    std::memcpy(target.data, &now, bytes);
    target.memory->mark_written(target.byte, target.bytes);
  }
  Block* const home = home_of(target.memory);
  auto& released = home != nullptr ? home->released_ : launch_.released;
  if (atomic.acquires) {
    const auto from = released.find(target.data);
    if (from != released.end()) order_.acquire(me, from->second, access.block_scope);
  } else if (atomic.reads) {
    const auto from = released.find(target.data);
    if (from != released.end()) join_clocks(&memory_fences_[me].seen, from->second);
  }
  touch(t, number, target, Touch::atomic);
  if (atomic.releases) {
    Clocks& passed = released[target.data];
    if (!atomic.reads) passed.clear();
    order_.release(me, &passed, access.block_scope);
  } else if (atomic.writes) {
    // Whoever reads this value learns nothing but what a fence has passed on.
    if (!atomic.reads) released.erase(target.data);
    const auto fence = memory_fences_.find(me);
    if (fence != memory_fences_.end()) join_clocks(&released[target.data], fence->second.known);
  }
  return old;
}

void Block::print(Thread& t, const MessageCode& message) {
  std::vector<std::string> values;
  for (size_t i = 0; i < message.values.size(); ++i) {
    values.push_back(value_text(t.regs[message.values[i]], message.dtypes[i]));
  }
  std::string line = fill_in(message.text, values);
  if (message.access < 0) return launch_.print(std::move(line));
  if (!line.empty()) launch_.print(std::move(line));
  const auto number = static_cast<uint32_t>(message.access);
  const Access& access = launch_.code.accesses[number];
  const BufferCode& b = launch_.code.buffers[static_cast<size_t>(access.buffer)];
  std::vector<int64_t> shape;
  for (const Reg reg : b.shape) shape.push_back(static_cast<int64_t>(t.regs[reg]));
  for (int64_t n = 0; n < points_in(shape); ++n) {
    const Index point = point_of(n, shape);
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      t.regs[access.index[dim].reg] = static_cast<Bits>(point[dim]);
    }
    const std::string element = element_of(t, access);
    launch_.print(element + " = " + value_text(load(t, number), b.buffer.dtype()));
  }
}

}  // namespace tw::sim::twin
