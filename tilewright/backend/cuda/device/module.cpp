#include "tilewright/backend/cuda/device/module.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include "tilewright/backend/cuda/deferred.h"
#include "tilewright/backend/cuda/device/gpu.h"
#include "tilewright/backend/cuda/device/tensor_map.h"
#include "tilewright/backend/cuda/target.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::cuda {
namespace {

using runtime::LaunchRequest;
using runtime::Variant;

constexpr size_t kMaxMaps = 16;  // descriptors of a launch; parameters are 4 KiB in all

/// A copy of a kernel's name that lives as long as the process: reports of faults come late.
const std::string* kept(const std::string& name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return &*names.insert(name).first;
}

/// An entry on one device, ready to launch: all but grid, stream and arguments.
struct Loaded {
  Gpu* gpu;
  CUfunction function;
  CUlaunchConfig config;
  std::array<CUlaunchAttribute, 3> attributes;
  int64_t resident_blocks = INT64_MAX;  // limit of a cooperative launch
};

struct Entry {
  Variant variant;
  const std::string* kernel;
  bool is_deferred = false, stands_in = false;
  std::string code;  // of a deferred entry, once it is compiled
  std::array<std::atomic<const Loaded*>, kMaxGpus> on{};
};

unsigned extent(const std::vector<int64_t>& extents, size_t i) {
  return i < extents.size() ? static_cast<unsigned>(extents[i]) : 1;
}

/// Relaxes the rules of a stream capture in this thread for a scope: loading code is legal in one,
/// since nothing of it becomes part of the graph.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& api) : api_(api) { api_.exchange_capture_mode(&mode_); }
  ~RelaxedCapture() { api_.exchange_capture_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const DriverApi& api_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

class CubinModule : public runtime::Module {
 public:
  explicit CubinModule(const runtime::Artifact& artifact)
      : name_(artifact.metadata.name),
        target_(target_named(artifact.metadata.target)),
        code_(artifact.code) {
    if (!artifact.deferred.empty()) deferred_ = deferred_from_text(artifact.deferred);
    const std::string* kernel = kept(name_);
    for (const runtime::Launch& launch : artifact.metadata.launches) {
      for (const Variant& variant : launch.variants) {
        Entry& entry = entries_.emplace_back();
        entry.variant = variant;
        entry.kernel = kernel;
        TW_REQUIRE(variant.maps.size() <= kMaxMaps,
                   "{}: {} boxes of tensors, a launch has {} at most", name_, variant.maps.size(),
                   kMaxMaps);
        entry.is_deferred = deferred_.contains(variant.entry);
        entry.stands_in = &variant != &launch.variants.front();
      }
    }
  }

  const void* entry(const std::string& name) override {
    for (const Entry& entry : entries_) {
      if (entry.variant.entry != name) continue;
      // A cubin is an ELF object with a section for the code of each entry.
      TW_REQUIRE(entry.is_deferred || code_.find(".text." + name + '\0') != code_.npos,
                 "{}: its code has no entry '{}'", name_, name);
      return &entry;
    }
    throw Error({}, {}, "{}: its metadata has no entry '{}'", name_, name);
  }

  void prepare(std::span<const void* const> entries, Device device) override;
  void launch(const LaunchRequest& request) override;
  void fill_zero(void* memory, int64_t bytes, Device device, Stream stream) override;

 private:
  const Loaded& loaded(const Entry& entry, int device) {
    if (device >= 0 && device < kMaxGpus) {
      const Loaded* ready = entry.on[static_cast<size_t>(device)].load(std::memory_order_acquire);
      if (ready != nullptr) [[likely]] {
        return *ready;
      }
    }
    load(device, entry);
    return *entry.on[static_cast<size_t>(device)].load(std::memory_order_acquire);
  }
  void load(int device, const Entry& wanted);
  void require_target(const Gpu& gpu) const;
  void compile(Entry& entry) const;
  void make_ready(Entry& entry, Gpu& gpu, CUmodule module);
  void set_config(const Variant& variant, Loaded& ready) const;
  void check_shared_memory(const Variant& variant, const Gpu& gpu, CUfunction function) const;
  int64_t resident_blocks(const Variant& variant, const Gpu& gpu, const Loaded& ready) const;

  const std::string name_;
  const Target& target_;
  const std::string code_;
  Deferred deferred_;
  std::deque<Entry> entries_;
  std::mutex mutex_;  // of those who load
  std::deque<Loaded> all_loaded_;
};

void CubinModule::require_target(const Gpu& gpu) const {
  const DeviceFacts& facts = gpu.facts();
  if (facts.major != target_.major || facts.minor != target_.minor) {
    Error error(codes::tgt_04, {},
                "{}: compiled for {}, but cuda:{} ({}) has compute capability {}.{}", name_,
                target_.full_name(), gpu.id(), facts.name, facts.major, facts.minor);
    if (const Target* right = target_for(facts.major, facts.minor)) {
      error.help("compile it for {}", right->full_name());
    }
    throw error;
  }
}

/// The code of a deferred entry.
void CubinModule::compile(Entry& entry) const {
  if (!entry.code.empty()) return;
  entry.code = compile_deferred(deferred_, entry.variant.entry, name_, target_, entry.stands_in);
}

/// Compiles what is deferred, each in a thread of its own. What fails is tried again by the launch,
/// which throws.
void CubinModule::prepare(std::span<const void* const> entries, Device device) {
  const std::lock_guard lock(mutex_);
  std::vector<Entry*> missing;
  for (Entry& entry : entries_) {
    const bool wanted = std::ranges::count(entries, static_cast<const void*>(&entry)) > 0;
    if (wanted && entry.is_deferred && entry.code.empty()) missing.push_back(&entry);
  }
  if (missing.size() < 2) return;
  try {
    require_target(Gpu::numbered(device.id));
    std::vector<std::jthread> threads;
    for (Entry* entry : missing) {
      threads.emplace_back([this, entry] {
        try {
          compile(*entry);
        } catch (const std::exception&) {
        }
      });
    }
  } catch (const std::exception&) {  // not its device, or no more threads
  }
}

/// Makes an entry ready on a device: alone if it is deferred, else with all that aren't.
void CubinModule::load(int device, const Entry& wanted) {
  Gpu& gpu = Gpu::numbered(device);
  gpu.require_healthy(name_);
  const std::lock_guard lock(mutex_);
  std::vector<Entry*> entries;
  for (Entry& entry : entries_) {
    const bool together = !wanted.is_deferred && !entry.is_deferred;
    if (together || &entry == &wanted) entries.push_back(&entry);
  }
  if (entries.front()->on[static_cast<size_t>(device)] != nullptr) return;  // by another thread
  require_target(gpu);
  if (wanted.is_deferred) compile(*entries.front());
  const ContextScope scope(gpu);
  const RelaxedCapture relaxed(gpu.api());
  CUmodule module = nullptr;
  const CUresult result =
      gpu.api().module_load(&module, (wanted.is_deferred ? wanted.code : code_).data());
  if (result != CUDA_SUCCESS) gpu.fail(result, name_, "loading its code", /*waited=*/false);
  // The first entry comes last: it says that all are there.
  for (size_t i = entries.size(); i-- > 0;) make_ready(*entries[i], gpu, module);
}

void CubinModule::make_ready(Entry& entry, Gpu& gpu, CUmodule module) {
  const Variant& v = entry.variant;
  const std::string doing = format("preparing entry {}", v.entry);
  const auto require = [&](CUresult result) {
    if (result != CUDA_SUCCESS) gpu.fail(result, name_, doing, /*waited=*/false);
  };
  Loaded& ready = all_loaded_.emplace_back();
  ready.gpu = &gpu;
  require(gpu.api().module_function(&ready.function, module, v.entry.c_str()));
  check_shared_memory(v, gpu, ready.function);
  if (v.shared_bytes > 0) {
    require(gpu.api().function_set(ready.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   static_cast<int>(v.shared_bytes)));
  }
  const unsigned cluster = extent(v.cluster, 0) * extent(v.cluster, 1) * extent(v.cluster, 2);
  if (cluster > target_.cluster) {
    require(gpu.api().function_set(ready.function,
                                   CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  }
  set_config(v, ready);
  if (v.cooperative) ready.resident_blocks = resident_blocks(v, gpu, ready);
  entry.on[static_cast<size_t>(gpu.id())].store(&ready, std::memory_order_release);
}

void CubinModule::set_config(const Variant& v, Loaded& ready) const {
  ready.config = {.blockDimX = extent(v.threads, 0),
                  .blockDimY = extent(v.threads, 1),
                  .blockDimZ = extent(v.threads, 2),
                  .sharedMemBytes = static_cast<unsigned>(v.shared_bytes),
                  .attrs = ready.attributes.data()};
  const auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
    CUlaunchAttribute& attribute = ready.attributes[ready.config.numAttrs++];
    attribute = {.id = id};
    return attribute.value;
  };
  if (!v.cluster.empty()) {
    add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {
        extent(v.cluster, 0), extent(v.cluster, 1), extent(v.cluster, 2)};
  }
  if (v.cooperative) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  if (v.dependent_launch) {
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;
  }
}

void CubinModule::check_shared_memory(const Variant& v, const Gpu& gpu, CUfunction function) const {
  int fixed = 0;
  gpu.api().function_attribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  const int64_t wanted = fixed + v.shared_bytes;
  if (wanted <= target_.shared_per_block) return;
  throw Error(codes::host_10, {},
              "{}: a block of {} needs {} bytes of shared memory, {} gives at most {}", name_,
              v.entry, wanted, target_.full_name(), target_.shared_per_block);
}

int64_t CubinModule::resident_blocks(const Variant& v, const Gpu& gpu, const Loaded& ready) const {
  int count = 0;
  if (v.cluster.empty()) {
    const unsigned threads =
        ready.config.blockDimX * ready.config.blockDimY * ready.config.blockDimZ;
    require_success(gpu.api(),
                    gpu.api().blocks_per_sm(&count, ready.function, static_cast<int>(threads),
                                            ready.config.sharedMemBytes),
                    name_ + ": counting resident blocks");
    return int64_t{count} * gpu.facts().sms;
  }
  const unsigned cluster = extent(v.cluster, 0) * extent(v.cluster, 1) * extent(v.cluster, 2);
  CUlaunchConfig config = ready.config;
  config.gridDimX = extent(v.cluster, 0);
  config.gridDimY = extent(v.cluster, 1);
  config.gridDimZ = extent(v.cluster, 2);
  require_success(gpu.api(), gpu.api().active_clusters(&count, ready.function, &config),
                  name_ + ": counting resident clusters");
  return int64_t{count} * cluster;
}

[[noreturn, gnu::cold]] void too_many_blocks(const LaunchRequest& r, int64_t blocks,
                                             int64_t resident) {
  throw Error(codes::host_11, {},
              "{}: cooperative launch {} has {} blocks, cuda:{} runs {} of them at once",
              r.metadata->name, r.variant->entry, blocks, r.device.id, resident)
      .help("launch at most that many and let each do the work of several");
}

[[noreturn, gnu::cold]] void launch_failed(Gpu& gpu, CUresult result, const LaunchRequest& r) {
  gpu.fail(result, r.metadata->name,
           format("launching {} (grid {} x {} x {}, threads {}, {} bytes of shared memory)",
                  r.variant->entry, r.grid[0], r.grid[1], r.grid[2], r.variant->threads,
                  r.variant->shared_bytes),
           /*waited=*/false);
}

/// Waits for a kernel, unless its stream is being captured: then it doesn't run.
void wait_for(Gpu& gpu, const LaunchRequest& r) {
  auto* stream = static_cast<CUstream>(r.stream.handle);
  auto status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (gpu.api().stream_is_capturing(stream, &status) == CUDA_SUCCESS &&
      status != CU_STREAM_CAPTURE_STATUS_NONE) {
    return;
  }
  const CUresult result = gpu.api().stream_synchronize(stream);
  if (result != CUDA_SUCCESS) gpu.fail(result, r.metadata->name, "waiting", /*waited=*/true);
}

void CubinModule::launch(const LaunchRequest& r) {
  const auto& entry = *static_cast<const Entry*>(r.entry);
  const Loaded& ready = loaded(entry, r.device.id);
  Gpu& gpu = *ready.gpu;
  gpu.require_healthy(name_);
  const int64_t blocks = r.grid[0] * r.grid[1] * r.grid[2];
  if (blocks > ready.resident_blocks) too_many_blocks(r, blocks, ready.resident_blocks);

  CUlaunchConfig config = ready.config;
  config.gridDimX = static_cast<unsigned>(r.grid[0]);
  config.gridDimY = static_cast<unsigned>(r.grid[1]);
  config.gridDimZ = static_cast<unsigned>(r.grid[2]);
  config.hStream = static_cast<CUstream>(r.stream.handle);
  void* params[runtime::kMaxPackedBytes / 8 + kMaxMaps];
  auto* args = static_cast<char*>(const_cast<void*>(r.args));  // CUDA only reads them
  size_t count = 0;
  for (const runtime::PackedField& field : r.metadata->packed) {
    params[count++] = args + field.offset;
  }
  CUtensorMap maps[kMaxMaps];
  for (size_t i = 0; i < r.variant->maps.size(); ++i) {
    maps[i] = encode_tensor_map(gpu.api(), r.variant->maps[i], r);
    params[count++] = &maps[i];
  }
  const ContextScope scope(gpu);
  const CUresult result = gpu.api().launch(&config, ready.function, params, nullptr);
  if (result != CUDA_SUCCESS) [[unlikely]] {
    launch_failed(gpu, result, r);
  }
  gpu.note_launch(entry.kernel);
  if (gpu.waits()) [[unlikely]] {
    wait_for(gpu, r);
  }
}

void CubinModule::fill_zero(void* memory, int64_t bytes, Device device, Stream stream) {
  if (bytes == 0) return;
  Gpu& gpu = Gpu::numbered(device.id);
  gpu.require_healthy(name_);
  const ContextScope scope(gpu);
  const CUresult result =
      gpu.api().memset_async(reinterpret_cast<CUdeviceptr>(memory), 0, static_cast<size_t>(bytes),
                             static_cast<CUstream>(stream.handle));
  if (result != CUDA_SUCCESS) gpu.fail(result, name_, "filling a workspace", /*waited=*/false);
}

}  // namespace

std::unique_ptr<runtime::Module> load_cubin(const runtime::Artifact& artifact) {
  return std::make_unique<CubinModule>(artifact);
}

}  // namespace tw::cuda
