// Where NVRTC is, without opening it: a kernel from the cache must not wait for a compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tw::cuda {

/// A library in one of the places of docs/environment.md, which are looked through in that order.
struct NvrtcFile {
  std::string path;     // empty: not found
  std::string build;    // its build id in hexadecimal, else its size: names what it generates
  std::string missing;  // where it was looked for, when it isn't found
};
NvrtcFile find_nvrtc();

/// The same, found once.
const NvrtcFile& nvrtc_file();

/// The build id in the notes of an ELF file; empty when it has none or is no such file.
std::string elf_build_id(const std::string& path);

}  // namespace tw::cuda
