// Programs on the command line: how they are named, read and compiled.
#include <iostream>
#include <iterator>

#include <fcntl.h>

#include "commands.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/text.h"
#include "tilewright/jit/compile.h"
#include "tilewright/runtime/file.h"

namespace tw::tool {

void Source::add_to(CLI::App& command) {
  command.add_option("--target", target, "cpu, cpu:avx2, ...; auto: the best that runs here");
  add_pairs(command, "--option", options, "a compile option; may be repeated");
}

std::string Source::read() const {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  auto bytes = runtime::read_file_at(AT_FDCWD, path);
  TW_REQUIRE(bytes.has_value(), "can't read {}: {}", path, runtime::system_reason());
  return *std::move(bytes);
}

Kernel Source::compile(const std::string& text, bool cache, const std::string& dump_dir,
                       bool verbose) const {
  CompileOptions compile_options{.target = target, .cache = cache, .verbose = verbose};
  for (const std::string& option : options) {
    const auto [name, value] = name_and_value("--option", option);
    compile_options.options.push_back({name, value});
  }
  compile_options.dump.dir = dump_dir;
  const std::string file = path == "-" ? "stdin" : path;
  const Kernel kernel =
      tw::compile(ir::parse_program(text, {.file = file, .locate = true}), compile_options);
  if (!kernel.diagnostics().list().empty()) std::cerr << to_text(kernel.diagnostics()) << "\n";
  return kernel;
}

std::pair<std::string, std::string> name_and_value(const std::string& option,
                                                   const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos || equals + 1 == text.size()) {
    throw CLI::ValidationError(option, "'" + text + "' must be NAME=VALUE");
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

void add_pairs(CLI::App& command, const std::string& option, std::vector<std::string>& pairs,
               const std::string& doc) {
  command.add_option(option, pairs, doc)->type_name("NAME=VALUE")->allow_extra_args(false);
}

std::string bytes_text(int64_t bytes) {
  if (bytes < 1024) return format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  for (const char* unit : {"KiB", "MiB"}) {
    if (value < 1024) return format("{:.1f} {}", value, unit);
    value /= 1024;
  }
  return format("{:.1f} GiB", value);
}

std::string usage_text(const runtime::DiskCache::Usage& usage) {
  const std::string size = bytes_text(usage.bytes);
  return format("{} kernel{}, {}", usage.entries, usage.entries == 1 ? "" : "s", size);
}

}  // namespace tw::tool
