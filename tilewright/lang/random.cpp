#include "tilewright/lang/random.h"

#include <cmath>

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/math.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {
namespace {

/// A 64-bit word; C++ numbers and integers of fewer bits are widened.
Operand as_u64(const Site& site, const Operand& x) {
  if (x.value().is_number()) return x.beside(Expr(with_type(site, x.value(), u64)));
  if (!x.value().dtype().is_int()) {
    throw Error(codes::type_06, site.where, "{}: an argument is {}, it must be an integer",
                site.name, x.value().dtype());
  }
  return x.beside(cast(x, u64));
}

}  // namespace

std::array<Expr, 4> philox(const Operand& key, const Operand& counter,
                           const Operand& counter_high) {
  const Site site{"philox", key.where()};
  const auto low = [&](const Operand& x) { return key.beside(cast(x, u32)); };
  const auto high = [&](const Operand& x) { return key.beside(cast(key.beside(x >> 32), u32)); };
  const Operand seed = as_u64(site, key), c = as_u64(site, counter), d = as_u64(site, counter_high);
  std::array<Operand, 4> x = {low(c), high(c), low(d), high(d)};
  const Operand k0 = low(seed), k1 = high(seed);
  constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (uint32_t round = 0; round < 10; ++round) {
    const Operand r0 = key.beside(k0 + round * kWeyl0), r1 = key.beside(k1 + round * kWeyl1);
    const Operand p0 = key.beside(key.beside(cast(x[0], u64)) * kMultiplier0),
                  p1 = key.beside(key.beside(cast(x[2], u64)) * kMultiplier1);
    x = {key.beside(key.beside(high(p1) ^ x[1]) ^ r0), low(p1),
         key.beside(key.beside(high(p0) ^ x[3]) ^ r1), low(p0)};
  }
  // Bound together, so that the four words are computed once.
  Trace& trace = Trace::in_launch(site);
  std::vector<ir::Expr> words;
  for (const Operand& word : x) words.push_back(word.value().ir());
  words = trace.settle(site.where, words);
  std::array<Expr, 4> result;
  for (size_t n = 0; n < 4; ++n) result[n] = let(key.beside(Expr(words[n])), "word");
  return result;
}

Expr uniform(const Operand& word) {
  return word.beside(word.beside(cast(word, f32)) * 0x1p-32) + 0x1p-33;
}

Expr normal(const Operand& word0, const Operand& word1) {
  const auto line = [&](const Expr& e) { return word0.beside(e); };
  const Operand u = line(uniform(word0)), v = line(uniform(word1));
  const Operand radius = line(sqrt(line(line(log(u)) * -2.0)));
  return radius * cos(line(v * (2 * M_PI)));
}

Random::Random(const Operand& seed, const Operand& subsequence, const Operand& offset)
    : seed_(let(as_u64({"rng", seed.where()}, seed), "seed")),
      subsequence_(let(as_u64({"rng", seed.where()}, subsequence), "subsequence")),
      position_(var(u64, as_u64({"rng", seed.where()}, offset), "position")) {}

Expr Random::next(SourceLoc where) {
  const auto line = [&](const Expr& e) { return Operand(e, where); };
  const Expr position = let(Operand(position_, where), "position");
  const auto words = philox(line(seed_), line(line(position) >> 2), line(subsequence_));
  const Expr lane = line(position) & 3;
  Expr word = words[0];
  for (int n = 1; n < 4; ++n)
    word = select(line(line(lane) == n), words[static_cast<size_t>(n)], word);
  const Expr result = let(line(word), "word");
  position_ += Operand(1, where);
  return result;
}
Expr Random::uniform(SourceLoc where) { return lang::uniform(Operand(next(where), where)); }
Expr Random::normal(SourceLoc where) {
  const Expr first = next(where), second = next(where);
  return lang::normal(Operand(first, where), Operand(second, where));
}

Random rng(const Operand& seed, const Operand& subsequence, const Operand& offset) {
  return {seed, subsequence, offset};
}

}  // namespace lang
}  // namespace tw
