// Kernel definitions: one dataflow, a schedule per target (language 14.4). Tracing a definition for
// dtypes, constants and a target gives programs; compiling and launching them is in jit/.
//
//   static const KernelDef def = define_kernel("rms_norm", dataflow)
//       .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 8); });
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tilewright/ir/target.h"
#include "tilewright/lang/builder.h"

namespace tw {
inline namespace lang {

/// The sizes of a program by name, for conditions.
class Sizes {
 public:
  explicit Sizes(const ir::Program& program) : program_(program) {}
  /// The size that the dataflow called so; E-SCHED-01 for another name.
  Expr operator()(std::string_view name, SourceLoc where = SourceLoc::here()) const;

 private:
  const ir::Program& program_;
};

/// A program of a definition, and when it may be used: a condition over its sizes, null for always.
struct Variant {
  ir::Program program;
  ir::Expr guard;
};

class KernelDef {
 public:
  using Dataflow = std::function<void(Builder&, const Case&)>;
  using ScheduleFunction = std::function<void(Schedule&, const Case&)>;
  using Condition = std::function<Expr(const Sizes&)>;

  KernelDef(std::string name, Dataflow dataflow)
      : name_(std::move(name)), dataflow_(std::move(dataflow)) {}

  /// Adds a schedule of one target, or of a family ("cpu", "cuda", "ascend").
  KernelDef& schedule(const Target& target, ScheduleFunction f);
  KernelDef& schedule(std::string_view family, ScheduleFunction f);
  /// Restricts the schedule added last to calls of certain sizes; several schedules of one target
  /// are variants of one kernel, tried in this order.
  KernelDef& when(Condition condition);

  const std::string& name() const { return name_; }
  /// The programs for a target; the last one has no guard. Those of the target itself, else of its
  /// family, else one with the defaults.
  std::vector<Variant> trace(const Target& target, const Case& kernel_case = {}) const;
  /// One program, with a schedule of the caller's: for tuning.
  ir::Program trace(const Target& target, const Case& kernel_case, const Schedule& schedule) const;

 private:
  struct Entry {
    std::string target;  // name or family
    ScheduleFunction set;
    Condition condition;
  };
  std::string name_;
  Dataflow dataflow_;
  std::vector<Entry> entries_;
};

/// Dataflows may take the builder alone, with one to three dtypes, or with the whole case.
KernelDef define_kernel(std::string name, std::function<void(Builder&)> dataflow);
KernelDef define_kernel(std::string name, std::function<void(Builder&, DType)> dataflow);
KernelDef define_kernel(std::string name, std::function<void(Builder&, DType, DType)> dataflow);
KernelDef define_kernel(std::string name,
                        std::function<void(Builder&, DType, DType, DType)> dataflow);
KernelDef define_kernel(std::string name, KernelDef::Dataflow dataflow);

}  // namespace lang
}  // namespace tw
