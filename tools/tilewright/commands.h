// The commands of the tool `tilewright`. Each adds itself, with its options and what it does, to
// the command line; it runs while that is parsed.
//
// A mistake in the command line itself is a CLI::ParseError (exit code 2), anything else that fails
// another exception (exit code 1).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "tilewright/jit/kernel.h"
#include "tilewright/runtime/disk_cache.h"

namespace tw::tool {

void add_info(CLI::App& app);
void add_compile(CLI::App& app);
void add_bench(CLI::App& app);
void add_cache(CLI::App& app);

/// What compile and bench are given: a program as a file, and how to compile it.
struct Source {
  std::string path, target = "auto";
  std::vector<std::string> options;  // name=value

  void add_to(CLI::App& command);
  /// The bytes of the file; "-" is the standard input.
  std::string read() const;
  /// Compiles the text of a program. Warnings go to the standard error.
  Kernel compile(const std::string& text, bool cache, const std::string& dump_dir = {},
                 bool verbose = false) const;
};

/// "n=4096" as given to an option: name and value.
std::pair<std::string, std::string> name_and_value(const std::string& option,
                                                   const std::string& text);

/// An option that takes a NAME=VALUE each time that it is given.
void add_pairs(CLI::App& command, const std::string& option, std::vector<std::string>& pairs,
               const std::string& doc);

/// "1.5 MiB".
std::string bytes_text(int64_t bytes);
/// "12 kernels, 1.5 MiB".
std::string usage_text(const runtime::DiskCache::Usage& usage);

}  // namespace tw::tool
