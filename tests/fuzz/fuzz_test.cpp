// Random programs, a few hundred of each kind; fuzz_slow_test.cpp runs many.
#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/check.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/threads.h"
#include "tilewright/base/env.h"
#include "tilewright/ir/equal.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"
#include "tilewright/ir/visit.h"

namespace tw::fuzz {
namespace {

uint64_t first_seed() { return static_cast<uint64_t>(env::fuzz_seed.get()); }
int64_t few() { return std::min<int64_t>(env::fuzz_programs.get(), 300); }

TEST(Fuzz, ProgramsAreLegalInAnyOrder) { expect_agreement(interpreter(17), first_seed(), few()); }

TEST(Fuzz, ThreadsAgreeWithTheInterpreter) { expect_agreement(threads(), first_seed(), few()); }

TEST(Fuzz, ProgramsAreWellFormed) {
  for (int64_t i = 0; i < few(); ++i) {
    const Case one = generate(first_seed() + static_cast<uint64_t>(i));
    const auto violations = ir::violations(one.program, ir::Level::tile);
    ASSERT_TRUE(violations.empty()) << "seed " << one.seed << ": " << violations[0];
  }
}

TEST(Fuzz, ProgramsAreTheSameAfterPrintingAndParsing) {
  for (int64_t i = 0; i < few(); ++i) {
    const Case one = generate(first_seed() + static_cast<uint64_t>(i));
    const std::string text = ir::print(one.program);
    const ir::Program parsed = ir::parse_program(text);
    ASSERT_TRUE(ir::structurally_equal(one.program, parsed)) << "seed " << one.seed << "\n" << text;
    ASSERT_EQ(ir::print(parsed), text) << "seed " << one.seed;
  }
}

/// What occurs in programs: names of operations, statements, dtypes, spaces and kinds of loops.
struct Occurrences : ir::Visitor {
  std::set<std::string> found;
  using Visitor::visit;
  void visit(const ir::Expr& e) override {
    found.insert(to_text(e.dtype()));
    if (const auto* op = e.try_as<ir::Op>()) {
      found.insert(std::string(ir::op_row(op->code).name));
      if (op->exactness == ir::Exactness::fast) found.insert("fast");
      if (op->exactness == ir::Exactness::ieee) found.insert("ieee " + to_text(op->rounding));
    } else if (const auto* cast = e.try_as<ir::Cast>()) {
      found.insert("cast " + to_text(cast->rounding));
      if (!cast->saturate) found.insert("cast without saturation");
    }
    children(e);
  }
  void visit(const ir::Buffer& b) override {
    found.insert(std::string(enum_name(b.space())));
    if (b->view_of) found.insert("view");
    if (b->address) found.insert("view at an address");
    if (b->safe_value) found.insert("safe value");
  }
  void visit(const ir::Stmt& s) override {
    ir::dispatch(*s.get(), [&]<class T>(const T&) { found.insert(std::string(T::kName)); });
    if (const auto* loop = s.try_as<ir::For>()) found.insert(std::string(enum_name(loop->loop)));
    children(s);
  }
};

TEST(Fuzz, ProgramsCoverTheLanguage) {
  Occurrences all;
  for (uint64_t seed = 1; seed <= 600; ++seed) all.visit(generate(seed).program);
  std::set<std::string> wanted = {"view",
                                  "view at an address",
                                  "safe value",
                                  "fast",
                                  "cast without saturation",
                                  "global",
                                  "workspace",
                                  "shared",
                                  "fragment",
                                  "local",
                                  "variable",
                                  "reducer"};
  for (const DType dtype : all_dtypes()) wanted.insert(to_text(dtype));
  for (const Rounding rounding : kRoundings) wanted.insert("cast " + to_text(rounding));
  for (const char* rounding : {"rn", "rz", "rp", "rm"})
    wanted.insert(std::string("ieee ") + rounding);
  for (const char* kind : {"serial", "unrolled", "vectorized", "pipelined"}) wanted.insert(kind);
#define TW_WANTED(name, ...) wanted.insert(#name);
  TW_OPS(TW_WANTED)
  TW_STMT_NODES(TW_WANTED)
#undef TW_WANTED
  // Not written by authors, or without a result.
  for (const char* name : {"dot2_bf16", "dot2_i16", "Prefetch", "Print"}) wanted.erase(name);
  for (const char* of_threads : {"Barrier", "WarpOp", "Move", "AsyncCopy", "Sync"})
    wanted.erase(of_threads);
  std::vector<std::string> missing;
  std::set_difference(wanted.begin(), wanted.end(), all.found.begin(), all.found.end(),
                      std::back_inserter(missing));
  EXPECT_EQ(join(missing, ", "), "");
}

TEST(Fuzz, TheSameSeedMakesTheSameProgramAndInputs) {
  const Case a = generate(first_seed()), b = generate(first_seed());
  EXPECT_EQ(ir::print(a.program), ir::print(b.program));
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t p = 0; p < a.values.size(); ++p) EXPECT_EQ(a.values[p].memory, b.values[p].memory);
}

}  // namespace
}  // namespace tw::fuzz
