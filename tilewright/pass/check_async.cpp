#include "tilewright/pass/check_async.h"

#include <optional>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/bulk.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/access.h"
#include "tilewright/pass/thread_code.h"

namespace tw::pass {
namespace {

using ir::Expr;
using ir::Stmt;

bool in_shared(const ir::Region& region) {
  const ir::MemSpace space = region.buffer.root().space();
  return space == ir::MemSpace::shared || space == ir::MemSpace::shared_static;
}

bool is_multiple(const ValueSet& set, int64_t of) {
  return set.remainder % of == 0 && (set.modulus == 0 || set.modulus % of == 0);
}

class AsyncCheck : public AccessWalk {
 public:
  AsyncCheck(const ir::Program& program, Diagnostics& diagnostics)
      : program_(program), diagnostics_(diagnostics) {}

 private:
  void on_access(const Access&) override {}
  void on_stmt(const Stmt& stmt) override {
    if (stmt.is<ir::Launch>()) code_.emplace(stmt);
    const auto* copy = stmt.try_as<ir::AsyncCopy>();
    if (copy == nullptr) return;
    const bool loads = in_shared(copy->dst);
    const ir::Region &tile = loads ? copy->dst : copy->src, &far = loads ? copy->src : copy->dst;
    if (copy->engine == ir::CopyEngine::elements) {
      if (code_->is_own(stmt)) by_thread(stmt, *copy);
      return;
    }
    if (code_->is_own(stmt) && !code_->is_divergent(stmt)) {
      report(codes::copy_06, stmt, "its operands differ between threads, of which one starts it")
          .help(
              "put it under a condition on the thread: then each thread that is there starts one");
      return;
    }
    if (loads && !copy->barrier) {
      report(codes::copy_05, stmt, "without a barrier nobody can wait for it")
          .help("let it count on a barrier with phases");
      return;
    }
    const bool tensor = copy->engine == ir::CopyEngine::tensor;
    const std::string rule =
        tensor ? ir::against_descriptor(tile, far) : ir::against_bulk(tile, far);
    if (!rule.empty()) {
      report(tensor && far.buffer.root()->address ? codes::copy_07 : codes::copy_06, stmt, rule);
      return;
    }
    if (far.buffer->safe_value && loads && tensor) {
      report(codes::copy_06, stmt,
             format("outside of {} are elements that read as {}, engines bring 0",
                    far.buffer.name(), far.buffer->safe_value));
      return;
    }
    if (tensor && !loads) starts_inside(stmt, far);
    if (!tensor) lies_inside(stmt, far);
    aligned(codes::copy_06, stmt, tile, tensor ? 128 : 16, !tensor);
    if (!tensor) aligned(codes::copy_06, stmt, far, 16, true);
  }

  Error& report(Code code, const Stmt& stmt, const std::string& rule) {
    return diagnostics_.error(code, stmt.loc(), "{}: `{}`: {}", program_.name, first_line(stmt),
                              rule);
  }

  /// 4, 8 or 16 bytes of neighbors.
  void by_thread(const Stmt& stmt, const ir::AsyncCopy& copy) {
    int64_t bits = copy.src.buffer.dtype().bits();
    for (const ir::Region* r : {&copy.src, &copy.dst}) {
      const std::vector<size_t> dims = ir::iterated_dims(*r);
      const bool row = dims.empty() || (dims.size() == 1 && dims[0] + 1 == r->extent.size() &&
                                        ir::is_int(ir::strides_of(r->buffer).back(), 1));
      if (!row) {
        report(codes::copy_08, stmt,
               format("a thread by itself copies neighbors, elements of {} are none",
                      r->buffer.name()));
        return;
      }
    }
    for (const Expr& e : copy.src.extent) bits *= *ir::as_int(e);
    if (bits != 32 && bits != 64 && bits != 128) {
      report(codes::copy_08, stmt,
             format("a thread by itself copies 4, 8 or 16 bytes at once, not {}",
                    bits % 8 == 0 ? format("{}", bits / 8) : format("{} bits", bits)));
      return;
    }
    if (copy.src.buffer->safe_value) {
      report(codes::copy_08, stmt,
             format("outside of {} are elements that read as {}, engines bring 0",
                    copy.src.buffer.name(), copy.src.buffer->safe_value));
      return;
    }
    for (const ir::Region* r : {&copy.src, &copy.dst}) {
      aligned(codes::copy_08, stmt, *r, bits / 8, true);
    }
  }

  void starts_inside(const Stmt& stmt, const ir::Region& box) {
    for (const Expr& begin : box.begin) {
      if (bounds_.proves(ir::le(ir::index(0), begin))) continue;
      report(codes::copy_06, stmt,
             format("it may begin before {}, where a store by descriptor is illegal",
                    box.buffer.name()))
          .note("`{}` may be negative", begin)
          .help("tell what is known with assume");
      return;
    }
  }
  void lies_inside(const Stmt& stmt, const ir::Region& rows) {
    if (rows.unchecked) return;
    for (size_t d = 0; d < rows.begin.size(); ++d) {
      const Expr end = ir::add(rows.begin[d], rows.extent[d]);
      if (bounds_.proves(ir::le(ir::index(0), rows.begin[d])) &&
          bounds_.proves(ir::le(end, rows.buffer.shape()[d]))) {
        continue;
      }
      report(
          codes::copy_06, stmt,
          format("it may lie outside of {}, in bulk all of it must be inside", rows.buffer.name()))
          .note("in dimension {} it goes from `{}` to `{}` of {}", d, rows.begin[d], end,
                rows.buffer.shape()[d])
          .help("tell what is known with assume, or copy by descriptor");
      return;
    }
  }

  /// Whether it begins at a multiple of so many bytes, and each row of it if they count.
  void aligned(Code code, const Stmt& stmt, const ir::Region& region, int64_t bytes, bool by_rows) {
    const ir::Buffer& buffer = region.buffer;
    const int64_t unit = bytes * 8 / buffer.dtype().bits();
    const bool shared = in_shared(region);
    if (unit <= 1 && (shared || !buffer.root()->address)) return;
    const int64_t base = buffer->address ? buffer->align : buffer.root()->align;
    if (!shared && base < bytes) {
      report(code, stmt,
             format("{} may begin anywhere, its address must be a multiple of {}",
                    buffer.root().name(), bytes))
          .help("promise it with align({}, {})", buffer.root().name(), bytes);
      return;
    }
    const std::vector<Expr> strides = ir::strides_of(buffer);
    Expr place = buffer->offset && !buffer->address ? buffer->offset : ir::index(0);
    bool rows = true;
    for (size_t d = 0; d < strides.size(); ++d) {
      place = ir::add(place, ir::mul(region.begin[d], strides[d]));
      const bool goes_on = d + 1 < strides.size() && !ir::is_int(region.extent[d], 1);
      rows = rows && (!by_rows || !goes_on || is_multiple(bounds_.values(strides[d]), unit));
    }
    if (rows && is_multiple(bounds_.values(bounds_.linear(place)), unit)) return;
    report(code, stmt,
           format("{} must begin at a multiple of {} bytes, which isn't certain", buffer.name(),
                  bytes))
        .note("{} element `{}`", rows ? "it begins at" : "rows may begin anywhere after", place)
        .help("tell what is known with assume, or in the facts of sizes");
  }

  const ir::Program& program_;
  Diagnostics& diagnostics_;
  std::optional<ThreadCode> code_;  // of the launch
};

}  // namespace

void check_async(const ir::Program& program, Diagnostics& diagnostics) {
  AsyncCheck(program, diagnostics).run(program);
}

}  // namespace tw::pass
