#include "tilewright/runtime/module.h"

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>

#include <dlfcn.h>

#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/cpu_abi.h"
#include "tilewright/runtime/fault.h"
#include "tilewright/runtime/parallel.h"

namespace tw::runtime {
namespace {

std::string message_text(const Message& message, const uint64_t* values, int32_t count) {
  std::vector<std::string> texts;
  for (int32_t i = 0; i < count && static_cast<size_t>(i) < message.values.size(); ++i) {
    const DType dtype = message.values[static_cast<size_t>(i)];
    texts.push_back(dtype.is_bool()           ? (values[i] != 0 ? "true" : "false")
                    : dtype.is_unsigned_int() ? std::to_string(values[i])
                    : dtype.is_int()          ? std::to_string(decode_int(values[i], dtype))
                                              : format("{}", decode(values[i], dtype)));
  }
  return fill_in(message.text, texts);
}

// `(1, 0, 2)`, of a block's linear index.
std::string block_text(int64_t block, const int64_t (&grid)[3]) {
  return format("({}, {}, {})", block % grid[0], block / grid[0] % grid[1],
                block / grid[0] / grid[1]);
}

// One launch as the body of parallel_blocks, and what generated code calls back.
struct CpuLaunch : TwCpuCallbacks {
  explicit CpuLaunch(const LaunchRequest& request)
      : TwCpuCallbacks{&on_print, &on_fail}, request(request) {}

  static int32_t body(void* context, int64_t first, int64_t last, void* scratch) {
    auto& self = *static_cast<CpuLaunch*>(context);
    auto* entry = reinterpret_cast<TwCpuEntry*>(const_cast<void*>(self.request.entry));
    return entry(self.request.args, self.request.grid, first, last, scratch, &self);
  }

  static void on_print(TwCpuCallbacks* callbacks, int32_t index, int64_t, const uint64_t* values,
                       int32_t count) {
    const LaunchRequest& r = static_cast<CpuLaunch*>(callbacks)->request;
    std::string line =
        message_text(r.metadata->messages.at(static_cast<size_t>(index)), values, count);
    if (r.print != nullptr) {
      r.print(r.print_user, line);
    } else {
      line += '\n';
      std::fwrite(line.data(), 1, line.size(), stdout);  // one call: lines stay whole
    }
  }

  // Keeps the failure of the first block in order among those that failed.
  static void on_fail(TwCpuCallbacks* callbacks, int32_t index, int64_t block,
                      const uint64_t* values, int32_t count) {
    auto& self = *static_cast<CpuLaunch*>(callbacks);
    const Message& message = self.request.metadata->messages.at(static_cast<size_t>(index));
    std::string text = format("{} in block {}", message_text(message, values, count),
                              block_text(block, self.request.grid));
    if (!message.where.empty()) text += " at " + message.where;
    const std::lock_guard lock(self.mutex);
    if (self.failed_block >= 0 && self.failed_block <= block) return;
    self.failed_block = block;
    self.failure = std::move(text);
  }

  const LaunchRequest& request;
  std::mutex mutex;
  int64_t failed_block = -1;
  std::string failure;
};

class SharedObject : public CpuModule {
 public:
  explicit SharedObject(const std::string& path)
      : path_(std::filesystem::absolute(path)),  // a bare name would be searched for elsewhere
        handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    TW_REQUIRE(handle_ != nullptr, "kernel code can't be loaded: {}", dlerror());
  }
  ~SharedObject() override { dlclose(handle_); }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  const void* entry(const std::string& name) override {
    const void* address = dlsym(handle_, name.c_str());
    TW_REQUIRE(address != nullptr, "kernel code {} has no entry '{}'", path_, name);
    return address;
  }

 private:
  std::string path_;
  void* handle_;
};

}  // namespace

void CpuModule::launch(const LaunchRequest& request) {
  CpuLaunch launch(request);
  const int64_t* grid = request.grid;
  const int32_t status = parallel_blocks(grid[0] * grid[1] * grid[2],
                                         request.variant->scratch_bytes, &CpuLaunch::body, &launch);
  if (status == 0) [[likely]]
    return;
  const std::string& name = request.metadata->name;
  TW_REQUIRE(launch.failed_block >= 0, "{}: entry {} returned {}", name, request.variant->entry,
             status);
  throw DeviceFault(Code{}, {}, "{}: device assert failed: {}", name, launch.failure);
}

void CpuModule::fill_zero(void* memory, int64_t bytes, Device, Stream) {
  std::memset(memory, 0, static_cast<size_t>(bytes));
}

std::unique_ptr<Module> open_shared_object(const std::string& path) {
  return std::make_unique<SharedObject>(path);
}

}  // namespace tw::runtime
