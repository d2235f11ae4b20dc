#include "tilewright/jit/compile.h"

#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "tilewright/base/env.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/text.h"
#include "tilewright/pass/assert_bounds.h"
#include "tilewright/pass/check_target.h"
#include "tilewright/pass/checks.h"
#include "tilewright/runtime/disk_cache.h"

namespace tw {
namespace {

using Content = std::shared_ptr<const Kernel::Content>;

/// The backend of a target: what stands before the colon, or the chip's family.
std::string family_of(const std::string& target) {
  const std::string name = target.substr(0, target.find(':'));
  for (const Target& known : all_targets()) {
    if (known.family() == name) return name;
  }
  return target_named(target).family();
}

ir::Program with_options(ir::Program program, const std::vector<ir::Option>& options) {
  for (const ir::Option& option : options) {
    program = ir::with_option(std::move(program), option.name, option.value);
  }
  if (env::check_bounds.get()) program = ir::with_option(std::move(program), "check_bounds", "on");
  return program;
}

/// The names that metadata carries; the canonical text has none.
std::string names_of(const ir::Program& program) {
  std::string names = program.name;
  for (const ir::Symbol& symbol : program.symbols) names += ' ' + symbol.var.name();
  for (const ir::Param& param : program.params) {
    names += ' ' + (param.var ? param.var.name() : param.buffer.name());
  }
  for (const ir::Stmt& launch : program.launches) names += ' ' + launch.as<ir::Launch>().name;
  return names;
}

/// Everything that the code depends on. The program's text is last, since it has no end of its own.
std::string key_of(const backend::Backend& backend, const std::string& target,
                   const ir::Program& program) {
  ir::Program unmarked = program;
  unmarked.options.clear();  // a default that is written out is the same as one that isn't
  return format("metadata {}\nbackend {} {}\nbuild {}\ntarget {}\nnames {}\n{}{}",
                runtime::kMetadataVersion, backend.name(), backend.version(), backend::build_id(),
                target, names_of(program), ir::options_text(program), ir::canonical_text(unmarked));
}

const runtime::DiskCache& disk_cache() {
  static const runtime::DiskCache cache(runtime::DiskCacheOptions::from_environment());
  return cache;
}

Content loaded(const backend::Backend& backend, const ir::Program& program,
               backend::Artifact artifact, backend::CompileReport report, const char* origin) {
  auto content = std::make_shared<Kernel::Content>();
  std::shared_ptr<runtime::Module> module = backend.load(artifact);
  content->loaded = std::make_unique<runtime::LoadedKernel>(artifact.metadata, std::move(module));
  content->origin = origin;
  content->backend = &backend;
  content->artifact = std::move(artifact);
  content->report = std::move(report);
  content->program = program;
  return content;
}

Content from_disk(const backend::Backend& backend, const ir::Program& program,
                  const std::string& key) {
  auto files = disk_cache().find(key);
  if (!files || !files->contains("metadata.json") || !files->contains("code")) return nullptr;
  try {
    return loaded(backend, program,
                  {runtime::metadata_from_json(files->at("metadata.json")),
                   std::move(files->at("code")), std::move((*files)["deferred"])},
                  {}, "disk");
  } catch (const Error&) {
    return nullptr;  // written by something else than this version: a miss
  }
}

Content build(const backend::Backend& backend, const std::string& target,
              const ir::Program& program, const CompileOptions& options) {
  std::optional<ir::Dump> dump;
  if (!options.dump.dir.empty()) dump.emplace(options.dump);
  backend::CompileReport report{.keep_texts = options.keep_texts,
                                .dump = dump ? &*dump : nullptr,
                                .on_demand = options.on_demand};
  pass::check_program(program, report.diagnostics);
  pass::check_target(program, target_named(target), report.diagnostics);
  report.diagnostics.throw_errors();
  if (options.verbose) {
    pass::check_hints(program, target_named(target), report.diagnostics);
    pass::suspect_bounds(program, report.diagnostics);
  }
  backend::Artifact artifact = backend.compile(program, target, &report);
  if (dump) {
    dump->add_file("times.txt", to_text(report.steps));
    dump->check_passes();
    report.dump = nullptr;
  }
  return loaded(backend, program, std::move(artifact), std::move(report), "compiled");
}

Content find_or_build(const backend::Backend& backend, const std::string& target,
                      const ir::Program& program, const std::string& key, bool on_demand) {
  if (Content found = from_disk(backend, program, key)) return found;
  Content made = build(backend, target, program, {.on_demand = on_demand});
  const backend::Artifact& artifact = made->artifact;
  runtime::CacheFiles files = {{"metadata.json", runtime::to_json(artifact.metadata)},
                               {"code", artifact.code}};
  if (!artifact.deferred.empty()) files["deferred"] = artifact.deferred;
  disk_cache().publish(key, files);
  return made;
}

/// Kernels of this process by key. A kernel that is being compiled is a future
/// that others wait for.
class MemoryCache {
 public:
  template <class Make>
  Content get(const std::string& key, Make make) {
    std::promise<Content> promise;
    std::shared_future<Content> entry;
    bool mine = false;
    {
      const std::lock_guard lock(mutex_);
      const auto [it, is_new] = entries_.try_emplace(key);
      if (is_new) it->second = promise.get_future().share();
      entry = it->second;
      mine = is_new;
    }
    if (!mine) return entry.get();
    try {
      promise.set_value(make());
    } catch (...) {
      promise.set_exception(std::current_exception());
      const std::lock_guard lock(mutex_);
      entries_.erase(key);  // the next one tries again
    }
    return entry.get();
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_future<Content>> entries_;
};

MemoryCache& memory_cache() {
  static MemoryCache cache;
  return cache;
}

}  // namespace

Kernel compile(const ir::Program& source, const CompileOptions& options) {
  const ir::Program program = with_options(source, options.options);
  const std::string name = options.target == "auto" ? "cpu" : options.target;
  const backend::Backend& backend = backend::load_backend(family_of(name));
  const std::string target = backend.resolve_target(name, program);
  const std::string dump_dir = ir::option(program, "dump");
  const bool dumps = !options.dump.dir.empty() || dump_dir != "none";
  if (options.keep_texts || options.verbose || dumps || !options.cache) {
    CompileOptions own = options;
    if (dumps && own.dump.dir.empty()) own.dump.dir = dump_dir;
    return Kernel(build(backend, target, program, own));
  }
  const std::string key = key_of(backend, target, program);
  return Kernel(memory_cache().get(
      key, [&] { return find_or_build(backend, target, program, key, options.on_demand); }));
}

std::vector<CompileOutcome> compile_many(const std::vector<ir::Program>& programs,
                                         const CompileOptions& options, int workers,
                                         OnError on_error) {
  std::vector<CompileOutcome> outcomes(programs.size());
  std::vector<std::exception_ptr> errors(programs.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> stopped{false};
  const auto work = [&] {
    for (size_t i = next++; i < programs.size() && !stopped; i = next++) {
      try {
        outcomes[i].kernel = compile(programs[i], options);
      } catch (const std::exception& error) {
        outcomes[i].error = error.what();
        errors[i] = std::current_exception();
        if (on_error == OnError::stop) stopped = true;
      }
    }
  };
  if (workers <= 0) workers = static_cast<int>(std::thread::hardware_concurrency());
  workers = std::max(1, std::min(workers, static_cast<int>(programs.size())));
  std::vector<std::jthread> threads;
  for (int i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  threads.clear();  // joins
  if (on_error == OnError::stop) {
    for (const std::exception_ptr& error : errors) {
      if (error) std::rethrow_exception(error);
    }
  }
  return outcomes;
}

void clear_memory_cache() { memory_cache().clear(); }

}  // namespace tw
