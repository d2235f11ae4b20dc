// tilewright bench: times a kernel on made-up arguments, beside a copy of as many bytes.
#include <algorithm>
#include <charconv>
#include <iostream>
#include <memory>

#include "arguments.h"
#include "commands.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/parallel.h"
#include "tilewright/runtime/profile.h"

namespace tw::tool {
namespace {

using runtime::BenchResult;
using runtime::KernelMetadata;

constexpr double kMost_ms = 3.6e6;  // an hour

struct Request {
  Source source;
  std::vector<std::string> sizes, scalars;  // name=value
  uint64_t seed = 1;
  runtime::BenchOptions timing;
};

template <class Number>
std::map<std::string, Number> numbers_of(const std::string& option,
                                         const std::vector<std::string>& texts) {
  std::map<std::string, Number> numbers;
  for (const std::string& text : texts) {
    const auto [name, value] = name_and_value(option, text);
    const char* end = value.data() + value.size();
    Number number{};
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc{} || stop != end) {
      throw CLI::ValidationError(option, "'" + text + "' is no number");
    }
    numbers[name] = number;
  }
  return numbers;
}

/// Whatever was given must be among `known`.
template <class Number>
void check_names(const std::string& option, const std::map<std::string, Number>& given,
                 const std::vector<std::string>& known, const KernelMetadata& kernel) {
  for (const auto& [name, value] : given) {
    if (std::count(known.begin(), known.end(), name) != 0) continue;
    throw CLI::ValidationError(
        option, format("{} has no {}; it has {}", kernel.name, name,
                       known.empty() ? "none that could be given" : join(known, ", ")));
  }
}

/// Values of the symbols, in their order.
std::vector<int64_t> sizes_of(const KernelMetadata& kernel, const Request& request) {
  const auto given = numbers_of<int64_t>("--size", request.sizes);
  std::vector<std::string> names, missing;
  std::vector<int64_t> values;
  for (const runtime::Symbol& symbol : kernel.symbols) {
    names.push_back(symbol.name);
    const auto size = given.find(symbol.name);
    if (size == given.end()) missing.push_back(format("--size {}=...", symbol.name));
    values.push_back(size == given.end() ? 0 : size->second);
  }
  check_names("--size", given, names, kernel);
  if (!missing.empty()) {
    throw CLI::ValidationError("--size", format("{} needs {}", kernel.name, join(missing, " ")));
  }
  for (const auto& [name, value] : given) {
    if (value < 0) throw CLI::ValidationError("--size", format("{} is {}", name, value));
  }
  return values;
}

std::map<std::string, double> scalars_of(const KernelMetadata& kernel, const Request& request) {
  const auto given = numbers_of<double>("--scalar", request.scalars);
  std::vector<std::string> names;
  for (const runtime::Param& param : kernel.params) {
    if (param.kind == runtime::ParamKind::scalar) names.push_back(param.name);
  }
  check_names("--scalar", given, names, kernel);
  return given;
}

Kernel kernel_of(const Source& source) {
  const std::string bytes = source.read();
  if (!bytes.starts_with("\x7f"
                         "ELF"))
    return source.compile(bytes, /*cache=*/true);
  if (source.target != "auto" || !source.options.empty()) {
    throw CLI::ValidationError(source.path, "is compiled already: --target, --option don't apply");
  }
  return Kernel::load(source.path);
}

void print_row(const std::string& name, const BenchResult& result, int64_t bytes) {
  std::cout << format("{:<8} {:>12.2f} {:>12.2f} {:>12.2f}\n", name, result.median_us(),
                      result.min_us(), result.gb_per_s(static_cast<double>(bytes)));
}

void bench(const Request& request) {
  const Kernel kernel = kernel_of(request.source);
  const KernelMetadata& metadata = kernel.metadata();
  const Arguments arguments(metadata, sizes_of(metadata, request), scalars_of(metadata, request),
                            request.seed);
  const BenchResult run = runtime::bench([&] { kernel(arguments.list()); }, request.timing);
  std::cout << format("{} for {} on {} threads, {} moved\n{}", kernel.name(), metadata.target,
                      runtime::thread_count(), bytes_text(arguments.bytes()),
                      arguments.description());
  std::cout << format("{:<8} {:>12} {:>12} {:>12}\n", "", "median us", "best us", "GB/s");
  print_row("kernel", run, arguments.bytes());
  if (arguments.bytes() < 2) return;
  const BenchResult copy = runtime::time_copy(arguments.bytes(), request.timing);
  print_row("copy", copy, arguments.bytes());
  std::cout << format("{:.0f} % of the speed of copying\n",
                      100 * copy.median_us() / run.median_us());
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand("bench", "times a kernel beside a copy of as many bytes");
  const auto request = std::make_shared<Request>();
  command
      ->add_option("FILE", request->source.path,
                   "a program in the text form, or a kernel that was exported")
      ->required();
  request->source.add_to(*command);
  add_pairs(*command, "--size", request->sizes, "a size of the kernel; all are needed");
  add_pairs(*command, "--scalar", request->scalars, "a scalar argument; else it is 1");
  command->add_option("--seed", request->seed, "of the random elements")->capture_default_str();
  command->add_option("--ms", request->timing.repeat_ms, "time that is measured, in milliseconds")
      ->check(CLI::Validator(
          [](std::string& text) {
            double ms = 0;
            const bool valid = CLI::detail::lexical_cast(text, ms) && ms > 0 && ms <= kMost_ms;
            return valid ? "" : format("{} is no number in (0, {:.0f}]", text, kMost_ms);
          },
          "MS"))
      ->capture_default_str();
  command->callback([request] { bench(*request); });
}

}  // namespace tw::tool
