#include "tilewright/lang/kernel_def.h"

#include "tilewright/base/codes.h"
#include "tilewright/ir/text.h"

namespace tw {
inline namespace lang {

Expr Sizes::operator()(std::string_view name, SourceLoc where) const {
  std::vector<std::string> names;
  for (const ir::Symbol& s : program_.symbols) {
    if (s.var.name() == name) return Expr(s.var);
    names.push_back(s.var.name());
  }
  throw Error(codes::sched_01, where, "schedule: {} has no size called {}", program_.name, name)
      .help("it has {}", join(names, ", "));
}

KernelDef& KernelDef::schedule(const Target& target, ScheduleFunction f) {
  return schedule(target.name(), std::move(f));
}
KernelDef& KernelDef::schedule(std::string_view family, ScheduleFunction f) {
  entries_.push_back({std::string(family), std::move(f), nullptr});
  return *this;
}
KernelDef& KernelDef::when(Condition condition) {
  TW_REQUIRE(!entries_.empty(), "{}: when() needs a schedule before it", name_);
  entries_.back().condition = std::move(condition);
  return *this;
}

namespace {

/// Without variants before the last one that are the same program: their schedules had nothing to
/// gain from their conditions.
std::vector<Variant> without_repeats(std::vector<Variant> variants) {
  if (variants.size() == 1) return variants;
  const std::string last = ir::canonical_text(variants.back().program);
  while (variants.size() > 1 && ir::canonical_text(variants.end()[-2].program) == last) {
    variants.erase(variants.end() - 2);
  }
  return variants;
}

}  // namespace

std::vector<Variant> KernelDef::trace(const Target& target, const Case& kernel_case) const {
  std::vector<Variant> variants;
  for (const std::string& wanted : {target.name(), target.family()}) {
    for (const Entry& entry : entries_) {
      if (entry.target != wanted) continue;
      Schedule schedule;
      entry.set(schedule, kernel_case);
      Variant variant{trace(target, kernel_case, schedule), {}};
      if (entry.condition) variant.guard = entry.condition(Sizes(variant.program)).ir();
      const bool always = !variant.guard;
      variants.push_back(std::move(variant));
      if (always) return without_repeats(std::move(variants));
    }
    if (!variants.empty()) break;
  }
  variants.push_back({trace(target, kernel_case, Schedule()), {}});
  return without_repeats(std::move(variants));
}

ir::Program KernelDef::trace(const Target& target, const Case& kernel_case,
                             const Schedule& schedule) const {
  const Schedule::Settings& settings = schedule.settings();
  if (!settings.cluster.empty() && !target.has(Feature::clusters)) {
    throw Error(codes::tgt_01, settings.cluster_where,
                "{}: cluster({}) in the {} schedule, but {} has no clusters", name_,
                settings.cluster[0], target.name(), target.name());
  }
  return trace_program(
      name_, [&](Builder& k) { dataflow_(k, kernel_case); }, kernel_case, schedule);
}

KernelDef define_kernel(std::string name, std::function<void(Builder&)> dataflow) {
  return {std::move(name), [f = std::move(dataflow)](Builder& k, const Case&) { f(k); }};
}
KernelDef define_kernel(std::string name, std::function<void(Builder&, DType)> dataflow) {
  return {std::move(name),
          [f = std::move(dataflow)](Builder& k, const Case& c) { f(k, c.dtype(0)); }};
}
KernelDef define_kernel(std::string name, std::function<void(Builder&, DType, DType)> dataflow) {
  return {std::move(name),
          [f = std::move(dataflow)](Builder& k, const Case& c) { f(k, c.dtype(0), c.dtype(1)); }};
}
KernelDef define_kernel(std::string name,
                        std::function<void(Builder&, DType, DType, DType)> dataflow) {
  return {std::move(name), [f = std::move(dataflow)](Builder& k, const Case& c) {
            f(k, c.dtype(0), c.dtype(1), c.dtype(2));
          }};
}
KernelDef define_kernel(std::string name, KernelDef::Dataflow dataflow) {
  return {std::move(name), std::move(dataflow)};
}

}  // namespace lang
}  // namespace tw
