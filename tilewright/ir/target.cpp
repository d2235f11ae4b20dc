#include "tilewright/ir/target.h"

namespace tw {

Target::Target(std::string_view name, std::string_view family,
               std::initializer_list<Feature> features)
    : name_(name), family_(family) {
  for (const Feature f : features) features_ |= uint64_t{1} << static_cast<unsigned>(f);
}

std::string to_text(const Target& target) { return target.name(); }

namespace targets {
const Target cpu("cpu", "cpu", {});
const Target sm90a("sm_90a", "cuda",
                   {Feature::clusters, Feature::cp_async, Feature::tma, Feature::mma,
                    Feature::wgmma, Feature::threads});
const Target sm100a("sm_100a", "cuda",
                    {Feature::clusters, Feature::cp_async, Feature::tma, Feature::mma,
                     Feature::tcgen05, Feature::threads});
const Target ascend950("ascend950", "ascend", {});
}  // namespace targets

const std::vector<Target>& all_targets() {
  static const std::vector<Target> all = {targets::cpu, targets::sm90a, targets::sm100a,
                                          targets::ascend950};
  return all;
}

}  // namespace tw
