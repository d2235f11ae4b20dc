// Code of the CPU in this process: loads objects and finds their entries.
#pragma once

#include <memory>
#include <string>

#include "tilewright/runtime/module.h"

namespace tw::cpu {

/// Loads an ELF object made by `compile_object`; its memory is freed with the module. A symbol that
/// is nowhere to be found is an Error.
std::unique_ptr<runtime::Module> load_object(const std::string& object);

}  // namespace tw::cpu
