// What may differ from target to target without changing results (language 14.4): a schedule sets
// tunables, threads, stages, layouts, ... by the names that the dataflow gave them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/base/dtype.h"
#include "tilewright/base/source_loc.h"
#include "tilewright/ir/enums.h"

namespace tw {
inline namespace lang {

using ir::RasterOrder;

/// One to three trace-time numbers.
struct Dims {
  std::vector<int64_t> values;
  Dims() = default;
  Dims(int64_t x) : values{x} {}
  Dims(std::initializer_list<int64_t> list) : values(list) {}
};

/// For what a kernel definition is traced: its dtypes, and the sizes it specialises on.
struct Case {
  std::vector<DType> dtypes;
  std::map<std::string, int64_t> constants;

  DType dtype(size_t n = 0) const { return dtypes.at(n); }
  /// A size by the name that the dataflow gave it.
  int64_t constant(const std::string& name) const;
};

class Schedule {
 public:
  using Where = SourceLoc;
  /// A tunable of the dataflow.
  Schedule& set(std::string_view tunable, int64_t value, Where where = Where::here());
  Schedule& threads(Dims threads);
  Schedule& cluster(Dims cluster, Where where = Where::here());
  Schedule& min_blocks_per_sm(int64_t blocks);
  Schedule& max_registers(int64_t registers);
  /// Stages of the pipelined loop of that name; without a name, of all.
  Schedule& stages(std::string_view loop, int64_t stages, Where where = Where::here());
  Schedule& stages(int64_t stages);
  /// Layout, in the text form of layouts, or pipeline copies of the buffer of that name.
  Schedule& layout(std::string_view buffer, std::string_view text, Where where = Where::here());
  Schedule& versions(std::string_view buffer, int64_t versions, Where where = Where::here());
  /// Most contiguous elements per thread and access in parallel loops and copies that set none.
  Schedule& max_vector(int64_t elements);
  /// Order in which blocks run: panels of that many rows (or columns).
  Schedule& swizzle_blocks(int64_t panel, RasterOrder order = RasterOrder::row);
  /// A compile option (language 14.3).
  Schedule& option(std::string_view name, std::string_view value, Where where = Where::here());

  struct Setting {
    std::string name;
    int64_t value = 0;
    std::string text = {};
    SourceLoc where = {};
  };
  /// Everything that was set, as data.
  struct Settings {
    std::vector<Setting> tunables, stages, layouts, versions, options;
    std::vector<int64_t> threads, cluster;
    SourceLoc cluster_where;
    int64_t all_stages = 0, max_vector = 0, raster_panel = 0;
    int64_t min_blocks_per_sm = 0, max_registers = 0;
    RasterOrder raster = RasterOrder::none;
  };
  const Settings& settings() const { return settings_; }

 private:
  Settings settings_;
};

/// The setting of that name; the last one counts. Null if there is none.
const Schedule::Setting* find_setting(const std::vector<Schedule::Setting>& list,
                                      std::string_view name);

}  // namespace lang
}  // namespace tw
