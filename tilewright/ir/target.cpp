#include "tilewright/ir/target.h"

#include "tilewright/base/error.h"

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
                    Feature::wgmma, Feature::threads, Feature::l2_policy,
                    Feature::dependent_launch});
const Target sm100a("sm_100a", "cuda",
                    {Feature::clusters, Feature::cp_async, Feature::tma, Feature::mma,
                     Feature::tcgen05, Feature::threads, Feature::l2_policy,
                     Feature::dependent_launch});
const Target ascend950("ascend950", "ascend", {});
}  // namespace targets

const std::vector<Target>& all_targets() {
  static const std::vector<Target> all = {targets::cpu, targets::sm90a, targets::sm100a,
                                          targets::ascend950};
  return all;
}

const Target& target_named(std::string_view name) {
  const size_t colon = name.find(':');
  const std::string_view family = name.substr(0, colon);
  const std::string_view chip = colon == name.npos ? name : name.substr(colon + 1);
  for (const Target& t : all_targets()) {
    if (t.name() == chip || (t.name() == family && t.family() == family)) return t;
  }
  std::vector<std::string> names;
  for (const Target& t : all_targets()) names.push_back(t.name());
  throw Error({}, {}, "target: there is none called '{}'", name)
      .help("the targets are {}", join(names, ", "));
}

}  // namespace tw
