#include "tilewright/pass/thread/explain.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "tilewright/base/format.h"
#include "tilewright/base/integer.h"
#include "tilewright/ir/visit.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/draw.h"
#include "tilewright/layout/parse.h"

namespace tw::pass {
namespace {

/// Barriers, each at the place of what surrounds it if it has none of its own.
class Barriers : public ir::Visitor {
 public:
  explicit Barriers(Remarks& remarks) : remarks_(remarks) {}
  using Visitor::visit;
  void visit(const ir::Stmt& stmt) override {
    const SourceLoc outside = here_;
    if (stmt.loc().known()) here_ = stmt.loc();
    if (const auto* barrier = stmt.try_as<ir::Barrier>()) {
      remarks_.add({here_, "barrier", barrier->reason});
    }
    children(stmt);
    here_ = outside;
  }

 private:
  Remarks& remarks_;
  SourceLoc here_;
};

std::string_view file_of(SourceLoc where) { return where.known() ? where.file : ""; }

}  // namespace

std::string explain_lines(const ir::Program& threads, const Remarks& remarks) {
  Remarks all = remarks;
  for (const ir::Stmt& launch : threads.launches) Barriers(all).visit(launch);
  std::vector<Remark> list = all.list();
  std::stable_sort(list.begin(), list.end(), [](const Remark& a, const Remark& b) {
    return std::tuple(file_of(a.where), a.where.line) < std::tuple(file_of(b.where), b.where.line);
  });
  std::string text, place = "none";
  for (const Remark& remark : list) {
    const std::string here = remark.where.known() ? remark.where.text() : "(no line)";
    if (here != place) text += here + "\n";
    place = here;
    text += format("  {}{}{}\n", remark.what, remark.why.empty() ? "" : ": ", remark.why);
  }
  return text;
}

std::string shared_map(const ir::Launch& launch) {
  struct Row {
    const ir::Alloc* alloc;
    int64_t begin, end;
  };
  std::vector<Row> rows;
  ir::for_each_stmt(launch.body, [&](const ir::Stmt& s) {
    const auto* alloc = s.try_as<ir::Alloc>();
    if (alloc == nullptr || alloc->place < 0) return;
    const ir::Buffer& b = alloc->buffer;
    int64_t elements = 1;
    for (int d = 0; d < b.rank(); ++d) {
      elements *= b.extent(d) + (d == b.rank() - 1 ? b->padding : 0);
    }
    rows.push_back(
        {alloc, alloc->place, alloc->place + ceil_div(elements * b.dtype().bits(), int64_t{8})});
  });
  std::string text;
  for (const Row& row : rows) {
    const ir::Buffer& b = row.alloc->buffer;
    std::vector<std::string> extents, others;
    for (int d = 0; d < b.rank(); ++d) extents.push_back(format("{}", b.extent(d)));
    for (const Row& other : rows) {
      if (&other == &row) break;
      if (other.begin < row.end && row.begin < other.end) {
        others.push_back(other.alloc->buffer.name());
      }
    }
    text += format("{:>6} {:>6} bytes  {}: {}[{}]", row.begin, row.end - row.begin, b.name(),
                   b.dtype(), join(extents, ", "));
    if (b->padding > 0) text += format(", rows {} elements longer", b->padding);
    if (!row.alloc->layout.empty()) text += ", " + row.alloc->layout;
    if (!others.empty()) text += ", over " + join(others, ", ");
    text += "\n";
  }
  return text;
}

std::string draw_layouts(const ir::Program& scheduled) {
  constexpr int64_t kElements = 1 << 12;
  std::string text;
  const auto add = [&](SourceLoc where, const std::string& what, const std::string& layout) {
    const layout::Fragment fragment = layout::parse_fragment(layout);
    text += format("{}{}\n  {}\n", where.known() ? where.text() + ": " : "", what, layout);
    // A cell for each run of neighbors in one thread.
    int64_t run = 1;
    const int64_t row = fragment.shape().empty() ? 1 : fragment.shape().back();
    for (const layout::Term& term : fragment.map().terms()) {
      const auto last = static_cast<int>(fragment.shape().size()) - 1;
      if (term.out == 1 && term.stride == 1 && term.sources.size() == 1 &&
          term.sources[0].dim == last && term.sources[0].div == 1 && row % term.extent == 0) {
        run = term.extent;
      }
    }
    if (layout::product(fragment.shape()) > kElements) {
      text += format("  not drawn: more than {} elements\n\n", kElements);
    } else {
      if (run > 1) text += format("  a cell is {} neighbors\n", run);
      text += layout::draw(fragment, {.per_cell = run}) + "\n";
    }
  };
  for (const ir::Stmt& launch : scheduled.launches) {
    ir::for_each_stmt(launch, [&](const ir::Stmt& s) {
      if (const auto* alloc = s.try_as<ir::Alloc>(); alloc != nullptr && !alloc->layout.empty()) {
        const ir::Buffer& b = alloc->buffer;
        if (b.space() == ir::MemSpace::shared) return;
        add(s.loc().known() ? s.loc() : b.loc(), format("{}: {}", b.name(), b.dtype()),
            alloc->layout);
      } else if (const auto* loop = s.try_as<ir::Parallel>();
                 loop != nullptr && !loop->layout.empty()) {
        std::vector<std::string> names;
        for (const ir::Var& var : loop->vars) names.push_back(var.name());
        add(s.loc(), "parallel loop over " + join(names, ", "), loop->layout);
      }
    });
  }
  return text;
}

}  // namespace tw::pass
