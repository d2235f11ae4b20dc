#include "tilewright/lang/schedule.h"

#include "tilewright/base/error.h"

namespace tw {
inline namespace lang {

int64_t Case::constant(const std::string& name) const {
  const auto known = constants.find(name);
  TW_REQUIRE(known != constants.end(), "case: no constant is called {}", name);
  return known->second;
}

Schedule& Schedule::set(std::string_view tunable, int64_t value, Where where) {
  settings_.tunables.push_back({std::string(tunable), value, {}, where});
  return *this;
}
Schedule& Schedule::threads(Dims threads) {
  settings_.threads = threads.values;
  return *this;
}
Schedule& Schedule::cluster(Dims cluster, Where where) {
  settings_.cluster = cluster.values;
  settings_.cluster_where = where;
  return *this;
}
Schedule& Schedule::min_blocks_per_sm(int64_t blocks) {
  settings_.min_blocks_per_sm = blocks;
  return *this;
}
Schedule& Schedule::max_registers(int64_t registers) {
  settings_.max_registers = registers;
  return *this;
}
Schedule& Schedule::stages(std::string_view loop, int64_t stages, Where where) {
  settings_.stages.push_back({std::string(loop), stages, {}, where});
  return *this;
}
Schedule& Schedule::stages(int64_t stages) {
  settings_.all_stages = stages;
  return *this;
}
Schedule& Schedule::layout(std::string_view buffer, std::string_view text, Where where) {
  settings_.layouts.push_back({std::string(buffer), 0, std::string(text), where});
  return *this;
}
Schedule& Schedule::versions(std::string_view buffer, int64_t versions, Where where) {
  settings_.versions.push_back({std::string(buffer), versions, {}, where});
  return *this;
}
Schedule& Schedule::max_vector(int64_t elements) {
  settings_.max_vector = elements;
  return *this;
}
Schedule& Schedule::swizzle_blocks(int64_t panel, RasterOrder order) {
  settings_.raster_panel = panel;
  settings_.raster = order;
  return *this;
}
Schedule& Schedule::option(std::string_view name, std::string_view value, Where where) {
  settings_.options.push_back({std::string(name), 0, std::string(value), where});
  return *this;
}

const Schedule::Setting* find_setting(const std::vector<Schedule::Setting>& list,
                                      std::string_view name) {
  for (auto setting = list.rbegin(); setting != list.rend(); ++setting) {
    if (setting->name == name) return &*setting;
  }
  return nullptr;
}

}  // namespace lang
}  // namespace tw
