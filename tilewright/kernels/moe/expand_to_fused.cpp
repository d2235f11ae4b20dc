// out[p, :] = x[i, :] for each p = token_topk_to_pos[i, k], zeros where p is padding; the same with
// scale factors.
// Memory bound: x is read once, out written once.
#include <algorithm>
#include <vector>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/slots.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

// A block has some tokens, which it copies, and more positions, which it clears if they are
// padding: there are more of these, and blocks that only look at one cost more than what they
// store.
void dataflow(Builder& k, DType dtype) {
  const Expr t = k.dim("t"), np = k.dim("np");
  const int64_t h = k.constant("h"), topk = k.constant("topk"), n = k.constant("n");
  const int64_t rows = k.tunable("rows", 1), paddings = k.tunable("paddings", 1);
  const int64_t width = k.tunable("width", std::min<int64_t>(h, 4096));
  const Buffer x = k.input("x", dtype, {t, h});
  Buffer sf, out_sf;
  if (n > 0) sf = k.input("sf", u32, {t, n});
  const Buffer token_topk_to_pos = k.input("token_topk_to_pos", i32, {t, topk});
  const Buffer pos_to_expert = k.input("pos_to_expert", i32, {np});
  const Buffer out = k.output("out", dtype, {np, h});
  if (n > 0) {
    out_sf = k.output("out_sf", u32, {np, n}, {.strides = {k.dim("sf_row"), k.dim("sf_column")}});
  }
  safe_value(token_topk_to_pos, -1);
  relaxed_global(out);  // no position is that of two tokens
  if (n > 0) relaxed_global(out_sf);

  const int64_t parts = cdiv(h, width);
  k.launch({max(cdiv(t, rows), cdiv(np, paddings)) * parts}, [&](Expr block) {
    const Expr group = let(block / parts), part = let(block % parts);
    const Expr row0 = let(group * rows), first = let(part * width);

    // 1. All that is read is on its way at once, but positions behind the first few.
    std::vector<Expr> is_padding;
    for (int64_t p = 0; p < paddings; ++p) {
      is_padding.push_back(let(pos_to_expert(group * paddings + p) < 0));
    }
    std::vector<std::vector<Expr>> positions(static_cast<size_t>(rows));
    std::vector<Buffer> values;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t slot = 0; topk <= kSlotsAtOnce && slot < topk; ++slot) {
        positions[static_cast<size_t>(r)].push_back(let(token_topk_to_pos(row0 + r, slot)));
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      values.push_back(fragment(dtype, {width}, "values"));
      if_(row0 + r < t,
          [&] { parallel({width}, [&](Expr j) { values.back()(j) = x(row0 + r, first + j); }); });
    }

    // 2. Factors: a thread has one of a position.
    if (n > 0) {
      if_(part == 0, [&] {
        parallel({rows, topk, n}, [&](Expr r, Expr slot, Expr j) {
          const Expr pos = let(cast(token_topk_to_pos(row0 + r, slot), i64));
          const Expr factor = let(sf(row0 + r, j));
          if_(0 <= pos && pos < np, [&] { out_sf(pos, j) = factor; });
        });
        parallel({paddings, n}, [&](Expr p, Expr j) {
          const Expr pos = group * paddings + p;
          if_(pos_to_expert(pos) < 0, [&] { out_sf(pos, j) = 0; });
        });
      });
    }

    // 3. Rows.
    for (int64_t r = 0; r < rows; ++r) {
      const auto at = static_cast<size_t>(r);
      const auto to_position = [&](const Expr& i) {
        const Expr pos = let(cast(i, i64));
        if_(0 <= pos && pos < np,
            [&] { parallel({width}, [&](Expr j) { out(pos, first + j) = values[at](j); }); });
      };
      for (const Expr& pos : positions[at]) to_position(pos);
      if (positions[at].empty()) {
        in_groups_of_slots(topk, [&](const Expr& slot, int64_t count) {
          std::vector<Expr> all;
          for (int64_t c = 0; c < count; ++c) {
            all.push_back(let(token_topk_to_pos(row0 + r, slot + c)));
          }
          for (const Expr& pos : all) to_position(pos);
        });
      }
    }
    for (int64_t p = 0; p < paddings; ++p) {
      if_(is_padding[static_cast<size_t>(p)], [&] {
        const Expr pos = let(group * paddings + p);
        assume(pos < np);
        parallel({width}, [&](Expr j) { out(pos, first + j) = 0; });
      });
    }
  });
}

/// Each thread has two vectors of 16 bytes, of one row if that is long enough. There are usually up
/// to two positions for a token.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t h = c.constant("h"), in_vector = 128 / c.dtype().bits();
  const int64_t vectors = lang::cdiv(h, in_vector);
  int64_t threads = 256;
  while (threads > 32 && vectors % threads != 0) threads -= 32;
  if (threads == 32) threads = std::clamp<int64_t>(vectors / 32, 1, 8) * 32;
  const int64_t rows = std::clamp<int64_t>(2 * threads / vectors, 1, 4);
  s.threads(threads)
      .set("rows", rows)
      .set("paddings", 2 * rows)
      .set("width", std::min(h, 2 * threads * in_vector));
}

const Jit& kernel() {
  static const Jit jit(define_kernel("expand_to_fused", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

void run(const char* f, const Tensor& x, const Tensor* sf, const Tensor& token_topk_to_pos,
         const Tensor& pos_to_expert, const Tensor& out, const Tensor* out_sf, Stream stream) {
  const Named x_{"x", x}, map{"token_topk_to_pos", token_topk_to_pos},
      experts{"pos_to_expert", pos_to_expert}, out_{"out", out};
  check_rank(f, x_, 2);
  check_columns(f, x_);
  TW_REQUIRE(x.dtype().bits() <= 32, "{}: x is {}, its elements must have 8, 16 or 32 bits", f, x);
  check_dtype(f, map, {i32});
  check_rank(f, map, 2);
  check_shape(f, map, {x.dim(0), token_topk_to_pos.dim(1)}, "[t, topk]");
  check_dtype(f, experts, {i32});
  check_rank(f, experts, 1);
  check_dtype(f, out_, {x.dtype()});
  check_shape(f, out_, {pos_to_expert.dim(0), x.dim(1)}, "[np, h]");
  check_apart(f, out_, {x_, map, experts});
  const Tensor from = as_bits(f, x_), to = as_bits(f, out_);
  const Kernel& compiled = kernel()(
      {from.dtype()},
      {{"h", x.dim(1)}, {"topk", token_topk_to_pos.dim(1)}, {"n", sf == nullptr ? 0 : sf->dim(1)}},
      x.device().kind);
  if (sf == nullptr) {
    return compiled.launch(stream, {from, token_topk_to_pos, pos_to_expert, to});
  }
  compiled.launch(stream, {from, as_bits(f, {"sf", *sf}), token_topk_to_pos, pos_to_expert, to,
                           as_bits(f, {"out_sf", *out_sf})});
}

}  // namespace

void expand_to_fused(const Tensor& x, const Tensor& token_topk_to_pos, const Tensor& pos_to_expert,
                     const Tensor& out, Stream stream) {
  run("expand_to_fused", x, nullptr, token_topk_to_pos, pos_to_expert, out, nullptr, stream);
}

void expand_to_fused_with_sf(const Tensor& x, const Tensor& sf, int64_t group,
                             const Tensor& token_topk_to_pos, const Tensor& pos_to_expert,
                             const Tensor& out, const Tensor& out_sf, Stream stream) {
  constexpr const char* f = "expand_to_fused_with_sf";
  check_rank(f, {"x", x}, 2);
  TW_REQUIRE(group == 32 || group == 128, "{}: a factor is for {} columns, it must be 32 or 128", f,
             group);
  const Named sf_{"sf", sf}, out_{"out_sf", out_sf};
  check_dtype(f, sf_, {f32, i32});
  const int64_t factors = lang::cdiv(x.dim(1), group);
  const int64_t n = sf.dtype() == f32 ? factors : lang::cdiv(factors, 4);
  check_shape(f, sf_, {x.dim(0), n}, "[t, n]");
  check_dtype(f, out_, {sf.dtype()});
  check_shape(f, out_, {out.rank() > 0 ? out.dim(0) : 0, n}, "[np, n]");
  check_apart(f, out_, {{"x", x}, sf_, {"token_topk_to_pos", token_topk_to_pos}, {"out", out}});
  check_apart(f, {"out", out}, {sf_});
  run(f, x, &sf, token_topk_to_pos, pos_to_expert, out, &out_sf, stream);
}

}  // namespace tw::kernels
