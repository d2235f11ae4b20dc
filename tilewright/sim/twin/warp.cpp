// What the lanes of a warp do together.
#include <algorithm>

#include "tilewright/base/format.h"
#include "tilewright/sim/twin/block.h"

namespace tw::sim::twin {
namespace {

using ir::WarpCode;

/// The lane whose value a lane gets. Outside its group of `width` lanes that is its own.
int64_t source_lane(WarpCode code, int64_t lane, int64_t operand, int64_t width) {
  const int64_t group = lane / width * width, in_group = lane - group;
  int64_t source = in_group;
  switch (code) {
    case WarpCode::shfl:
      return group + (operand & (width - 1));
    case WarpCode::shfl_xor:
      source = in_group ^ operand;
      break;
    case WarpCode::shfl_up:
      source = in_group - operand;
      break;
    default:  // shfl_down
      source = in_group + operand;
      break;
  }
  return source < 0 || source >= width ? lane : group + source;
}

}  // namespace

/// Executes the operation at which all lanes of a warp are, if they are; then true. It is a mistake
/// if only some are at one.
bool Block::resolve_warp(int32_t warp) {
  const auto first = threads_.begin() + warp * kLanes;
  const auto end = first + std::min<int64_t>(kLanes, threads_.end() - first);
  const auto at_warp = [](const Thread& t) { return t.state == Thread::State::at_warp; };
  const auto somebody = std::find_if(first, end, at_warp);
  if (somebody == end)
    return std::any_of(first, end, [](const Thread& t) { return t.state == Thread::State::ready; });
  const auto missing = std::find_if(
      first, end, [&](const Thread& t) { return !at_warp(t) || t.pc != somebody->pc; });
  if (missing == end) {
    execute_warp(warp, launch_.code.warps[launch_.code.instructions[somebody->pc].a]);
    return true;
  }
  const auto& op = *static_cast<const ir::WarpOp*>(node_at(*somebody));
  std::string where = whereabouts(number_of(*missing));
  if (missing->state == Thread::State::at_barrier &&
      static_cast<const ir::Barrier*>(node_at(*missing))->id == 0) {
    where = format("waits at a barrier ({})", position_text(node_at(*missing)));
  }
  report(FindingKind::divergent_warp, &op,
         format("{} is at {} without thread {} of its warp, which {}",
                thread_text(number_of(*somebody)), ir::enum_name(op.code), number_of(*missing),
                where));
  launch_.stopped = true;
  return false;
}

void Block::execute_warp(int32_t warp, const WarpOpCode& op) {
  const int32_t first = warp * kLanes;
  const auto lanes = std::min<int64_t>(kLanes, static_cast<int64_t>(threads_.size()) - first);
  const WarpCode code = op.node->code;
  const int64_t width = op.node->width;
  const auto thread = [&](int64_t lane) -> Thread& {
    return threads_[static_cast<size_t>(first + lane)];
  };
  std::array<Bits, kLanes> value{}, result{};
  for (int64_t lane = 0; lane < lanes; ++lane) {
    value[static_cast<size_t>(lane)] = thread(lane).regs[op.value];
  }
  const Bits everybody = lanes == kLanes ? 0xFFFFFFFFU : (Bits{1} << lanes) - 1;
  const auto equal_to = [&](Bits wanted) {
    Bits mask = 0;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      if (value[static_cast<size_t>(lane)] == wanted) mask |= Bits{1} << lane;
    }
    return mask;
  };
  const Bits votes = everybody & ~equal_to(0);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Bits& out = result[static_cast<size_t>(lane)];
    const int64_t group = lane / width * width;
    const Bits members =
        everybody & ((width == kLanes ? 0xFFFFFFFFU : (Bits{1} << width) - 1) << group);
    switch (code) {
      case WarpCode::shfl:
      case WarpCode::shfl_xor:
      case WarpCode::shfl_up:
      case WarpCode::shfl_down: {
        const auto operand = static_cast<int64_t>(thread(lane).regs[op.lane]);
        const int64_t source = source_lane(code, lane, operand, width);
        if (source >= lanes) {
          report(FindingKind::uninitialized_read, op.node,
                 format("{} takes the value of lane {}, but its warp has {} lanes",
                        thread_text(first + static_cast<int32_t>(lane)), source, lanes));
          break;
        }
        out = value[static_cast<size_t>(source)];
        break;
      }
      case WarpCode::vote_any:
        out = (votes & members) != 0 ? 1 : 0;
        break;
      case WarpCode::vote_all:
        out = (votes & members) == members ? 1 : 0;
        break;
      case WarpCode::ballot:
        out = votes & members;
        break;
      case WarpCode::active_mask:
        out = members;
        break;
      case WarpCode::match_any:
        out = equal_to(value[static_cast<size_t>(lane)]) & members;
        break;
      case WarpCode::match_all:
        out = (equal_to(value[static_cast<size_t>(lane)]) & members) == members ? members : 0;
        break;
      case WarpCode::sync_warp:
        break;
      default:  // folds
        out = value[static_cast<size_t>(group)];
        for (int64_t other = group + 1; other < std::min(group + width, lanes); ++other) {
          out = op.fold(out, value[static_cast<size_t>(other)], 0);
        }
        break;
    }
  }
  if (code == WarpCode::sync_warp) {
    std::vector<int32_t> all;
    for (int64_t lane = 0; lane < lanes; ++lane) all.push_back(first + static_cast<int32_t>(lane));
    order_.meet(all);
  }
  for (int64_t lane = 0; lane < lanes; ++lane) {
    Thread& t = thread(lane);
    if (op.node->result) t.regs[op.dst] = result[static_cast<size_t>(lane)];
    ++t.pc;
    t.state = Thread::State::ready;
  }
  changed_ = true;
}

}  // namespace tw::sim::twin
