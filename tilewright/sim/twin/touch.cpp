// Races: what each access meets at the units of memory that it touches.
#include "tilewright/base/format.h"
#include "tilewright/sim/twin/block.h"

namespace tw::sim::twin {

bool Block::knows(const Actor& actor, IntervalId id) const {
  return actor.task == nullptr ? order_.knows(actor.thread, id)
                               : order_.knows(actor.task->known, id);
}
std::string Block::element_of(const Actor& actor, const Access& access) const {
  if (actor.task == nullptr) {
    return element_of(threads_[static_cast<size_t>(actor.thread)], access);
  }
  const auto& all = launch_.code.accesses;
  return &access == &all[actor.task->code->src.access] ? actor.task->src_text
                                                       : actor.task->dst_text;
}
std::string Block::name_of(const Actor& actor) const {
  if (actor.task == nullptr) return thread_text(actor.thread);
  return "a copy of " + thread_text(actor.thread);
}

const Record* Block::conflict(const Trace& trace, const Actor& actor, const Record& me,
                              Touch how) const {
  const auto unordered = [&](const Record& r) {
    return r.interval != 0 && r.interval != me.interval && !knows(actor, r.interval);
  };
  if (unordered(trace.write)) return &trace.write;
  for (const Record& r : trace.atomics) {
    if (r.interval == 0) continue;
    // Atomic accesses don't disturb each other, unless one of them is one to its block alone.
    if (how == Touch::atomic) {
      const bool other_block = launch_.intervals[r.interval].block != number_;
      const auto& all = launch_.code.accesses;
      if (!other_block || !(all[r.access].block_scope || all[me.access].block_scope)) continue;
    }
    if (unordered(r)) return &r;
  }
  if (how == Touch::read) return nullptr;
  for (const Record& r : trace.reads) {
    if (unordered(r)) return &r;
  }
  return nullptr;
}

void Block::remember(Trace* trace, const Actor& actor, const Record& me, Touch how) {
  if (how == Touch::write) {
    // Whoever is ordered after this write is so after all that happened before it.
    *trace = Trace{.write = me};
    return;
  }
  const auto keep = [&](Record* slots, size_t count) {
    size_t chosen = static_cast<size_t>(actor.thread / kLanes) % count;
    for (size_t i = count; i-- > 0;) {
      if (slots[i].interval == me.interval) return;
      if (slots[i].interval == 0 || knows(actor, slots[i].interval)) chosen = i;
    }
    slots[chosen] = me;
  };
  if (how == Touch::read) keep(trace->reads.data(), trace->reads.size());
  if (how == Touch::atomic) keep(trace->atomics.data(), trace->atomics.size());
}

void Block::touch(const Thread& t, uint32_t number, const Target& target, Touch how) {
  if (!target.memory->is_watched()) return;
  const int32_t thread = number_of(t);
  touch({thread, order_.now(thread)}, number, target, how);
}

void Block::touch(const Actor& actor, uint32_t number, const Target& target, Touch how) {
  Memory& memory = *target.memory;
  if (!memory.is_watched()) return;
  const Record me{actor.now, number};
  const LaunchCode& code = launch_.code;
  const auto root_of = [&](const Record& r) {
    return code.buffers[static_cast<size_t>(code.accesses[r.access].buffer)].root;
  };
  const ir::Node* node = code.accesses[number].node;
  const bool exchanges = how == Touch::atomic && node->kind == ir::Kind::Atomic &&
                         static_cast<const ir::Atomic*>(node)->op != ir::AtomicOp::store;
  const bool reads = target.memory == &shared_ && (how == Touch::read || exchanges);
  // What shares the bytes with another buffer has no contents until it is written itself. Atomic
  // writes that are remembered came after the plain one.
  const auto written_by_another = [&](const Trace& trace) -> const Record* {
    const Record* latest = &trace.write;
    for (const Record& r : trace.atomics) {
      if (r.interval == 0) continue;
      if (root_of(r) == root_of(me)) return nullptr;
      latest = &r;
    }
    return latest->interval != 0 && root_of(*latest) != root_of(me) ? latest : nullptr;
  };
  const int64_t last = memory.unit_of(target.byte + target.bytes - 1);
  for (int64_t unit = memory.unit_of(target.byte); unit <= last; ++unit) {
    Trace& trace = memory.trace(unit);
    // The same read in the same interval: it met all that was there, and a write since then would
    // have replaced it.
    if (how == Touch::read && actor.task == nullptr) {
      const Record& kept = trace.reader(actor.thread / kLanes);
      if (kept.interval == me.interval && kept.access == number) continue;
    }
    if (const Record* other = conflict(trace, actor, me, how)) {
      report_race(actor, me, how, *other, trace);
    } else if (const Record* written = reads ? written_by_another(trace) : nullptr) {
      const Access& access = code.accesses[number];
      report(FindingKind::uninitialized_read, access.node,
             format("{} reads {} before it is written: {} wrote these bytes last ({})",
                    name_of(actor), element_of(actor, access),
                    code.buffers[static_cast<size_t>(root_of(*written))].buffer.name(),
                    position_text(code.accesses[written->access].node)));
    } else if (actor.task != nullptr) {
      check_fence(*actor.task, trace.write, code.accesses[number]);
      for (const Record& r : trace.atomics) check_fence(*actor.task, r, code.accesses[number]);
    }
    remember(&trace, actor, me, how);
  }
}

void Block::report_race(const Actor& actor, const Record& me, Touch how, const Record& other,
                        const Trace& trace) {
  const LaunchCode& code = launch_.code;
  const Access& mine = code.accesses[me.access];
  const Access& theirs = code.accesses[other.access];
  if (launch_.is_known(FindingKind::race, mine.node)) {
    launch_.report(FindingKind::race, mine.node, "");
    return;
  }
  const auto verb = [](Touch touch) {
    return touch == Touch::read ? "read" : touch == Touch::write ? "written" : "updated atomically";
  };
  const bool was_read =
      &other >= trace.reads.data() && &other < trace.reads.data() + trace.reads.size();
  const Touch was = &other == &trace.write ? Touch::write : was_read ? Touch::read : Touch::atomic;
  const Interval& then = launch_.intervals[other.interval];
  const int32_t thread = actor.thread;
  const bool was_copied = order_.is_engine(other.interval);
  const std::vector<int64_t> their_block = place_in(then.block, launch_.grid);
  std::string through;
  const ir::Buffer& buffer = code.buffers[static_cast<size_t>(mine.buffer)].buffer;
  const ir::Buffer& their_buffer = code.buffers[static_cast<size_t>(theirs.buffer)].buffer;
  if (!buffer.same_as(their_buffer)) through = ", as " + their_buffer.name();
  std::string text =
      format("{} is {} by {} of block {} ({}{}) and {} by {}thread {}", element_of(actor, mine),
             verb(was), was_copied ? "a copy" : format("thread {}", then.thread), their_block,
             position_text(theirs.node), through, verb(how),
             actor.task == nullptr ? "" : "a copy of ", thread);
  if (then.block == number_ && (was_copied || actor.task != nullptr)) {
    text += " with no barrier or wait for the copy between";
  } else if (then.block != number_) {
    text += format(" of block {}; only {}atomics and the end of a launch order blocks", at_,
                   cluster_.blocks.size() > 1 ? "barriers of the cluster, " : "");
  } else if (then.thread / kLanes == thread / kLanes) {
    text += " with no sync_warp or barrier between";
  } else {
    text += " with no barrier between";
  }
  Finding* finding = launch_.report(FindingKind::race, mine.node, text);
  if (finding == nullptr) return;
  finding->first = their_block;
  finding->first.push_back(then.thread);
  finding->second = at_;
  finding->second.push_back(thread);
}

}  // namespace tw::sim::twin
