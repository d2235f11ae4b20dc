#include "tilewright/backend/cuda/target.h"

#include <algorithm>

#include "tilewright/backend/cuda/device/driver.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

std::string list_of_targets() {
  std::vector<std::string> names;
  for (const Target& target : all_targets()) names.push_back(target.full_name());
  return join(names, ", ");
}

}  // namespace

// CUDA C++ Programming Guide 13.0, section "Compute Capabilities", technical specifications.
const std::vector<Target>& all_targets() {
  static const std::vector<Target> all = {{.name = "sm_90a", .major = 9, .minor = 0},
                                          {.name = "sm_100a", .major = 10, .minor = 0}};
  return all;
}

const Target& target_named(const std::string& full_name) {
  for (const Target& target : all_targets()) {
    if (target.full_name() == full_name) return target;
  }
  throw Error({}, {}, "target: there is none called '{}'", full_name)
      .help("the targets of NVIDIA are {}", list_of_targets());
}

const Target* target_for(int major, int minor) {
  for (const Target& target : all_targets()) {
    if (target.major == major && target.minor == minor) return &target;
  }
  return nullptr;
}

std::string resolve_target(const std::string& name) {
  if (name != "cuda")
    return target_named(name.starts_with("sm_") ? "cuda:" + name : name).full_name();
  const DriverState& state = find_driver();
  if (state.devices.empty()) {
    throw Error(codes::tgt_04, {}, "cuda: there is no device to take the target from: {}",
                state.reason)
        .help("cuda:sm_90a compiles without a device");
  }
  const DeviceFacts& first = state.devices[0];
  const Target* target = target_for(first.major, first.minor);
  if (target != nullptr) return target->full_name();
  throw Error(codes::tgt_04, {},
              "cuda: device 0 ({}) has compute capability {}.{}, the targets are {}", first.name,
              first.major, first.minor, list_of_targets())
      .help("name the target: cuda:sm_90a compiles without such a device");
}

std::vector<std::string> targets_here() {
  std::vector<std::string> names;
  for (const DeviceFacts& device : find_driver().devices) {
    const Target* target = target_for(device.major, device.minor);
    if (target == nullptr) continue;
    const std::string name = target->full_name();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace tw::cuda
