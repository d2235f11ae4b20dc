// tilewright info: what is installed, what this machine runs, and what the environment says.
#include <iostream>

#include "commands.h"
#include "tilewright/backend/backend.h"
#include "tilewright/base/env.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/disk_cache.h"
#include "tilewright/runtime/parallel.h"

namespace tw::tool {
namespace {

/// A row; only the first of several with one title shows it.
void row(const std::string& title, const std::string& text) {
  std::cout << format("{:<13} {}\n", title, text);
}

void show_backends() {
  std::vector<std::string> targets;
  std::vector<backend::Backend::Fact> facts;
  std::string title = "backends";
  for (const std::string& name : backend::installed_backends()) {
    try {
      const backend::Backend& found = backend::load_backend(name);
      row(title, format("{} ({})", name, found.version()));
      for (const backend::Backend::Fact& fact : found.facts()) {
        facts.push_back({name + " " + fact.name, fact.text});
      }
      for (const std::string& target : found.targets_here()) targets.push_back(target);
    } catch (const Error& error) {
      row(title, format("{}: {}", name, error.message()));
    }
    title.clear();
  }
  if (!title.empty()) row(title, "none is installed: kernels can be loaded but not compiled");
  for (const backend::Backend::Fact& fact : facts) row(fact.name, fact.text);
  row("targets", targets.empty() ? "none" : join(targets, ", "));
}

std::string cache_text() {
  const std::string folder = env::cache_folder();
  if (folder.empty()) return "none: neither TW_CACHE_DIR, XDG_CACHE_HOME nor HOME is set";
  const auto usage = runtime::DiskCache({.folder = folder}).usage();
  return format("{}: {} of at most {}{}", folder, usage_text(usage),
                bytes_text(env::cache_max_bytes.get()),
                env::cache_disable.get()    ? "; disabled"
                : env::cache_readonly.get() ? "; read only"
                                            : "");
}

void info() {
  row("version", format("{}, build {}", TW_VERSION, backend::build_id()));
  show_backends();
  row("threads", std::to_string(runtime::thread_count()));
  row("cache", cache_text());
  std::string title = "environment";
  for (const env::Row& variable : env::table()) {
    const std::string value = env::text_in_force(variable);
    if (value.empty()) continue;
    row(title, format("{}={}", variable.name, value));
    title.clear();
  }
}

}  // namespace

void add_info(CLI::App& app) {
  app.add_subcommand("info", "version, backends, targets, threads, cache, environment")
      ->callback(info);
}

}  // namespace tw::tool
