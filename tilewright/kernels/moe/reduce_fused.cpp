// out[i, :] = the weighted sum of the rows x[p, :] of token i, in the order of its experts.
// Memory bound: of x the rows of tokens are read once, out is written once.
#include <algorithm>
#include <vector>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/moe/slots.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

// A block has a part of a token's row. Positions outside x are left out: even a zero would change
// the sign of another, and the weight may be anything.
void dataflow(Builder& k, const Case& c) {
  const DType dtype = c.dtype(0), result = c.dtype(1);
  const Expr t = k.dim("t"), np = k.dim("np");
  const int64_t h = k.constant("h"), topk = k.constant("topk");
  const bool has_weights = k.constant("has_weights") != 0, has_x_sf = k.constant("has_x_sf") != 0,
             has_sf = k.constant("has_sf") != 0;
  const int64_t width = k.tunable("width", std::min<int64_t>(h, 4096));
  const Buffer x = k.input("x", dtype, {np, h});
  Buffer x_sf, weights, sf;
  if (has_x_sf) x_sf = k.input("x_sf", f32, {np});
  if (has_weights) weights = k.input("topk_weights", f32, {t, topk});
  const Buffer token_topk_to_pos = k.input("token_topk_to_pos", i32, {t, topk});
  if (has_sf) sf = k.input("sf", f32, {1});
  const Buffer out = k.output("out", result, {t, h});

  const int64_t parts = cdiv(h, width);
  k.launch({t * parts}, [&](Expr block) {
    const Expr token = let(block / parts), first = let(block % parts * width);
    const Buffer sum = fragment(f32, {width}, "sum");
    clear(sum);
    in_groups_of_slots(topk, [&](const Expr& slot, int64_t count) {
      std::vector<Expr> all_pos, all_by;
      for (int64_t n = 0; n < count; ++n) {
        const Expr pos = let(cast(token_topk_to_pos(token, slot + n), i64));
        const Expr weight = has_weights ? weights(token, slot + n).value() : Expr(1.0F);
        all_pos.push_back(pos);
        all_by.push_back(let(has_x_sf ? ieee::mul(weight, x_sf(pos)) : weight));
      }
      for (size_t n = 0; n < all_pos.size(); ++n) {
        const Expr &pos = all_pos[n], &by = all_by[n];
        if_(0 <= pos && pos < np, [&] {
          parallel({width},
                   [&](Expr j) { sum(j) = ieee::fma(cast(x(pos, first + j), f32), by, sum(j)); });
        });
      }
    });
    const Expr scale = has_sf ? let(sf(0)) : Expr();
    parallel({width}, [&](Expr j) {
      out(token, first + j) = cast(has_sf ? ieee::mul(sum(j), scale) : sum(j).value(), result);
    });
  });
}

/// Each thread has 16 elements, or 8 where those make no whole warps: few enough for many blocks,
/// whose loads of one row after the other are on their way at the same time. Blocks have whole
/// parts of a row.
void schedule_gpu(Schedule& s, const Case& c) {
  const int64_t h = c.constant("h"), elements = h % 512 == 0 ? 16 : 8;
  int64_t threads = 256;
  while (h % (threads * elements) != 0) threads -= 32;
  s.threads(threads).set("width", threads * elements);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("reduce_fused", dataflow).schedule("cuda", schedule_gpu));
  return jit;
}

}  // namespace

void reduce_fused(const Tensor& x, const Tensor& token_topk_to_pos, const Tensor& out,
                  const ReduceFusedArgs& args, Stream stream) {
  constexpr const char* f = "reduce_fused";
  const Named x_{"x", x}, map{"token_topk_to_pos", token_topk_to_pos}, out_{"out", out};
  check_rank(f, x_, 2);
  check_dtype(f, x_, {f32, bf16, f8_e4m3});
  const int64_t np = x.dim(0), h = x.dim(1);
  TW_REQUIRE(h > 0 && h % 256 == 0, "{}: x is {}, its rows must be a multiple of 256", f, x);
  check_rank(f, map, 2);
  check_dtype(f, map, {i32});
  const int64_t t = token_topk_to_pos.dim(0), topk = token_topk_to_pos.dim(1);
  if (out.dtype() != x.dtype()) check_dtype(f, out_, {f8_e4m3});
  check_shape(f, out_, {t, h}, "[t, h]");
  check_apart(f, out_, {x_, map});
  std::vector<Arg> arguments = {x};
  const auto add = [&](const char* name, const Tensor* given, const Shape& shape,
                       const char* like) {
    if (given == nullptr) return;
    check_dtype(f, {name, *given}, {f32});
    check_shape(f, {name, *given}, shape, like);
    check_apart(f, out_, {{name, *given}});
    arguments.push_back(*given);
  };
  add("x_sf", args.x_sf, {np}, "[np]");
  add("topk_weights", args.topk_weights, {t, topk}, "like token_topk_to_pos");
  arguments.push_back(token_topk_to_pos);
  TW_REQUIRE(args.sf == nullptr || out.dtype() == f8_e4m3,
             "{}: sf is given, which only an out of e4m3 has, this is {}", f, out);
  add("sf", args.sf, {1}, "");
  arguments.push_back(out);
  kernel()({x.dtype(), out.dtype()},
           {{"h", h},
            {"topk", topk},
            {"has_weights", args.topk_weights != nullptr},
            {"has_x_sf", args.x_sf != nullptr},
            {"has_sf", args.sf != nullptr}},
           x.device().kind)(arguments, {.stream = stream});
}

}  // namespace tw::kernels
