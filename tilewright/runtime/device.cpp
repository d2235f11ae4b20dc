#include "tilewright/runtime/device.h"

#include "tilewright/base/error.h"

namespace tw {

std::string to_text(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::ascend:
      return "ascend";
  }
  return "device kind " + std::to_string(static_cast<int>(kind));
}

std::string to_text(Device device) {
  if (device.kind == DeviceKind::cpu) return "cpu";
  return to_text(device.kind) + ":" + std::to_string(device.id);
}

DeviceKind device_kind_named(const std::string& name) {
  for (const DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda, DeviceKind::ascend}) {
    if (to_text(kind) == name) return kind;
  }
  throw Error(Code{}, {}, "device: unknown kind '{}', it must be cpu, cuda or ascend", name);
}

}  // namespace tw
