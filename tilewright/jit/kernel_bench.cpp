// Kernel::bench: the arguments of one call, made to last for many.
#include <deque>

#include "tilewright/base/error.h"
#include "tilewright/jit/kernel.h"

namespace tw {
namespace {

using runtime::Param;
using runtime::ParamKind;

/// Memory of the first call, which those after it use again.
class KeptMemory : public Allocator {
 public:
  explicit KeptMemory(Allocator* callers) : callers_(callers) {}
  ~KeptMemory() override {
    for (const Workspace& each : workspaces_) {
      if (callers_ != nullptr) {
        callers_->release(each.memory, each.device, each.stream);
      } else {
        host_workspaces().release(each.memory);
      }
    }
  }

  Tensor output(int param, DType dtype, const Shape& shape, Device device) override {
    const Tensor made = callers_ != nullptr ? callers_->output(param, dtype, shape, device)
                                            : owned_.emplace_back(dtype, shape).view();
    outputs_.emplace_back(param, made);
    return made;
  }
  void* workspace(int64_t bytes, Device device, Stream stream) override {
    if (next_ == workspaces_.size()) {
      void* memory = callers_ != nullptr ? callers_->workspace(bytes, device, stream)
                                         : host_workspaces().take(bytes);
      if (memory == nullptr) return nullptr;
      workspaces_.push_back({memory, device, stream});
    }
    return workspaces_[next_++].memory;
  }
  void release(void*, Device, Stream) override { --next_; }

  const Tensor& output_of(int param) const {
    for (const auto& [index, tensor] : outputs_) {
      if (index == param) return tensor;
    }
    TW_CHECK(false, "output {} was not allocated", param);
  }

 private:
  struct Workspace {
    void* memory;
    Device device;
    Stream stream;
  };
  Allocator* callers_;
  std::deque<OwnedTensor> owned_;
  std::deque<std::pair<int, Tensor>> outputs_;
  std::vector<Workspace> workspaces_;
  size_t next_ = 0;
};

/// Inputs read and outputs written, each once.
int64_t bytes_moved(const std::vector<Param>& params, std::span<const Arg> args) {
  int64_t bytes = 0;
  size_t next = 0;
  for (const Param& param : params) {
    if (param.kind == ParamKind::workspace) continue;
    const Arg& arg = args[next++];
    if (arg.kind() != Arg::Kind::tensor) continue;
    bytes += arg.tensor().bytes() * (param.kind == ParamKind::inout ? 2 : 1);
  }
  return bytes;
}

/// Where the tensors are, if that is where the kernel runs; the call itself says if it isn't.
Device device_of(DeviceKind kind, std::span<const Arg> args) {
  for (const Arg& arg : args) {
    if (arg.kind() == Arg::Kind::tensor && arg.tensor().device().kind == kind) {
      return arg.tensor().device();
    }
  }
  return {kind, 0};
}

}  // namespace

CallTime Kernel::bench(std::span<const Arg> args, const CallTimeOptions& options,
                       const runtime::CallContext& context) const {
  TW_REQUIRE(content_ != nullptr, "kernel: an empty handle can't be timed; compile or load one");
  const Device device = device_of(metadata().device, args);
  if (device.kind != DeviceKind::cpu) {  // before the arguments are found to be elsewhere
    backend::load_backend(to_text(device.kind)).clock(device.id, context.stream);
  }
  // 1. A first call checks the arguments and allocates what they lack.
  KeptMemory memory(context.allocator);
  runtime::CallContext kept = context;
  if (context.allocator != nullptr || device.kind == DeviceKind::cpu) kept.allocator = &memory;
  (*content_->loaded)(args, kept);
  // 2. Later calls have all of it.
  const std::vector<Param>& params = metadata().params;
  std::vector<Arg> all;
  size_t next = 0, given = 0;
  for (const Param& param : params) given += param.kind != ParamKind::workspace;
  const bool has_places = args.size() == given;  // of outputs that are left out
  for (size_t i = 0; i < params.size(); ++i) {
    const ParamKind kind = params[i].kind;
    if (kind == ParamKind::workspace) continue;
    Arg arg = kind != ParamKind::output || has_places ? args[next++] : Arg();
    if (kind == ParamKind::output && arg.kind() == Arg::Kind::null) {
      arg = memory.output_of(static_cast<int>(i));
    }
    all.push_back(arg);
  }
  CallTimeOptions chosen = options;
  if (chosen.bytes < 0) chosen.bytes = bytes_moved(params, all);
  const auto run = [&](Stream) { (*content_->loaded)(all, kept); };
  if (device.kind == DeviceKind::cpu) return tw::bench(run, device, chosen);
  return bench_on(metadata().target, run, device, chosen, context.stream);
}

}  // namespace tw
