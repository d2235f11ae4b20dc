#include "tilewright/lang/builder.h"

#include <algorithm>
#include <set>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/visit.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

using ir::MemSpace;
using ir::ParamKind;

void Builder::check_outside_launch(const Site& site) const {
  if (!trace_.inside(ScopeKind::launch)) return;
  throw Error(codes::prog_04, site.where, "{}: inside a launch", site.name)
      .help("declare parameters and launches side by side, outside of launch bodies");
}

// ---- sizes ----

Expr Builder::dim(std::string_view name, const SizeFacts& facts, SourceLoc where) {
  check_outside_launch({"dim", where});
  const ir::Var var = ir::Var::make(std::string(name), i64, where);
  trace_.declare(var);
  trace_.program.symbols.push_back({var, facts.multiple_of, facts.min, facts.max});
  return Expr(var);
}

int64_t Builder::constant(std::string_view name, SourceLoc where) {
  const auto known = case_.constants.find(std::string(name));
  if (known == case_.constants.end()) {
    throw Error({}, where, "constant: nothing gives a value for {}", name)
        .help("trace the definition with a case that has it");
  }
  return known->second;
}

int64_t Builder::tunable(std::string_view name, int64_t default_value, SourceLoc) {
  trace_.tunables.emplace(name);
  const auto* setting = find_setting(trace_.schedule().tunables, name);
  return setting != nullptr ? setting->value : default_value;
}

// ---- parameters ----

/// Extents of something the host knows: constants, symbols and scalars, no memory.
std::vector<ir::Expr> Builder::host_extents(const Site& site, const Extents& shape) const {
  std::vector<ir::Expr> extents;
  for (const Expr& e : shape) {
    extents.push_back(as_index(site, e));
    const auto known = ir::as_int(extents.back());
    if (known && *known < 0) {
      throw Error(codes::launch_05, site.where, "{}: the extent {} is negative", site.name, *known);
    }
  }
  return trace_.settle(site.where, extents);
}

Buffer Builder::tensor(ParamKind kind, std::string_view name, DType dtype, const Extents& shape,
                       const TensorOptions& options, SourceLoc where) {
  const Site site{name, where};
  check_outside_launch(site);
  const auto extents = host_extents(site, shape), strides = host_extents(site, options.strides);
  if (!strides.empty() && strides.size() != extents.size()) {
    throw Error({}, where, "{}: {} strides for {} dimensions", name, strides.size(),
                extents.size());
  }
  check_packed(site, dtype, extents);
  const ir::Buffer buffer = ir::make<ir::BufferNode>(where, [&](ir::BufferNode& n) {
    n.name = std::string(name);
    n.dtype = dtype;
    n.shape = extents;
    n.strides = strides;
    n.align = options.align;
  });
  trace_.declare(buffer);
  trace_.program.params.push_back({kind, buffer, {}, options.nullable});
  return Buffer(buffer);
}

Buffer Builder::input(std::string_view name, DType dtype, const Extents& shape,
                      const TensorOptions& options, SourceLoc where) {
  return tensor(ParamKind::input, name, dtype, shape, options, where);
}
Buffer Builder::inout(std::string_view name, DType dtype, const Extents& shape,
                      const TensorOptions& options, SourceLoc where) {
  return tensor(ParamKind::inout, name, dtype, shape, options, where);
}
Buffer Builder::output(std::string_view name, DType dtype, const Extents& shape,
                       const TensorOptions& options, SourceLoc where) {
  return tensor(ParamKind::output, name, dtype, shape, options, where);
}

Expr Builder::scalar(std::string_view name, DType dtype, SourceLoc where) {
  check_outside_launch({name, where});
  const ir::Var var = ir::Var::make(std::string(name), dtype, where);
  trace_.declare(var);
  trace_.program.params.push_back({ParamKind::scalar, {}, var, false});
  return Expr(var);
}

void Builder::scalar(const Expr& dim, SourceLoc where) {
  const Site site{"scalar", where};
  check_outside_launch(site);
  const ir::Expr value = trace_.settle(where, as_index(site, dim));
  const auto& symbols = trace_.program.symbols;
  const auto& params = trace_.program.params;
  const auto symbol = std::find_if(symbols.begin(), symbols.end(),
                                   [&](const ir::Symbol& s) { return s.var.same_as(value); });
  const bool passed = std::any_of(params.begin(), params.end(),
                                  [&](const ir::Param& p) { return p.var.same_as(value); });
  if (symbol == symbols.end() || passed) {
    throw Error({}, where, "scalar: the size {}", passed ? "is passed already" : "is no k.dim")
        .help("make a size with k.dim(name), and pass each once");
  }
  trace_.program.params.push_back({ParamKind::scalar, {}, symbol->var, false});
}

Buffer Builder::pointer(std::string_view name, DType dtype, SourceLoc where) {
  const int64_t unbounded = INT64_MAX;
  return tensor(ParamKind::pointer, name, dtype, {unbounded}, {}, where);
}

Buffer Builder::workspace(DType dtype, const Extents& shape, Init init, std::string_view name,
                          SourceLoc where) {
  const Site site{"workspace", where};
  check_outside_launch(site);
  const ir::Buffer buffer = ir::make<ir::BufferNode>(where, [&](ir::BufferNode& n) {
    n.name = std::string(name);
    n.dtype = dtype;
    n.space = MemSpace::workspace;
    n.shape = host_extents(site, shape);
  });
  check_packed(site, dtype, buffer.shape());
  trace_.declare(buffer);
  trace_.program.workspaces.push_back({buffer, init == Init::zero});
  return Buffer(buffer);
}

void Builder::option(std::string_view name, std::string_view value, SourceLoc where) {
  ir::check_option(name, value, where);
  trace_.program.options.push_back({std::string(name), std::string(value)});
}

// ---- launches ----

namespace {

void check_dims(const Site& site, std::string_view what, const std::vector<int64_t>& dims,
                int64_t limit) {
  int64_t product = 1;
  for (const int64_t d : dims) product = d < 1 || product > limit ? limit + 1 : product * d;
  if (product <= limit && dims.size() <= 3) return;
  throw Error(codes::launch_02, site.where,
              "{}: {} is {}, it must be 1 to 3 numbers with a product of 1 to {}", site.name, what,
              dims, limit);
}

}  // namespace

void Builder::launch(const Extents& grid, const LaunchOptions& options, const Body& body,
                     SourceLoc where) {
  const Site site{options.name.empty() ? std::string_view("launch") : options.name, where};
  if (trace_.inside(ScopeKind::launch)) {
    throw Error(codes::prog_04, where, "{}: inside a launch", site.name)
        .help("write launches one after the other; they run in that order");
  }
  if (grid.empty() || grid.size() > 3) {
    throw Error(codes::launch_03, where, "{}: the grid has {} extents, it must have 1 to 3",
                site.name, grid.size())
        .help("merge extents and take the block index apart");
  }
  const Schedule::Settings& schedule = trace_.schedule();
  const auto& threads = schedule.threads.empty() ? options.threads.values : schedule.threads;
  const auto& cluster = schedule.cluster.empty() ? options.cluster.values : schedule.cluster;
  check_dims(site, "threads", threads, 1024);
  check_dims(site, "cluster", cluster, 16);

  std::vector<ir::Expr> extents = host_extents(site, grid);
  for (size_t d = 0; options.pad_grid && d < std::min(cluster.size(), extents.size()); ++d) {
    const ir::Expr whole = ir::index(cluster[d]);
    extents[d] =
        ir::mul(ir::floordiv(ir::add(extents[d], ir::index(cluster[d] - 1)), whole), whole);
  }
  for (size_t d = 1; d < extents.size(); ++d) {
    const auto known = ir::as_int(extents[d]);
    if (known && *known > 65535) {
      throw Error(codes::launch_04, where,
                  "{}: extent {} of the grid is {}, at most 65535 is possible", site.name, "xyz"[d],
                  *known)
          .help("put the long extent first");
    }
  }
  trace_.open(ScopeKind::launch, where);
  std::vector<ir::Var> vars;
  std::vector<Expr> indices;
  for (size_t d = 0; d < grid.size(); ++d) {
    vars.push_back(ir::Var::make(std::string("b") + "xyz"[d], i64, where));
    trace_.declare(vars.back());
    indices.emplace_back(vars.back());
  }
  trace_.threads = threads;
  trace_.cluster = cluster;
  trace_.grid = extents;
  trace_.block_vars = vars;
  trace_.thread = {};
  trace_.named.clear();
  trace_.static_bytes = 0;
  trace_.raster = schedule.raster;
  trace_.raster_panel = schedule.raster_panel;
  body.run(site, indices);
  const ir::Stmt recorded = trace_.close();
  trace_.program.launches.push_back(ir::make<ir::Launch>(where, [&](ir::Launch& n) {
    n.name = options.name;
    n.grid = extents;
    n.block_vars = vars;
    n.body = recorded;
    n.threads = threads;
    n.cluster = cluster;
    n.min_blocks_per_sm =
        schedule.min_blocks_per_sm != 0 ? schedule.min_blocks_per_sm : options.min_blocks_per_sm;
    n.max_registers = schedule.max_registers != 0 ? schedule.max_registers : options.max_registers;
    n.dynamic_shared_extra = options.dynamic_shared_extra;
    n.cooperative = options.cooperative;
    n.dependent_launch = options.dependent_launch;
    n.thread = trace_.thread;
    n.raster = trace_.raster;
    n.raster_panel = trace_.raster_panel;
  }));
}
void Builder::launch(const Extents& grid, const Body& body, SourceLoc where) {
  launch(grid, LaunchOptions{}, body, where);
}

int64_t thread_extent(int dim, SourceLoc where) {
  const Trace& trace = Trace::in_launch({"thread_extent", where});
  if (trace.threads.empty()) {
    throw Error(codes::launch_01, where, "thread_extent: the launch does not fix its threads")
        .help("give .threads in the options of k.launch, or in the schedule");
  }
  const auto d = static_cast<size_t>(dim);
  return d < trace.threads.size() ? trace.threads[d] : 1;
}

// ---- programs ----

namespace {

/// Every symbol must follow from the shapes and strides of tensors that the caller passes: an entry
/// with one unknown symbol gives it (E-PROG-06).
void check_symbols(const ir::Program& program) {
  std::vector<ir::Expr> entries;
  for (const ir::Param& p : program.params) {
    if (!p.buffer) continue;
    // The caller may leave out an output, unless its strides are sizes of their own.
    if (p.kind != ParamKind::output) {
      entries.insert(entries.end(), p.buffer.shape().begin(), p.buffer.shape().end());
    }
    entries.insert(entries.end(), p.buffer->strides.begin(), p.buffer->strides.end());
  }
  std::set<ir::Var, ir::ById> known;
  for (const ir::Param& p : program.params) {
    if (p.var) known.insert(p.var);
  }
  for (bool again = true; again;) {
    again = false;
    for (const ir::Expr& entry : entries) {
      std::set<ir::Var, ir::ById> unknown;
      ir::for_each_expr(entry, [&](const ir::Expr& e) {
        if (e.is<ir::VarNode>() && !known.contains(ir::Var::of(e))) unknown.insert(ir::Var::of(e));
      });
      if (unknown.size() != 1) continue;
      known.insert(*unknown.begin());
      again = true;
    }
  }
  for (const ir::Symbol& s : program.symbols) {
    if (known.contains(s.var)) continue;
    throw Error(codes::prog_06, s.var.loc(),
                "dim: {} follows from no shape or stride of an argument", s.var.name())
        .help("use it in the shape of an input, or pass it by value with k.scalar({})",
              s.var.name());
  }
}

}  // namespace

ir::Program trace_program(std::string_view name, const std::function<void(Builder&)>& author,
                          const Case& kernel_case, const Schedule& schedule) {
  Trace trace(std::string(name), schedule);
  try {
    Builder builder(trace, kernel_case);
    author(builder);
    if (trace.program.launches.empty()) {
      throw Error(codes::prog_05, {}, "program: {} has no launch", name);
    }
    check_symbols(trace.program);
    trace.check_schedule();
    for (const Schedule::Setting& s : trace.schedule().options)
      builder.option(s.name, s.text, s.where);
  } catch (Error& error) {
    error.note("while tracing {}", name);
    throw;
  }
  return std::move(trace.program);
}

ir::Program program(std::string_view name, const std::function<void(Builder&)>& author) {
  return trace_program(name, author, {}, {});
}

}  // namespace lang
}  // namespace tw
