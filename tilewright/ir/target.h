// What a program is compiled for, as a value: a name, a family and features. Passes ask
// `target.has(Feature::tma)`, never for a name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

enum class Feature : uint8_t {
  clusters,          // blocks that share memory across a cluster
  cp_async,          // asynchronous element copies
  tma,               // bulk tensor copies
  mma,               // matrix instructions of one warp
  wgmma,             // of a warp-group
  tcgen05,           // on tensor memory
  threads,           // a block has threads that programs can see
  l2_policy,         // accesses choose what stays in L2
  dependent_launch,  // a launch begins before the one that it depends on ends
};

class Target {
 public:
  Target(std::string_view name, std::string_view family, std::initializer_list<Feature> features);

  /// "cpu", "sm_90a", ...
  const std::string& name() const { return name_; }
  /// "cpu", "cuda" or "ascend".
  const std::string& family() const { return family_; }
  bool has(Feature feature) const { return (features_ >> static_cast<unsigned>(feature) & 1) != 0; }

  friend bool operator==(const Target& a, const Target& b) { return a.name_ == b.name_; }

 private:
  std::string name_, family_;
  uint64_t features_ = 0;
};

std::string to_text(const Target& target);

namespace targets {
extern const Target cpu, sm90a, sm100a, ascend950;
}  // namespace targets

/// Every target.
const std::vector<Target>& all_targets();
/// The target of a name: "cpu", "sm_90a", "cuda:sm_90a", or a family with what is beside the point
/// here, as in "cpu:avx2". An Error for another.
const Target& target_named(std::string_view name);

}  // namespace tw
