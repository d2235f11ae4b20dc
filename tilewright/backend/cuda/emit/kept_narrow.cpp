#include "tilewright/backend/cuda/emit/kept_narrow.h"

#include <algorithm>

#include "tilewright/ir/visit.h"

namespace tw::cuda {
namespace {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;

constexpr int64_t kRegisters = 65536;  // of a multiprocessor, since sm_50
constexpr int64_t kOthers = 24;        // that a thread needs besides

int64_t registers_per_thread(const ir::Launch& launch) {
  int64_t threads = 1;
  for (const int64_t extent : launch.threads) threads *= extent;
  if (launch.min_blocks_per_sm > 0) return kRegisters / (launch.min_blocks_per_sm * threads);
  return launch.max_registers > 0 ? launch.max_registers : INT64_MAX;
}

/// Barriers in program order, and where each array is used first and last among them.
struct Uses : ir::Visitor {
  explicit Uses(int64_t registers) : registers_(registers) {}
  using Visitor::visit;
  void visit(const Expr& expr) override {
    if (const auto* load = expr.try_as<ir::Load>()) use(load->buffer);
    children(expr);
  }
  void visit(const Stmt& stmt) override {
    if (const auto* barrier = stmt.try_as<ir::Barrier>()) barriers.push_back(barrier);
    if (const auto* store = stmt.try_as<ir::Store>()) use(store->buffer);
    if (const auto* move = stmt.try_as<ir::Move>()) {
      use(move->src);
      use(move->dst);
    }
    children(stmt);
  }

  struct Array {
    Buffer buffer;
    size_t first, last;  // use: how many barriers are before it
  };
  std::vector<const ir::Barrier*> barriers;
  std::vector<Array> arrays;

 private:
  void use(const Buffer& buffer) {
    const DType dtype = buffer.dtype();
    if (buffer.space() != ir::MemSpace::local || !dtype.is_float() || dtype.bits() != 16) return;
    int64_t elements = 1;
    for (size_t d = 0; d < buffer.shape().size(); ++d) elements *= buffer.extent(d);
    if (elements % 2 != 0 || elements + kOthers <= registers_) return;
    const size_t now = barriers.size();
    const auto known = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const Array& a) { return a.buffer.same_as(buffer); });
    if (known == arrays.end()) return arrays.push_back({buffer, now, now});
    known->last = now;
  }

  int64_t registers_;
};

}  // namespace

std::map<const ir::Barrier*, std::vector<Buffer>> kept_narrow(const ir::Launch& launch) {
  std::map<const ir::Barrier*, std::vector<Buffer>> result;
  const int64_t registers = registers_per_thread(launch);
  if (registers == INT64_MAX) return result;
  Uses uses(registers);
  uses.visit(launch.body);
  for (const auto& [buffer, first, last] : uses.arrays) {
    for (size_t i = first; i < last; ++i) result[uses.barriers[i]].push_back(buffer);
  }
  return result;
}

}  // namespace tw::cuda
