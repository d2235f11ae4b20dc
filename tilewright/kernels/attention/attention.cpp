// o = softmax(scale q k^T) v, a tile of queries at a time.
// Compute bound: 4 sq sk d operations for each head. A block passes over the keys once (Dao et al.,
// FlashAttention, 2022): with the highest score so far and the sum of the terms relative to it,
// what has been added up is scaled down whenever a higher score turns up.
//
// All tiles are transposed, queries run along the last dimension: then the maxima and sums of the
// softmax are those of whole vectors, keys and values are multiplied as they lie in memory, and the
// terms come out of one multiply in the form in which the next one takes them.
#include "tilewright/kernels/attention.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

/// One head of one sequence: the tensors' rows of it, [1, rows, 1, d], and how many there are.
struct Head {
  Buffer q, k, v, o;
  Buffer lse;  // [1, 1, rows]
  Expr queries, keys;
};

/// Attention of the queries from `first` on.
void attend(const Head& h, const Expr& first, const Expr& scale, int64_t bm, int64_t bn,
            bool causal, bool with_lse) {
  const DType dtype = h.q.dtype();
  const int64_t d = h.q.extent(3).as_int();
  const Buffer q = shared(dtype, {d, bm}, "q_tile"), k = shared(dtype, {bn, d}, "k_tile"),
               v = shared(dtype, {bn, d}, "v_tile");
  const Buffer scores = fragment(f32, {bn, bm}, "scores"), terms = shared(dtype, {bn, bm}, "terms");
  const Buffer sums = fragment(f32, {d, bm}, "sums");
  const Buffer highest = fragment(f32, {bm}, "highest"), total = fragment(f32, {bm}, "total");
  parallel({d, bm}, [&](Expr c, Expr i) { q(c, i) = h.q(0, first + i, 0, c); });
  clear(sums);
  fill(highest, -inf(f32));
  clear(total);

  // A query sees the keys below its own index plus `seen`.
  const Expr seen = let(h.keys - h.queries + 1);
  const Expr end = causal ? let(min(h.keys, first + bm - 1 + seen)) : h.keys;
  pipelined(cdiv(max(end, 0), bn), [&](Expr step) {
    const Expr key = let(step * bn);
    copy(h.k(0, at(key, bn), 0, all), k);
    copy(h.v(0, at(key, bn), 0, all), v);
    gemm(k, q, scores, {.clear = true});
    parallel({bn, bm}, [&](Expr j, Expr i) {
      Expr visible = key + j < h.keys;
      if (causal) visible = visible && key + j < first + i + seen;
      scores(j, i) = select(visible, scores(j, i) * scale, -inf(f32));
    });
    const Buffer before = fragment(f32, {bm}, "before"), base = fragment(f32, {bm}, "base"),
                 shrink = fragment(f32, {bm}, "shrink");
    parallel({bm}, [&](Expr i) { before(i) = highest(i); });
    reduce_max(scores, highest, 0, {.clear = false});
    // The terms are relative to the highest score, to 0 while that is -inf: inf - inf is no number.
    parallel({bm}, [&](Expr i) {
      const Expr next = let(select(highest(i) == -inf(f32), 0.0F, highest(i)));
      shrink(i) = exp2(before(i) - next);
      total(i) *= shrink(i);
      base(i) = next;
    });
    parallel({bn, bm}, [&](Expr j, Expr i) { scores(j, i) = exp2(scores(j, i) - base(i)); });
    reduce_sum(scores, total, 0, {.clear = false});
    parallel({d, bm}, [&](Expr c, Expr i) { sums(c, i) *= shrink(i); });
    copy(scores, terms);
    gemm(v, terms, sums, {.trans_a = true});
  });

  parallel({bm, d}, [&](Expr i, Expr c) {
    h.o(0, first + i, 0, c) = cast(select(total(i) == 0.0F, 0.0F, sums(c, i) / total(i)), dtype);
  });
  if (with_lse) {
    constexpr float kLn2 = 0.693147182F;
    parallel({bm}, [&](Expr i) { h.lse(0, 0, first + i) = highest(i) * kLn2 + log(total(i)); });
  }
}

// Packed tensors have a batch of one entry, in which cu_seqlens tells the sequences apart.
void dataflow(Builder& b, const Case& kernel_case) {
  const DType dtype = kernel_case.dtype(0);
  const bool packed = b.constant("packed") != 0, causal = b.constant("causal") != 0;
  const bool with_lengths = b.constant("with_lengths") != 0, with_lse = b.constant("with_lse") != 0;
  const int64_t d = b.constant("d"), group = b.constant("group");
  const int64_t bm = b.tunable("bm", 64), bn = b.tunable("bn", 64);
  const Expr batch = b.dim("batch"), sq = b.dim("sq"), sk = packed ? sq : b.dim("sk");
  const Expr key_heads = b.dim("hkv"), heads = key_heads * group;
  const auto strides = [&](const std::string& name) {
    return TensorOptions{
        .strides = {b.dim(name + "_batch"), b.dim(name + "_token"), b.dim(name + "_head"), 1}};
  };
  const Buffer k = b.input("k", dtype, {batch, sk, key_heads, d}, strides("k"));
  const Buffer v = b.input("v", dtype, {batch, sk, key_heads, d}, strides("v"));
  const Buffer q = b.input("q", dtype, {batch, sq, heads, d}, strides("q"));
  Buffer lengths, cu_seqlens, lse;
  Expr sequences = batch, longest = sq;
  if (with_lengths) lengths = b.input("key_lengths", i32, {batch});
  if (packed) {
    sequences = b.dim("sequences");
    cu_seqlens = b.input("cu_seqlens", kernel_case.dtype(1), {sequences + 1});
    longest = b.scalar("max_len", i64);
  }
  const Expr scale = b.scalar("scale", f32);
  const Buffer o = b.output("o", dtype, {batch, sq, heads, d}, strides("o"));
  if (with_lse) {
    lse = b.output("lse", f32, {batch, heads, sq},
                   {.strides = {b.dim("lse_batch"), b.dim("lse_head"), 1}});
  }
  b.launch({cdiv(longest, bm), heads, sequences}, [&](Expr tile, Expr head, Expr sequence) {
    Expr entry = sequence, begin = 0, queries = sq, keys = sk;
    if (packed) {
      entry = 0;
      begin = let(cast(cu_seqlens(sequence), i64));
      queries = keys = let(cast(cu_seqlens(sequence + 1), i64) - begin);
      device_assert(queries <= longest, "attention_packed: a sequence is longer than max_len",
                    {queries, longest});
    }
    if (with_lengths) keys = let(clamp(cast(lengths(sequence), i64), 0, sk));
    const auto rows = [&](const Buffer& x, const Expr& count, const Expr& of) {
      return slice_view(x(at(entry, 1), at(begin, count), at(of, 1), all));
    };
    const Expr key_head = let(floordiv(head, group));
    const Expr first = let(tile * bm);
    if_(first < queries, [&] {
      const Head h{.q = rows(q, queries, head),
                   .k = rows(k, keys, key_head),
                   .v = rows(v, keys, key_head),
                   .o = rows(o, queries, head),
                   .lse = with_lse ? slice_view(lse(at(entry, 1), at(head, 1), at(begin, queries)))
                                   : Buffer(),
                   .queries = queries,
                   .keys = keys};
      constexpr float kLog2E = 1.44269504F;  // scores are in units of log 2
      attend(h, first, let(scale * kLog2E), bm, bn, causal, with_lse);
    });
  });
}

// On the cpu a tile of queries is two vectors of f32, the columns of one micro-kernel, so that
// neither operand of the multiplies is rearranged. Short tiles of keys waste less of the last one:
// measured on Zen 4 with 32 sequences of 32 tokens, 12 heads of d 32, f32: twice the rate of 64.
void schedule_cpu(Schedule& s, const Case& c) {
  s.set("bm", 32).set("bn", c.constant("short_keys") != 0 ? 32 : 64);
}

const Jit& kernel() {
  static const Jit jit(define_kernel("attention", dataflow).schedule(targets::cpu, schedule_cpu));
  return jit;
}

/// The tensors of a call, all of them of rank 4, and lse of rank 3.
struct Operands {
  Tensor q, k, v, o, lse;
};

/// What both forms check of tensors whose last dimensions are [heads, d].
void check_operands(std::string_view f, const Operands& x, const AttentionArgs& args) {
  check_dtype(f, {"q", x.q}, {f32, bf16, f16});
  check_dtype(f, {"k", x.k}, {x.q.dtype()});
  check_like(f, {"v", x.v}, {"k", x.k});
  check_like(f, {"o", x.o}, {"q", x.q});
  const int64_t d = x.q.dim(-1), heads = x.q.dim(-2), key_heads = x.k.dim(-2);
  TW_REQUIRE(d >= 8 && d <= 256, "{}: q is {}, its head dimension must be from 8 to 256", f, x.q);
  TW_REQUIRE(x.k.dim(-1) == d, "{}: the head dimension is {} in q {} but {} in k {}", f, d, x.q,
             x.k.dim(-1), x.k);
  TW_REQUIRE(key_heads > 0 && heads > 0 && heads % key_heads == 0,
             "{}: q has {} heads and k has {}, the first must be a multiple of the second", f,
             heads, key_heads);
  if (args.lse != nullptr) check_dtype(f, {"lse", *args.lse}, {f32});
}

void run(const Operands& x, const AttentionArgs& args, const Tensor* cu_seqlens, int64_t max_len,
         Stream stream) {
  const bool packed = cu_seqlens != nullptr;
  const int64_t d = x.q.dim(3), most_keys = packed ? max_len : x.k.dim(1);
  const Kernel& run = kernel()({x.q.dtype(), packed ? cu_seqlens->dtype() : i32},
                               {{"packed", packed},
                                {"causal", args.causal},
                                {"with_lengths", args.key_lengths != nullptr},
                                {"with_lse", args.lse != nullptr},
                                {"d", d},
                                {"short_keys", most_keys <= 96},
                                {"group", x.q.dim(2) / x.k.dim(2)}},
                               x.o.device().kind);
  std::array<Arg, 8> list{x.k, x.v, x.q};
  size_t count = 3;
  if (args.key_lengths != nullptr) list[count++] = *args.key_lengths;
  if (packed) {
    list[count++] = *cu_seqlens;
    list[count++] = std::min(max_len, x.q.dim(1));
  }
  list[count++] = args.scale.value_or(1.0F / std::sqrt(static_cast<float>(d)));
  list[count++] = x.o;
  if (args.lse != nullptr) list[count++] = x.lse;
  run(std::span(list.data(), count), {.stream = stream});
}

/// With a batch dimension of one entry in front.
Tensor with_batch(const Tensor& t) {
  std::array<int64_t, 4> shape{1}, strides{0};
  std::copy(t.shape().begin(), t.shape().end(), shape.begin() + 1);
  std::copy(t.strides().begin(), t.strides().end(), strides.begin() + 1);
  const auto rank = static_cast<size_t>(t.rank()) + 1;
  return {t.data(), t.dtype(), Shape(std::span(shape).first(rank)),
          Shape(std::span(strides).first(rank)), t.device()};
}

}  // namespace

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& o,
               const AttentionArgs& args, Stream stream) {
  check_rank("attention", {"q", q}, 4);
  check_rank("attention", {"k", k}, 4);
  const Operands x{q, k, v, o, args.lse != nullptr ? *args.lse : Tensor()};
  check_operands("attention", x, args);
  TW_REQUIRE(k.dim(0) == q.dim(0), "attention: the batch is {} in q {} but {} in k {}", q.dim(0), q,
             k.dim(0), k);
  if (args.key_lengths != nullptr) {
    check_dtype("attention", {"key_lengths", *args.key_lengths}, {i32});
    check_shape("attention", {"key_lengths", *args.key_lengths}, {q.dim(0)}, "[b]");
  }
  if (args.lse != nullptr) {
    check_shape("attention", {"lse", *args.lse}, {q.dim(0), q.dim(2), q.dim(1)}, "[b, hq, sq]");
  }
  check_apart("attention", {"o", o}, {{"q", q}, {"k", k}, {"v", v}});
  run(x, args, nullptr, 0, stream);
}

void attention_packed(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& cu_seqlens,
                      int64_t max_len, const Tensor& o, const AttentionArgs& args, Stream stream) {
  check_rank("attention_packed", {"q", q}, 3);
  check_rank("attention_packed", {"k", k}, 3);
  check_operands("attention_packed", {q, k, v, o, {}}, args);
  TW_REQUIRE(k.dim(0) == q.dim(0), "attention_packed: there are {} tokens in q {} but {} in k {}",
             q.dim(0), q, k.dim(0), k);
  check_rank("attention_packed", {"cu_seqlens", cu_seqlens}, 1);
  check_dtype("attention_packed", {"cu_seqlens", cu_seqlens}, {i32, i64});
  TW_REQUIRE(cu_seqlens.dim(0) > 0, "attention_packed: cu_seqlens is {}, it must be [b + 1]",
             cu_seqlens);
  TW_REQUIRE(max_len >= 0, "attention_packed: max_len is {}, it must not be negative", max_len);
  TW_REQUIRE(args.key_lengths == nullptr,
             "attention_packed: key_lengths is given, cu_seqlens has the lengths");
  if (args.lse != nullptr) {
    check_shape("attention_packed", {"lse", *args.lse}, {q.dim(1), q.dim(0)}, "[hq, tokens]");
  }
  check_apart("attention_packed", {"o", o}, {{"q", q}, {"k", k}, {"v", v}});
  run({with_batch(q), with_batch(k), with_batch(v), with_batch(o),
       args.lse != nullptr ? with_batch(*args.lse) : Tensor()},
      args, &cu_seqlens, max_len, stream);
}

}  // namespace tw::kernels
