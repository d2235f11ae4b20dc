#include "tilewright/pass/thread/plan_shared.h"

#include <algorithm>
#include <set>
#include <vector>

#include "tilewright/base/codes.h"
#include "tilewright/base/integer.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/thread/shared_conflicts.h"

namespace tw::pass {
namespace {

using ir::Buffer;

struct Placed {
  Buffer buffer;
  int64_t place, bytes;
  int64_t end() const { return place + bytes; }
};

int64_t bytes_of(const Buffer& buffer) {
  int64_t elements = 1;
  for (int d = 0; d < buffer.rank(); ++d) {
    elements *= buffer.extent(d) + (d == buffer.rank() - 1 ? buffer->padding : 0);
  }
  return ceil_div(elements * buffer.dtype().bits(), 8);
}

std::string kib(int64_t bytes) {
  return bytes % 1024 == 0 ? format("{} KiB", bytes / 1024)
                           : format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
}

/// The lowest place that leaves the bytes of all that the buffer conflicts with alone.
int64_t lowest_place(const std::vector<Placed>& placed, const std::set<Buffer, ir::ById>& conflicts,
                     int64_t bytes, int64_t align) {
  int64_t place = 0;
  const auto in_the_way = [&](const Placed& p) {
    return place < p.end() && p.place < place + bytes && conflicts.contains(p.buffer);
  };
  for (;;) {
    const auto other = std::find_if(placed.begin(), placed.end(), in_the_way);
    if (other == placed.end()) return place;
    place = ceil_div(other->end(), align) * align;
  }
}

ir::Stmt plan(const ir::Stmt& launch, const std::string& program, int64_t limit) {
  std::vector<Placed> placed;
  std::set<Buffer, ir::ById> boxes;  // of copies by descriptor
  ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
    const auto* copy = s.try_as<ir::AsyncCopy>();
    if (copy == nullptr || copy->engine != ir::CopyEngine::tensor) return;
    boxes.insert(copy->src.buffer.root());
    boxes.insert(copy->dst.buffer.root());
  });
  const SharedConflicts conflicts = shared_conflicts(launch.as<ir::Launch>());
  int64_t end = 0;
  const ir::Stmt body =
      ir::rewrite(launch.as<ir::Launch>().body, [&](auto&, const ir::Alloc& n) -> ir::Stmt {
        const bool shared = n.buffer.space() == ir::MemSpace::shared ||
                            n.buffer.space() == ir::MemSpace::shared_static;
        if (!shared || n.buffer->view_of) return ir::Stmt(&n);
        const int64_t bytes = bytes_of(n.buffer);
        const int64_t align = bytes >= 128 || boxes.contains(n.buffer) ? 128 : 16;
        const int64_t place = lowest_place(placed, conflicts.at(n.buffer), bytes, align);
        end = std::max(end, place + bytes);
        placed.push_back({n.buffer, place, bytes});
        return ir::make<ir::Alloc>(n.buffer.loc(), [&](ir::Alloc& a) {
          a = n;
          a.place = place;
        });
      });
  if (end > limit) {
    Error error(codes::mem_02, launch.loc(), "{}: {} of shared memory, the limit is {}", program,
                kib(end), kib(limit));
    for (const Placed& p : placed) error.note("{} takes {}", p.buffer.name(), kib(p.bytes));
    throw error.help("use smaller tiles, or fewer pipeline stages");
  }
  if (placed.empty()) return launch;
  return ir::make<ir::Launch>(launch.loc(), [&](ir::Launch& l) {
    l = launch.as<ir::Launch>();
    l.body = body;
    l.shared_bytes = end;
  });
}

}  // namespace

ir::Program plan_shared(const ir::Program& program, int64_t limit) {
  ir::Program result = program;
  for (ir::Stmt& launch : result.launches) launch = plan(launch, program.name, limit);
  return result;
}

}  // namespace tw::pass
