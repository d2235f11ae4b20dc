// Random programs as seen by the text form, the verifier and the static checks: nothing is found in
// legal ones, and what is found in damaged ones is what the interpreter meets.
#include "tilewright/pass/checks.h"

#include <algorithm>

#include "tests/fuzz/generator.h"
#include "tests/ir/ir_testing.h"
#include "tilewright/base/env.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/verify.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/check_init.h"
#include "tilewright/pass/check_race.h"

namespace tw::fuzz {
namespace {

void for_each_case(const std::function<void(Case&, Random&)>& f, int64_t least = 0) {
  const auto count = static_cast<uint64_t>(std::max(least, env::fuzz_programs.get() / 10));
  const auto first = static_cast<uint64_t>(env::fuzz_seed.get());
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Case one = generate(seed);
    Random random(seed);
    f(one, random);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed << "\n" << print(one.program);
  }
}

TEST(FuzzChecks, LegalProgramsAreWellFormedAndSurvivePrinting) {
  for_each_case([](const Case& one, Random&) {
    EXPECT_EQ(violations(one.program, ir::Level::tile), std::vector<std::string>());
    EXPECT_IR_EQ(ir::parse_program(print(one.program)), one.program);
  });
}

TEST(FuzzChecks, FindNothingInLegalPrograms) {
  for_each_case([](const Case& one, Random&) {
    Diagnostics diagnostics;
    pass::check_program(with_option(one.program, "check_race", "error"), diagnostics);
    EXPECT_EQ(to_text(diagnostics), "");
  });
}

/// Replaces the n-th statement of which `replace` makes another.
ir::Program damaged(const ir::Program& program, int64_t n,
                    const std::function<ir::Stmt(const ir::Stmt&)>& replace) {
  struct Damage : ir::Rewriter {
    int64_t left;
    const std::function<ir::Stmt(const ir::Stmt&)>& replace;
    Damage(int64_t n, const std::function<ir::Stmt(const ir::Stmt&)>& f) : left(n), replace(f) {}
    using Rewriter::rewrite;
    ir::Stmt rewrite(const ir::Stmt& stmt) override {
      if (stmt) {
        if (const ir::Stmt next = replace(stmt); next && left-- == 0) return next;
      }
      return stmt ? children(stmt) : stmt;
    }
  };
  return Damage(n, replace).rewrite(program);
}

/// Damages every case in one place. The check must notice most of what the interpreter meets, and
/// the interpreter meet most of what the check reports (the rest is in code that does not run). Of
/// races it notices 93 % (the rest is under conditions that it does not know), and 81 % of what it
/// reports is met. Among the 1300 mistakes in 3000 programs, the bounds are more than four standard
/// deviations from that; fewer programs would miss them by chance.
void expect_agreement(pass::Check check, sim::FindingKind kind,
                      const std::function<ir::Stmt(const ir::Stmt&)>& replace) {
  int met = 0, reported = 0, both = 0;
  for_each_case(
      [&](Case& one, Random& random) {
        one.program =
            with_option(damaged(one.program, random.range(0, 4), replace), "check_race", "warn");
        Diagnostics diagnostics;
        check(one.program, diagnostics);
        const auto result = sim::interpret(one.program, one.arguments());
        const bool meets = std::any_of(result.findings.begin(), result.findings.end(),
                                       [&](const sim::Finding& f) { return f.kind == kind; });
        met += meets ? 1 : 0;
        reported += diagnostics.list().empty() ? 0 : 1;
        both += meets && !diagnostics.list().empty() ? 1 : 0;
      },
      /*least=*/3000);
  EXPECT_GT(both, met * 9 / 10) << "of " << met << " mistakes";
  EXPECT_GT(both, reported * 3 / 4) << "of " << reported << " reports";
}

TEST(FuzzChecks, InitialisationAgreesWithTheInterpreter) {
  expect_agreement(pass::check_init, sim::FindingKind::uninitialized_read,
                   [](const ir::Stmt& stmt) -> ir::Stmt {
                     const bool writes = stmt.is<ir::Fill>() || stmt.is<ir::Copy>() ||
                                         stmt.is<ir::Parallel>() || stmt.is<ir::Reduce>();
                     return writes ? ir::seq({}) : ir::Stmt();
                   });
}

TEST(FuzzChecks, RacesAgreeWithTheInterpreter) {
  expect_agreement(pass::check_race, sim::FindingKind::iteration_conflict,
                   [](const ir::Stmt& stmt) -> ir::Stmt {
                     const auto* store = stmt.try_as<ir::Store>();
                     if (store == nullptr || store->indices.empty()) return {};
                     std::vector<ir::Expr> indices = store->indices;
                     indices.back() = ir::index(0);
                     return ir::store(store->buffer, indices, store->value, store->unchecked);
                   });
}

}  // namespace
}  // namespace tw::fuzz
