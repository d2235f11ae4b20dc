// The builder: parameters, sizes and launches of a program, and `program`, which traces one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tilewright/lang/buffer.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/schedule.h"

namespace tw {
inline namespace lang {

class Trace;

/// Promises about a size, checked at each call (E-HOST-05) and used by the compiler.
struct SizeFacts {
  int64_t multiple_of = 1;
  int64_t min = 0;
  int64_t max = INT64_MAX;
};

struct TensorOptions {
  Extents strides = {};   // in elements; empty: row-major, compact
  int64_t align = 0;      // promised alignment of the base in bytes; 0: that of an element
  bool nullable = false;  // a null tensor may be passed
};

enum class Init : uint8_t { undefined, zero };

struct LaunchOptions {
  Dims threads = {};  // absent: the backend chooses
  Dims cluster = {};
  bool pad_grid = false;  // up to a multiple of the cluster; blocks then have indices past the grid
  int64_t min_blocks_per_sm = 0, max_registers = 0, dynamic_shared_extra = 0;
  bool cooperative = false, dependent_launch = false;
  std::string name = {};
};

class Builder {
 public:
  /// A run-time size, solved from the shapes of the arguments.
  Expr dim(std::string_view name, const SizeFacts& facts = {}, SourceLoc where = SourceLoc::here());
  /// A size known when traced: one kernel for each value. Only in a kernel definition.
  int64_t constant(std::string_view name, SourceLoc where = SourceLoc::here());
  /// A number that schedules may set; it must not change results. Only its default in a program
  /// without definition.
  int64_t tunable(std::string_view name, int64_t default_value,
                  SourceLoc where = SourceLoc::here());

  // Parameters, in the order of the call.
  Buffer input(std::string_view name, DType dtype, const Extents& shape,
               const TensorOptions& options = {}, SourceLoc where = SourceLoc::here());
  Buffer inout(std::string_view name, DType dtype, const Extents& shape,
               const TensorOptions& options = {}, SourceLoc where = SourceLoc::here());
  Buffer output(std::string_view name, DType dtype, const Extents& shape,
                const TensorOptions& options = {}, SourceLoc where = SourceLoc::here());
  Expr scalar(std::string_view name, DType dtype, SourceLoc where = SourceLoc::here());
  /// A size as a parameter, for one that no shape tells; calls check what is promised of it.
  void scalar(const Expr& dim, SourceLoc where = SourceLoc::here());
  /// An address without shape; view_at makes tensors of it.
  Buffer pointer(std::string_view name, DType dtype, SourceLoc where = SourceLoc::here());

  /// Device memory that the runtime provides for one call.
  Buffer workspace(DType dtype, const Extents& shape, Init init = Init::undefined,
                   std::string_view name = "workspace", SourceLoc where = SourceLoc::here());

  /// Runs the body once for each block of the grid; launches run in program order.
  void launch(const Extents& grid, const LaunchOptions& options, const Body& body,
              SourceLoc where = SourceLoc::here());
  void launch(const Extents& grid, const Body& body, SourceLoc where = SourceLoc::here());

  /// Sets a compile option (language 14.3) for this program.
  void option(std::string_view name, std::string_view value, SourceLoc where = SourceLoc::here());

 private:
  friend ir::Program trace_program(std::string_view, const std::function<void(Builder&)>&,
                                   const Case&, const Schedule&);
  Builder(Trace& trace, const Case& kernel_case) : trace_(trace), case_(kernel_case) {}
  Buffer tensor(ir::ParamKind kind, std::string_view name, DType dtype, const Extents& shape,
                const TensorOptions& options, SourceLoc where);
  std::vector<ir::Expr> host_extents(const Site& site, const Extents& shape) const;
  void check_outside_launch(const Site& site) const;

  Trace& trace_;
  const Case& case_;
};

/// Threads of a block along a dimension, where the launch fixes them (E-LAUNCH-01).
int64_t thread_extent(int dim = 0, SourceLoc where = SourceLoc::here());

/// Runs the callable once and gives the program that it wrote.
ir::Program program(std::string_view name, const std::function<void(Builder&)>& author);
/// The same with the constants of a case and the settings of a schedule (E-SCHED-01 for names that
/// the program does not have).
ir::Program trace_program(std::string_view name, const std::function<void(Builder&)>& author,
                          const Case& kernel_case, const Schedule& schedule);

}  // namespace lang
}  // namespace tw
