// Makes a shared object of object code, with the system's linker.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tw::runtime {

/// Links one relocatable object to a shared object and returns its bytes. `libraries` are
/// names for the linker's -l (":libsleef.so.3"); only those that are needed are recorded.
/// Without a linker on this machine it is E-TOOL-01; an object that can't be linked is an
/// Error with the linker's words.
std::string link_shared_object(std::string_view object, std::span<const std::string> libraries);

}  // namespace tw::runtime
