// Random numbers: Philox 4x32 with 10 rounds, the same words on every target (language 11.6).
#pragma once

#include <array>

#include "tilewright/lang/buffer.h"

namespace tw {
inline namespace lang {

/// The four u32 words of a block, a function of its arguments alone. `key` is the u64 seed, the
/// counter 128 bits in two u64 halves.
std::array<Expr, 4> philox(const Operand& key, const Operand& counter,
                           const Operand& counter_high = 0);

/// A uniform f32 in (0, 1] from one word: u 2^-32 + 2^-33.
Expr uniform(const Operand& word);
/// A standard normal f32 from two words, by Box and Muller.
Expr normal(const Operand& word0, const Operand& word1);

/// A stream of words: those of the blocks offset / 4, offset / 4 + 1, ... of a subsequence, from
/// word offset mod 4 on. Its position belongs to the thread.
class Random {
 public:
  Random(const Operand& seed, const Operand& subsequence, const Operand& offset);

  Expr next(SourceLoc where = SourceLoc::here());     // u32
  Expr uniform(SourceLoc where = SourceLoc::here());  // one word
  Expr normal(SourceLoc where = SourceLoc::here());   // two words

 private:
  Expr seed_, subsequence_;
  Variable position_;
};
/// A stream; where there are no threads the subsequence must tell blocks and elements apart.
Random rng(const Operand& seed, const Operand& subsequence, const Operand& offset = 0);

}  // namespace lang
}  // namespace tw
