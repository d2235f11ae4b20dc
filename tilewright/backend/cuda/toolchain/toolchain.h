// From CUDA C++ to machine code in this process, through NVRTC; and what is known of its releases.
#pragma once

#include <string>
#include <vector>

#include "tilewright/backend/cuda/target.h"

namespace tw::cuda {

/// What to compile, and how. The source includes no headers; functions without a mark are the
/// device's.
struct Translation {
  std::string name;                // of the kernel, for messages
  std::string source;              // CUDA C++20
  std::vector<std::string> flags;  // beside the architecture and those of every kernel
  bool keep_ptx = false;
  bool is_edited = false;         // by an author: what is wrong with it is an Error
  bool assembler_report = false;  // registers, spills and memory of each entry, in the log
};

struct Translated {
  std::string cubin;
  std::string ptx;  // if it is kept
  std::string log;  // warnings, and the assembler's report
};

/// Compiles it. NVRTC that can't be opened is an Error (E-TOOL-01), a source that it refuses an
/// InternalError with its messages. Opens NVRTC when called first.
Translated translate(const Translation& translation, const Target& target);

/// `nvrtc 13 build 65be0db3...`: what the generated code depends on, found without opening NVRTC;
/// `no nvrtc` when it isn't there.
std::string toolchain_identity();

/// For people: `NVRTC 13.0.88 (/usr/...)` with what is known to be wrong with it, or why there is
/// none. Opens NVRTC, and compiles an empty program to learn its release.
std::string describe_toolchain();

/// The release in a PTX text's head: "13.0.88"; empty when there is none.
std::string release_of(const std::string& ptx);

/// What is known to be wrong with a release; empty when nothing is.
std::string known_fault(const std::string& release);

/// The machine code of a cubin as text, by nvdisasm or cuobjdump. Neither installed is an Error
/// (E-TOOL-01).
std::string disassemble(const std::string& cubin);

}  // namespace tw::cuda
