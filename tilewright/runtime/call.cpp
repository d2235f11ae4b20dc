#include "tilewright/runtime/call.h"

#include <new>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/bind.h"

namespace tw::runtime {

namespace {

/// The guard of a variant, taken apart: most of it are alignments of addresses.
class Guard {
 public:
  explicit Guard(const HostExpr& guard) {
    for (const HostExpr& each : guard.conjuncts()) {
      const auto code = each.code();  // p0.address 16 mod 0 eq
      const bool is_alignment = code.size() == 5 && code[0].op == HostOp::address_mod &&
                                code[1].op == HostOp::constant && code[1].value > 0 &&
                                kAddressModulus % code[1].value == 0 &&
                                code[2].op == HostOp::floormod && code[3].op == HostOp::constant &&
                                code[3].value == 0 && code[4].op == HostOp::eq;
      if (is_alignment) {
        aligned_.push_back(
            {static_cast<size_t>(code[0].value), static_cast<uint64_t>(code[1].value) - 1});
      } else {
        rest_ = rest_ == HostExpr(1) ? each : HostExpr::binary(HostOp::logical_and, rest_, each);
      }
    }
  }
  bool holds(const Binding& binding) const {
    uint64_t over = 0;
    for (const Alignment& a : aligned_) over |= binding.raw[a.param] & a.mask;
    return over == 0 && rest_.evaluate(binding.values()) != 0;
  }

 private:
  struct Alignment {
    size_t param;
    uint64_t mask;
  };
  std::vector<Alignment> aligned_;
  HostExpr rest_ = 1;
};

}  // namespace

struct LoadedKernel::Tables {
  explicit Tables(const KernelMetadata& metadata) : arguments(metadata) {}

  struct Choice {
    Guard guard;
    const void* entry;
  };
  /// The variant of launch l that runs.
  size_t choose(size_t l, const Binding& binding) const {
    size_t v = 0;
    while (!choices[l][v].guard.holds(binding)) ++v;  // the last one's does
    return v;
  }
  ArgumentTable arguments;
  std::vector<std::vector<Choice>> choices;  // of launches: their variants
  std::vector<size_t> workspaces;            // parameters
};

LoadedKernel::LoadedKernel(KernelMetadata metadata, std::shared_ptr<Module> module)
    : metadata_(std::move(metadata)), module_(std::move(module)) {
  verify(metadata_);
  auto tables = std::make_unique<Tables>(metadata_);
  for (const Launch& launch : metadata_.launches) {
    auto& choices = tables->choices.emplace_back();
    for (const Variant& variant : launch.variants) {
      choices.push_back({Guard(variant.guard), module_->entry(variant.entry)});
    }
  }
  for (size_t i = 0; i < metadata_.params.size(); ++i) {
    if (metadata_.params[i].kind == ParamKind::workspace) tables->workspaces.push_back(i);
  }
  tables_ = std::move(tables);
}

LoadedKernel::~LoadedKernel() = default;

namespace {

[[noreturn, gnu::cold]] void no_memory(const KernelMetadata& m, const Param& param,
                                       const Shape& shape) {
  const int64_t bytes = storage_bytes(param.dtype, shape.numel());
  const int64_t kib = bytes / 1024 + (bytes % 1024 != 0);
  throw Error(codes::host_12, {}, "{}: no memory for {} {} {} {} ({} KiB)", m.name,
              param.kind == ParamKind::workspace ? "workspace" : "output", param.name, param.dtype,
              shape, kib);
}

// Workspaces of a call, from the caller's allocator or the thread's own; gives them back whatever
// happens.
class WorkspaceLease {
 public:
  WorkspaceLease(Allocator* allocator, Device device, Stream stream)
      : allocator_(allocator), device_(device), stream_(stream) {}
  WorkspaceLease(const WorkspaceLease&) = delete;
  WorkspaceLease& operator=(const WorkspaceLease&) = delete;
  ~WorkspaceLease() {
    while (count_ > 0) {
      void* memory = memory_[--count_];
      if (allocator_ == nullptr) {
        host_workspaces().release(memory);
      } else {
        allocator_->release(memory, device_, stream_);
      }
    }
  }
  void* take(int64_t bytes) {
    void* memory = allocator_ == nullptr ? host_workspaces().take(bytes)
                                         : allocator_->workspace(bytes, device_, stream_);
    if (memory != nullptr) memory_[count_++] = memory;
    return memory;
  }

 private:
  Allocator* allocator_;
  Device device_;
  Stream stream_;
  int count_ = 0;
  void* memory_[kMaxParams];
};

// Allocates the outputs that the caller left out, in the order of the parameters; gives those that
// the call owns.
std::vector<OwnedTensor> allocate_outputs(const KernelMetadata& m, const ArgumentTable& table,
                                          Allocator* allocator, Binding& binding) {
  std::vector<OwnedTensor> owned;
  for (size_t i = 0; i < m.params.size(); ++i) {
    if ((binding.omitted >> i & 1) == 0) continue;
    const Param& param = m.params[i];
    const Shape shape = table.shape_of(i, binding);
    Tensor tensor;
    try {
      tensor = allocator == nullptr
                   ? owned.emplace_back(param.dtype, shape).view()
                   : allocator->output(static_cast<int>(i), param.dtype, shape, binding.device);
    } catch (const std::bad_alloc&) {
      no_memory(m, param, shape);
    } catch (const Error& error) {
      if (error.code() == codes::host_12) no_memory(m, param, shape);
      throw;
    }
    if (tensor.data() == nullptr && shape.numel() != 0) no_memory(m, param, shape);
    table.bind_output(i, tensor, binding);
  }
  return owned;
}

// Evaluates the grid of a variant; false when there is no block to run.
bool grid_of(const KernelMetadata& m, const Launch& launch, const Variant& variant,
             const HostValues& values, int64_t (&grid)[3]) {
  grid[0] = grid[1] = grid[2] = 1;
  bool empty = false;
  for (size_t d = 0; d < variant.grid.size(); ++d) {
    const int64_t extent = variant.grid[d].evaluate(values);
    if (extent < 0) [[unlikely]] {
      throw Error(codes::launch_05, {}, "{}: grid[{}] of launch {} is {} = {}", m.name, d,
                  launch.name, to_text(variant.grid[d], names_of(m)), extent);
    }
    const int64_t limit = launch.grid_limit.empty() ? INT64_MAX : launch.grid_limit[d];
    if (extent > limit) [[unlikely]] {
      throw Error(codes::host_10, {}, "{}: grid[{}] of launch {} is {} = {}, {} takes at most {}",
                  m.name, d, launch.name, to_text(variant.grid[d], names_of(m)), extent, m.target,
                  limit);
    }
    grid[d] = extent;
    empty = empty || extent == 0;
  }
  for (size_t d = 0; d < variant.cluster.size(); ++d) {
    if (grid[d] % variant.cluster[d] != 0) [[unlikely]] {
      throw Error(codes::host_10, {},
                  "{}: grid[{}] of launch {} is {}, clusters need a multiple of {}", m.name, d,
                  launch.name, grid[d], variant.cluster[d]);
    }
  }
  if (!empty && saturating_product(saturating_product(grid[0], grid[1]), grid[2]) == INT64_MAX) {
    throw Error(codes::host_10, {}, "{}: launch {} has {} x {} x {} blocks, too many to count",
                m.name, launch.name, grid[0], grid[1], grid[2]);
  }
  return !empty;
}

// Takes the workspaces of the call and fills those with zeros that want it.
void bind_workspaces(const KernelMetadata& m, const ArgumentTable& table,
                     std::span<const size_t> params, Module& module, Stream stream,
                     WorkspaceLease& lease, Binding& binding) {
  for (const size_t i : params) {
    const Param& param = m.params[i];
    const Shape shape = table.shape_of(i, binding);
    const int64_t bytes = storage_bytes(param.dtype, shape.numel());
    void* memory = lease.take(bytes);
    if (memory == nullptr) no_memory(m, param, shape);
    if (param.zeroed) module.fill_zero(memory, bytes, binding.device, stream);
    binding.raw[i] = reinterpret_cast<uintptr_t>(memory);
  }
}

}  // namespace

void LoadedKernel::prepare(const Binding& binding) const {
  const auto bit = uint64_t{1} << (binding.device.id & 63);
  if ((prepared_.load(std::memory_order_relaxed) & bit) != 0) [[likely]] {
    return;
  }
  std::vector<const void*> entries;
  for (size_t l = 0; l < metadata_.launches.size(); ++l) {
    const size_t v = tables_->choose(l, binding);
    const Launch& launch = metadata_.launches[l];
    int64_t grid[3];
    if (grid_of(metadata_, launch, launch.variants[v], binding.values(), grid)) {
      entries.push_back(tables_->choices[l][v].entry);
    }
  }
  module_->prepare(entries, binding.device);
  prepared_.fetch_or(bit, std::memory_order_relaxed);
}

std::vector<OwnedTensor> LoadedKernel::operator()(std::span<const Arg> args,
                                                  const CallContext& context) const {
  const ArgumentTable& table = tables_->arguments;
  Binding binding;
  table.bind(args, binding);
  table.check_apart(binding, context.in_place);
  if (binding.device.id < 0) binding.device.id = 0;  // no tensor said where

  const bool allocates = binding.omitted != 0 || !tables_->workspaces.empty();
  TW_REQUIRE(!allocates || context.allocator != nullptr || binding.device.kind == DeviceKind::cpu,
             "{}: outputs that are left out and workspaces on {} need an allocator", metadata_.name,
             binding.device);
  std::vector<OwnedTensor> outputs;
  if (binding.omitted != 0) {
    outputs = allocate_outputs(metadata_, table, context.allocator, binding);
  }
  WorkspaceLease lease(context.allocator, binding.device, context.stream);
  bind_workspaces(metadata_, table, tables_->workspaces, *module_, context.stream, lease, binding);

  alignas(64) uint64_t packed[kMaxPackedBytes / 8];
  for (const PackedField& field : metadata_.packed) {
    const size_t i = static_cast<size_t>(field.index);
    packed[field.offset / 8] = field.kind == PackedField::Kind::symbol
                                   ? static_cast<uint64_t>(binding.symbols[i])
                                   : binding.raw[i];
  }
  if (metadata_.launches.size() > 1) prepare(binding);
  const HostValues values = binding.values();
  for (size_t l = 0; l < metadata_.launches.size(); ++l) {
    const Launch& launch = metadata_.launches[l];
    const size_t v = tables_->choose(l, binding);
    LaunchRequest request;
    if (!grid_of(metadata_, launch, launch.variants[v], values, request.grid)) continue;
    request.entry = tables_->choices[l][v].entry;
    request.args = packed;
    request.args_bytes = metadata_.packed_bytes;
    request.variant = &launch.variants[v];
    request.metadata = &metadata_;
    request.device = binding.device;
    request.stream = context.stream;
    request.print = context.print;
    request.print_user = context.print_user;
    module_->launch(request);
  }
  return outputs;
}

}  // namespace tw::runtime
