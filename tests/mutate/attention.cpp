// Calls of attention: queries that see no key, and keys that outdo those before.
#include "tilewright/kernels/attention.h"

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/kernels/tensors.h"
#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"

namespace tw::test {
namespace {

using namespace kernels;

/// Sets the first of d elements of some tokens of [.., tokens, heads, d].
void set_first(const Tensor& t, int64_t token, int64_t count, double number) {
  const Tensor part = t.slice(t.rank() - 3, token, count).slice(t.rank() - 1, 0, 1);
  assign(part, std::vector<double>(static_cast<size_t>(part.numel()), number));
}

/// Some keys get the highest scores, so that what was added up before is scaled down. Some queries
/// get none but -inf: nothing is added up for them.
void set_scores(const Tensor& q, const Tensor& k, const std::vector<std::pair<int, int>>& loud,
                const std::vector<int64_t>& blind) {
  for (const auto& [token, count] : loud) {
    const Tensor keys = k.slice(k.rank() - 3, token, count);
    std::vector<double> numbers = values(keys);
    for (double& number : numbers) number *= 3;
    assign(keys, numbers);
  }
  set_first(k, 0, k.dim(-3), 2);
  for (const int64_t token : blind) {
    const Tensor query = q.slice(q.rank() - 3, token, 1);
    assign(query, std::vector<double>(static_cast<size_t>(query.numel()), 0));
    set_first(q, token, 1, -3e38);
  }
}

}  // namespace

void add_attention(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    for (const bool causal : {dtype == f32}) {
      const char* how = causal ? ", causal" : "";
      cases.add("attention", format("{}{}", dtype, how), [=](Place& p) {
        // More queries than keys: with causal some see none.
        for (const auto& [b, sq, sk] :
             {std::tuple(1, 5, 70), std::tuple(2, 78, 3), std::tuple(1, 67, 131)}) {
          const Tensor lse = p.output(f32, {b, 2, sq});
          const std::vector<double> list = {200, -70};  // more keys than there are, and none
          const Tensor lengths = p.holding(i32, {b}, {list.begin(), list.begin() + b});
          const Tensor q = p.input(dtype, {b, sq, 2, 8}), k = p.input(dtype, {b, sk, 1, 8}),
                       v = p.input(dtype, {b, sk, 1, 8});
          if (sk == 131) {
            set_scores(q, k, {{64, 67}}, {9, 66});
            // The first tile of queries doesn't come to the last key.
            if (causal) set_first(v, 130, 1, INFINITY);
          }
          attention(q, k, v, p.output(dtype, {b, sq, 2, 8}),
                    {.causal = causal, .key_lengths = &lengths, .lse = &lse});
        }
      });
      cases.add("attention_packed", format("{}{}", dtype, how), [=](Place& p) {
        for (const auto& [longest, list] :
             {std::pair(5, std::vector<double>{0, 3, 3, 8}),
              std::pair(90, std::vector<double>{0, 70, 75, 165}),
              // Sequences that leave the tensors: nothing outside is read or written.
              std::pair(90, std::vector<double>{-3, 64, 60, 80, 150, 160})}) {
          const int64_t tokens = list[0] < 0 ? 131 : static_cast<int64_t>(list.back());
          const Shape shape{tokens, longest == 5 ? 2 : 1, 8};
          const Tensor q = p.input(dtype, shape), k = p.input(dtype, shape),
                       v = p.input(dtype, shape);
          if (tokens == 165) {
            set_scores(q, k, {{56, 14}, {139, 26}}, {9, 66, 69, 74});
            if (causal) set_first(v, 69, 1, INFINITY);
          }
          attention_packed(q, k, v, p.holding(i32, {static_cast<int64_t>(list.size())}, list),
                           longest, p.output(dtype, shape), {.causal = causal});
        }
      });
      cases.last().facts = {"batch == 1"};
      cases.stops("attention_packed", format("{}{}, too long", dtype, how), [=](Place& p) {
        attention_packed(p.input(dtype, {90, 2, 8}), p.input(dtype, {90, 2, 8}),
                         p.input(dtype, {90, 2, 8}), p.holding(i32, {2}, {0, 90}), 70,
                         p.output(dtype, {90, 2, 8}), {.causal = causal});
      });
    }
  }
}

}  // namespace tw::test
