#include "tilewright/backend/cuda/toolchain/resources.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "tilewright/base/integer.h"

namespace tw::cuda {
namespace {

/// The number before `unit` in a text, 0 where it isn't.
int64_t number_before(std::string_view text, std::string_view unit) {
  const size_t end = text.find(unit);
  if (end == text.npos) return 0;
  size_t begin = end;
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  int64_t number = 0;
  std::from_chars(text.data() + begin, text.data() + end, number);
  return number;
}

}  // namespace

std::optional<Resources> resources_of(const std::string& log, const std::string& entry) {
  const std::string head = "Function properties for " + entry + "\n";
  const size_t begin = log.find(head);
  if (begin == log.npos) return std::nullopt;
  const size_t end = log.find("Compiling entry function", begin);
  const std::string_view text = std::string_view(log).substr(begin, end - begin);
  return Resources{.registers = number_before(text, " registers"),
                   .stack_bytes = number_before(text, " bytes stack frame"),
                   .spill_stores = number_before(text, " bytes spill stores"),
                   .spill_loads = number_before(text, " bytes spill loads"),
                   .shared_bytes = number_before(text, " bytes smem")};
}

/// Registers are given to warps in units of 256, warps live in four parts of the multiprocessor,
/// shared memory is given in units of 128 bytes (CUDA occupancy calculator, compute capability 9.0
/// and 10.0).
Occupancy occupancy(const Target& target, int64_t threads, int64_t registers,
                    int64_t shared_bytes) {
  constexpr int64_t kBlocks = 32, kParts = 4;
  const int64_t warps = ceil_div(threads, target.warp);
  const int64_t per_warp = ceil_div(registers * target.warp, int64_t{256}) * 256;
  const int64_t per_block = ceil_div(shared_bytes + target.reserved_shared, int64_t{128}) * 128;
  Occupancy best{kBlocks, "blocks"};
  const auto limit = [&](int64_t blocks, const char* what) {
    if (blocks < best.blocks) best = {blocks, what};
  };
  limit(target.threads_per_sm / target.warp / warps, "threads");
  if (per_warp > 0) {
    limit(target.registers_per_sm / kParts / per_warp * kParts / warps, "registers");
  }
  limit(target.shared_per_sm / per_block, "shared memory");
  return best;
}

}  // namespace tw::cuda
