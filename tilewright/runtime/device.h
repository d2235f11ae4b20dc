// Where memory is and where a kernel runs; and the caller's stream.
#pragma once

#include <cstdint>
#include <string>

namespace tw {

/// Kinds of devices. The numbers are stable: they are stored in artefacts.
enum class DeviceKind : uint8_t { cpu = 0, cuda = 1, ascend = 2 };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int32_t id = 0;
  friend constexpr bool operator==(Device a, Device b) = default;
};

/// "cpu", "cuda", "ascend".
std::string to_text(DeviceKind kind);
/// "cpu", "cuda:1". The id of a CPU is left out.
std::string to_text(Device device);
/// Reads the name of a kind; an unknown one is an Error that lists the known ones.
DeviceKind device_kind_named(const std::string& name);

/// The caller's stream, as the device's driver names it. Null is the default
/// stream; a CPU has none.
struct Stream {
  void* handle = nullptr;
};

}  // namespace tw
