// What engines do beside the threads, and how threads wait for it.
#include <algorithm>

#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/visit.h"

namespace tw::cuda {
namespace {

bool in_shared(const ir::Region& region) {
  return region.buffer.root().space() == ir::MemSpace::shared;
}
const ir::Region& far_side(const ir::AsyncCopy& copy) {
  return in_shared(copy.dst) ? copy.src : copy.dst;
}

TensorMap map_of(const ir::AsyncCopy& copy) {
  const ir::Region& far = far_side(copy);
  TensorMap map{.tensor = far.buffer, .box = {}, .swizzle = copy.swizzle};
  for (const ir::Expr& extent : far.extent) map.box.push_back(*ir::as_int(extent));
  return map;
}
bool same_map(const TensorMap& a, const TensorMap& b) {
  return a.tensor.same_as(b.tensor) && a.box == b.box && a.swizzle == b.swizzle;
}

int64_t bytes_of(const ir::Region& region) {
  int64_t bits = region.buffer.dtype().bits();
  for (const ir::Expr& extent : region.extent) bits *= *ir::as_int(extent);
  return bits / 8;
}

/// `, evict_first()`, or nothing.
std::string policy_of(const ir::AsyncCopy& copy) {
  if (copy.evict == ir::EvictPolicy::normal) return "";
  return copy.evict == ir::EvictPolicy::first ? ", evict_first()" : ", evict_last()";
}

/// The type of a fold in PTX; empty where the hardware has none.
std::string fold_type(ir::CopyFold fold, DType dtype) {
  const bool adds = fold == ir::CopyFold::add;
  if (dtype == i32 && !adds) return "s32";
  if (dtype == i64 && !adds) return "s64";
  if (dtype == u32 || dtype == i32) return "u32";
  if (dtype == u64 || dtype == i64) return "u64";
  if (adds && (dtype == f32 || dtype == f64)) return to_text(dtype);
  if (dtype == f16 || dtype == bf16) return (adds ? "noftz." : "") + to_text(dtype);
  return "";
}

}  // namespace

std::vector<TensorMap> tensor_maps(const ir::Launch& launch) {
  std::vector<TensorMap> maps;
  ir::for_each_stmt(launch.body, [&](const ir::Stmt& s) {
    const auto* copy = s.try_as<ir::AsyncCopy>();
    if (copy == nullptr || copy->engine != ir::CopyEngine::tensor) return;
    TensorMap map = map_of(*copy);
    if (map.tensor->view_of || map.tensor->address) {
      throw Error(codes::copy_07, s.loc(),
                  "copy: {} is a view, and the descriptor of a bulk tensor copy is made by the "
                  "host from a parameter; copy from the parameter",
                  map.tensor.name());
    }
    const bool known = std::any_of(maps.begin(), maps.end(),
                                   [&](const TensorMap& other) { return same_map(map, other); });
    if (!known) maps.push_back(std::move(map));
  });
  return maps;
}

void Emitter::async(const ir::AsyncCopy& copy) {
  if (copy.engine == ir::CopyEngine::tensor) return tensor_copy(copy);
  const Place from = place(copy.src.buffer, copy.src.begin);
  const Place to = place(copy.dst.buffer, copy.dst.begin);
  const int64_t bytes = bytes_of(copy.src);
  if (copy.engine == ir::CopyEngine::elements) {
    const std::string valid = copy.valid ? ", " + value(copy.valid).s : "";
    return line(format("copy_async<{}>({}, {}{});", bytes, pointer(to), pointer(from), valid));
  }
  if (copy.fold != ir::CopyFold::none) return bulk_fold(copy, to, from, bytes);
  if (!in_shared(copy.dst)) {
    return line(
        format("bulk_store({}, {}, {}{});", pointer(to), pointer(from), bytes, policy_of(copy)));
  }
  line(format("bulk_load({}, {}, {}, {}{});", pointer(to), pointer(from), bytes,
              pointer(place(copy.barrier, copy.at)), policy_of(copy)));
}

void Emitter::bulk_fold(const ir::AsyncCopy& copy, const Place& to, const Place& from,
                        int64_t bytes) {
  const DType dtype = copy.src.buffer.dtype();
  const std::string type = fold_type(copy.fold, dtype), fold(enum_name(copy.fold));
  if (type.empty()) {
    throw Error(codes::copy_06, copy.loc, "copy: no bulk {} of {} on cuda; use atomic_{}", fold,
                dtype, fold);
  }
  const std::string name = format("bulk_{}_{}", fold, to_text(dtype));
  (*helpers_)[name] = format(
      "__device__ __forceinline__ void {}(void* to, const void* from, u32 bytes) {{\n"
      "  asm volatile(\"cp.reduce.async.bulk.global.shared::cta.bulk_group.{}.{} [%0], [%1], "
      "%2;\"\n               :\n               : \"l\"(to), \"r\"(shared_address(from)), "
      "\"r\"(bytes)\n               : \"memory\");\n}}\n",
      name, fold, type);
  line(format("{}({}, {}, {});", name, pointer(to), pointer(from), bytes));
}

/// The instruction has the rank in its name, and takes the coordinates innermost first.
void Emitter::tensor_copy(const ir::AsyncCopy& copy) {
  const ir::Region& far = far_side(copy);
  const bool loads = in_shared(copy.dst);
  const TensorMap map = map_of(copy);
  const auto number = std::find_if(maps_.begin(), maps_.end(),
                                   [&](const TensorMap& m) { return same_map(m, map); }) -
                      maps_.begin();
  const size_t rank = far.begin.size();
  std::string holes, params, inputs, coordinates;
  for (size_t d = 0; d < rank; ++d) {
    holes += format("{}%{}", d == 0 ? "" : ", ", d + 2);
    params += format(", i32 c{}", d);
    inputs += format(", \"r\"(c{})", d);
    coordinates += ", " + value(ir::cast(i32, far.begin[rank - 1 - d])).s;
  }
  const std::string fold(copy.fold == ir::CopyFold::none ? "" : enum_name(copy.fold));
  const std::string name = loads ? format("tensor_load_{}d", rank)
                                 : format("tensor_{}_{}d", fold.empty() ? "store" : fold, rank);
  std::string instruction, extra, extra_input, call_extra;
  if (loads) {
    instruction = format(
        "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {{{}}}], [%{}];",
        rank, holes, rank + 2);
    extra = ", u64* barrier";
    extra_input = ", \"r\"(shared_address(barrier))";
    call_extra = ", " + pointer(place(copy.barrier, copy.at));
  } else {
    instruction = format(
        "cp{}.async.bulk.tensor.{}d.global.shared::cta{}.tile.bulk_group [%1, {{{}}}], [%0];",
        fold.empty() ? "" : ".reduce", rank, fold.empty() ? "" : "." + fold, holes);
  }
  (*helpers_)[name] = format(
      "__device__ __forceinline__ void {}(const void* box, const tensor_map& map{}{}) {{\n"
      "  asm volatile(\"{}\"\n               :\n               : \"r\"(shared_address(box)), "
      "\"l\"(&map){}{}\n               : \"memory\");\n}}\n",
      name, params, extra, instruction, inputs, extra_input);
  const ir::Region& near = loads ? copy.dst : copy.src;
  line(format("{}({}, map_{}{}{});", name, pointer(place(near.buffer, near.begin)), number,
              coordinates, call_extra));
}

void Emitter::sync(const ir::Sync& sync) {
  using ir::SyncCode;
  const std::string barrier = sync.barrier ? pointer(place(sync.barrier, sync.at)) : "";
  const auto operand = [&] { return value(ir::cast(u32, sync.value)).s; };
  const char* of_cluster = in_cluster_ ? "_cluster" : "";
  switch (sync.code) {
    case SyncCode::phase_init:
    case SyncCode::phase_expect:
    case SyncCode::phase_arrive_expect:
      return line(format("{}({}, {});", enum_name(sync.code), barrier, operand()));
    case SyncCode::phase_wait:
      return line(format("phase_wait{}({}, {});", of_cluster, barrier, operand()));
    case SyncCode::phase_arrive:
      return line(format("phase_arrive{}({});", sync.barrier->peer ? "_peer" : "", barrier));
    case SyncCode::phase_arrive_copies:
      return line(format("{}({});", enum_name(sync.code), barrier));
    case SyncCode::phase_try_wait: {
      const std::string parity = operand(), result = names_.make(sync.result.name());
      line(
          format("const bool {} = phase_try_wait{}({}, {});", result, of_cluster, barrier, parity));
      vars_[sync.result] = result;
      return;
    }
    case SyncCode::copies_commit:
      return line("commit_copies();");
    case SyncCode::copies_wait:
      return line(format("wait_copies<{}>();", *ir::as_int(sync.value)));
    case SyncCode::bulk_commit:
      return line("commit_bulk();");
    case SyncCode::bulk_wait:
      return line(format("wait_bulk<{}>();", *ir::as_int(sync.value)));
    case SyncCode::bulk_wait_read:
      return line(format("wait_bulk_read<{}>();", *ir::as_int(sync.value)));
    case SyncCode::fence_block:
      return line("__threadfence_block();");
    case SyncCode::fence_device:
      return line("__threadfence();");
    case SyncCode::fence_system:
      return line("__threadfence_system();");
    case SyncCode::fence_engines:
    case SyncCode::fence_phases:
    case SyncCode::cluster_arrive:
    case SyncCode::cluster_arrive_relaxed:
    case SyncCode::cluster_wait:
    case SyncCode::wait_previous:
    case SyncCode::trigger_next:
      return line(format("{}();", enum_name(sync.code)));
    case SyncCode::registers_increase:
    case SyncCode::registers_decrease:
      return line(format("{}<{}>();", enum_name(sync.code), *ir::as_int(sync.value)));
    case SyncCode::grid:
      return line("grid_barrier();");
  }
}

}  // namespace tw::cuda
