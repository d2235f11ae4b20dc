#include "tests/layout/samples.h"

#include <algorithm>

namespace tw::layout::test {
namespace {

Sample make(Coords shape, std::vector<Term> terms, int out_rank) {
  Layout layout = Layout::tight(shape, terms, out_rank);
  return {std::move(shape), std::move(terms), out_rank, std::move(layout)};
}

/// All ordered factorizations of n into factors above 1.
std::vector<Coords> factorizations(int64_t n) {
  if (n == 1) return {{}};
  std::vector<Coords> all;
  for (int64_t f = 2; f <= n; ++f) {
    if (n % f != 0) continue;
    for (Coords rest : factorizations(n / f)) {
      rest.insert(rest.begin(), f);
      all.push_back(std::move(rest));
    }
  }
  return all;
}

void add_orders(const Coords& shape, const std::vector<Term>& digits,
                std::vector<Sample>& samples) {
  std::vector<size_t> order(digits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    for (size_t cut = 0; cut <= (digits.size() > 2 ? 1 : digits.size()); ++cut) {
      std::vector<Term> terms;  // the first `cut` digits to coordinate 0, the others to 1
      int64_t strides[2] = {1, 1};
      for (size_t i = 0; i < order.size(); ++i) {
        Term term = digits[order[i]];
        term.out = i < cut ? 0 : 1;
        term.stride = strides[term.out];
        strides[term.out] *= term.extent;
        terms.push_back(term);
      }
      samples.push_back(make(shape, terms, 2));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace

const std::vector<Sample>& compact_samples() {
  static const std::vector<Sample> kSamples = [] {
    std::vector<Sample> samples;
    for (const Coords& shape :
         {Coords{1}, {5}, {8}, {12}, {2, 3}, {4, 4}, {6, 2}, {2, 2, 3}, {8, 2}}) {
      std::vector<std::vector<Term>> choices = {{}};
      for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim) {
        std::vector<std::vector<Term>> next;
        for (const auto& chosen : choices) {
          for (const Coords& factors : factorizations(shape[dim])) {
            std::vector<Term> terms = chosen;
            int64_t div = 1;
            for (const int64_t f : factors) {
              terms.push_back({{{dim, div}}, f, 0, 1});
              div *= f;
            }
            next.push_back(std::move(terms));
          }
        }
        choices = std::move(next);
      }
      for (const auto& digits : choices) add_orders(shape, digits, samples);
    }
    return samples;
  }();
  return kSamples;
}

const std::vector<Sample>& xor_samples() {
  static const std::vector<Sample> kSamples = [] {
    std::vector<Sample> samples;
    std::mt19937 random(11);
    const auto below = [&](int n) { return static_cast<int64_t>(random() % n); };
    for (int i = 0; i < 1500; ++i) {
      const Coords shape = {int64_t{1} << below(4), int64_t{1} << below(4)};
      std::vector<Term> terms;
      int64_t stride[2] = {1, 1};
      const int64_t count = 1 + below(4);
      for (int t = 0; t < count; ++t) {
        Term term;
        term.extent = int64_t{1} << below(4);
        term.out = static_cast<int>(below(2));
        term.stride = stride[term.out];
        stride[term.out] *= term.extent << below(2) * below(2);
        const int64_t sources = 1 + below(3);
        for (int s = 0; s < sources; ++s) {
          term.sources.push_back({static_cast<int>(below(2)), int64_t{1} << below(4)});
        }
        terms.push_back(term);
      }
      samples.push_back(make(shape, terms, 2));
    }
    return samples;
  }();
  return kSamples;
}

const std::vector<Sample>& rough_samples() {
  static const std::vector<Sample> kSamples = [] {
    std::vector<Sample> samples;
    std::mt19937 random(12);
    const auto below = [&](int n) { return static_cast<int64_t>(random() % n); };
    for (int i = 0; i < 3000; ++i) {
      const Coords shape = {1 + below(12), 1 + below(9)};
      std::vector<Term> terms;
      const int64_t count = 1 + below(4);
      for (int t = 0; t < count; ++t) {
        Term term = {{}, 1 + below(8), static_cast<int>(below(2)), 0};
        term.stride = std::vector<int64_t>{0, 1, 1, 2, 3, 4, 5, 8, 12}[below(9)];
        for (int64_t s = below(4) == 0 ? 2 : 1; s > 0; --s) {
          const int64_t div = std::vector<int64_t>{1, 1, 2, 3, 4, 6}[below(6)];
          term.sources.push_back({static_cast<int>(below(2)), div});
        }
        if (term.sources.size() > 1) term.extent = int64_t{2} << below(3);
        terms.push_back(std::move(term));
      }
      samples.push_back(make(shape, terms, 2));
    }
    return samples;
  }();
  return kSamples;
}

std::vector<Sample> all_samples() {
  std::vector<Sample> all = compact_samples();
  all.insert(all.end(), xor_samples().begin(), xor_samples().end());
  all.insert(all.end(), rough_samples().begin(), rough_samples().end());
  return all;
}

void for_each(const Coords& shape, const std::function<void(const Coords&)>& visit) {
  const int64_t size = product(shape);
  for (int64_t index = 0; index < size; ++index) visit(unflatten(index, shape));
}

Coords apply_terms(const Sample& sample, const Coords& x) {
  Coords physical(sample.out_rank);
  for (const Term& term : sample.terms) {
    int64_t value = 0;
    for (const Source& s : term.sources) value ^= x[s.dim] / s.div % term.extent;
    physical[term.out] += value * term.stride;
  }
  return physical;
}

}  // namespace tw::layout::test
