// What the quick and the slow random tests of the text form share.
#pragma once

#include "tests/ir/ir_testing.h"
#include "tests/ir/random_ir.h"
#include "tilewright/ir/verify.h"

namespace tw::ir {

/// Printed and parsed it is the same, with its names, in each form of the text.
inline void expect_round_trip(const Program& program) {
  const Program again = parse_program(print(program));
  EXPECT_IR_EQ(again, program);
  EXPECT_EQ(print(again), print(program));
  EXPECT_IR_EQ(parse_program(canonical_text(program)), program);
  EXPECT_EQ(canonical_text(again), canonical_text(program));
  const std::string located = print(program, {.locations = true});
  EXPECT_EQ(print(parse_program(located), {.locations = true}), located);
  for (const Stmt& launch : program.launches) {
    EXPECT_NO_THROW(parse_stmt(print(launch, {.free = true})));
  }
}

/// Cuts, doubles, moves and replaces pieces.
inline std::string damaged(std::string text, RandomIr& random) {
  constexpr std::string_view kPieces = "()[]{}:=,;.\"@#!<>+-*/%&|^~0x9e1 \n\xff";
  for (int64_t i = random.below(4) + 1; i > 0; --i) {
    const auto size = static_cast<int64_t>(text.size());
    if (size == 0) return text;
    const auto at = static_cast<size_t>(random.below(size));
    const auto length = static_cast<size_t>(random.below(random.chance(4) ? 200 : 12));
    const std::string piece = text.substr(at, length);
    switch (random.below(4)) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(static_cast<size_t>(random.below(size)), piece);
        break;
      case 2:
        text[at] = kPieces[static_cast<size_t>(random.below(kPieces.size()))];
        break;
      default:
        text.insert(at, 1, kPieces[static_cast<size_t>(random.below(kPieces.size()))]);
    }
  }
  return text;
}

/// A damaged text is refused with an Error that has a place, or is a program; one that is well
/// formed survives printing.
inline void fuzz_text(uint32_t first_seed, uint32_t count) {
  int accepted = 0;
  for (uint32_t seed = first_seed; seed < first_seed + count; ++seed) {
    RandomIr random(seed / 20);
    const std::string whole = print(random.program(), {.locations = seed % 2 == 0});
    RandomIr damage(seed);
    const std::string text = damaged(whole, damage);
    try {
      const Program program = parse_program(text);
      ++accepted;
      const std::string printed = print(program);
      if (violations(program, Level::tile).empty()) expect_round_trip(program);
    } catch (const Error& error) {
      EXPECT_GE(error.where().line, 1) << error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, static_cast<int>(count));
}

}  // namespace tw::ir
