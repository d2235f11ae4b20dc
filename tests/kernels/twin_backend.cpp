#include "tests/kernels/twin_backend.h"

#include <cstring>
#include <utility>

#include <gtest/gtest.h>

#include "tilewright/backend/metadata_of.h"
#include "tilewright/backend/substitute.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/build.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/visit.h"
#include "tilewright/pass/pipeline.h"
#include "tilewright/pass/thread/thread_pipeline.h"

namespace tw::test {
namespace {

constexpr const char* kTarget = "cuda:sm_90a";

/// The real backend for cuda; opened before the twin takes its place.
const backend::Backend& real_backend() {
  static const backend::Backend& real = backend::load_backend("cuda");
  return real;
}
int cubins_wanted = 0, may_stop = 0;
OnLaunch::Function on_launch;

/// A launch as a program of its own. Its guard holds where it is run.
ir::Program alone(const ir::Program& program, size_t launch) {
  ir::Program one = program;
  one.launches = {ir::make<ir::Launch>({}, [&](ir::Launch& n) {
    n = program.launches[launch].as<ir::Launch>();
    n.aligned = {};
  })};
  return one;
}

class TwinModule : public runtime::Module {
 public:
  explicit TwinModule(const std::string& text) {
    const ir::Program program = ir::parse_program(text);
    for (size_t i = 0; i < program.launches.size(); ++i) {
      names_.push_back(format("{}_{}", program.launches[i].as<ir::Launch>().name, i));
      launches_.push_back(alone(program, i));
    }
  }
  const void* entry(const std::string& name) override {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return &launches_[i];
    }
    throw Error({}, {}, "no launch {}", name);
  }
  void launch(const runtime::LaunchRequest& request) override {
    const auto& program = *static_cast<const ir::Program*>(request.entry);
    sim::Call call;
    const std::vector<int64_t> symbols = symbols_of(request);
    for (size_t i = 0; i < symbols.size(); ++i) {
      call.symbols[request.metadata->symbols[i].name] = symbols[i];
    }
    for (size_t i = 0; i < request.metadata->params.size(); ++i) {
      call.arguments.push_back(argument(request, static_cast<int>(i), symbols));
    }
    const auto run = [&] {
      const sim::TwinResult result =
          sim::run_twin(program, call.arguments, {.seed = 1, .symbols = call.symbols});
      const bool stops = may_stop > 0 && sim::only_stops(result.findings);
      if (!result.findings.empty() && !stops) {
        ADD_FAILURE() << sim::to_text(result.findings) << "\n" << ir::print(program);
      }
    };
    on_launch ? on_launch(program, call, run) : run();
  }
  void fill_zero(void* memory, int64_t bytes, Device, Stream) override {
    std::memset(memory, 0, static_cast<size_t>(bytes));
  }

 private:
  static uint64_t slot(const runtime::LaunchRequest& request, int64_t offset) {
    uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(request.args) + offset, sizeof value);
    return value;
  }
  static std::vector<int64_t> symbols_of(const runtime::LaunchRequest& request) {
    std::vector<int64_t> values(request.metadata->symbols.size());
    for (const runtime::PackedField& field : request.metadata->packed) {
      if (field.kind != runtime::PackedField::Kind::symbol) continue;
      values.at(static_cast<size_t>(field.index)) =
          static_cast<int64_t>(slot(request, field.offset));
    }
    return values;
  }
  static sim::Argument argument(const runtime::LaunchRequest& request, int index,
                                const std::vector<int64_t>& symbols) {
    const runtime::Param& param = request.metadata->params.at(static_cast<size_t>(index));
    uint64_t raw = 0;
    for (const runtime::PackedField& field : request.metadata->packed) {
      if (field.kind != runtime::PackedField::Kind::symbol && field.index == index) {
        raw = slot(request, field.offset);
      }
    }
    if (!param.is_tensor()) return sim::Argument::value(param.dtype, raw);
    const runtime::HostValues values{.symbols = symbols.data()};
    std::vector<int64_t> shape, strides;
    for (const runtime::HostExpr& e : param.shape) shape.push_back(e.evaluate(values));
    for (const runtime::HostExpr& e : param.strides) strides.push_back(e.evaluate(values));
    void* memory = nullptr;
    std::memcpy(&memory, &raw, sizeof memory);
    return sim::Argument::tensor(memory, param.dtype, shape, strides);
  }

  std::vector<std::string> names_;
  std::vector<ir::Program> launches_;
};

class TwinBackend : public backend::Backend {
 public:
  const char* name() const override { return "cuda"; }
  /// What the disk cache has under it was compiled by the real backend, too, if that was wanted.
  std::string version() const override {
    return format("twin 2{} of {}", cubins_wanted > 0 ? " and cubins" : "",
                  real_backend().version());
  }
  std::string resolve_target(const std::string&, const ir::Program&) const override {
    return kTarget;
  }
  std::vector<std::string> targets_here() const override { return {kTarget}; }
  backend::Artifact compile(const ir::Program& program, const std::string& target,
                            backend::CompileReport*) const override {
    if (cubins_wanted > 0) {
      for (const std::string& chip : AlsoToCubin::chips()) {
        const backend::Backend& real = real_backend();
        EXPECT_TRUE(real.exported_code(real.compile(program, chip, nullptr))
                        .starts_with("\x7f"
                                     "ELF"))
            << program.name << " for " << chip;
      }
    }
    pass::Remarks remarks;
    const ir::Program threads =
        pass::run(program, pass::thread_pipeline(pass::BlockLimits(), &remarks), {}).program;
    EXPECT_FALSE(remarks.list().empty()) << program.name;
    return {backend::metadata_of(threads, target, DeviceKind::cuda),
            ir::print(threads, {.locations = true})};
  }
  std::unique_ptr<runtime::Module> load(const backend::Artifact& artifact) const override {
    return std::make_unique<TwinModule>(artifact.code);
  }
  std::string exported_code(const backend::Artifact& artifact) const override {
    return artifact.code;
  }
};

}  // namespace

void use_twin() {
  static const bool once = [] {
    real_backend();
    static const TwinBackend twin;
    backend::substitute_backend(twin);
    return true;
  }();
  (void)once;
}

Tensor on_threads(const Tensor& t) {
  use_twin();
  return {t.data(), t.dtype(), t.shape(), t.strides(), Device{DeviceKind::cuda, 0}};
}

OnLaunch::OnLaunch(Function f) {
  use_twin();
  on_launch = std::move(f);
}
OnLaunch::~OnLaunch() { on_launch = nullptr; }

MayStop::MayStop() { ++may_stop; }
MayStop::~MayStop() { --may_stop; }

AlsoToCubin::AlsoToCubin() {
  use_twin();
  for (const auto& fact : real_backend().facts()) {
    if (fact.name == "compiler" && fact.text.starts_with("none")) skip_reason_ = fact.text;
  }
  if (skip_reason_.empty()) ++cubins_wanted;
}
AlsoToCubin::~AlsoToCubin() {
  if (skip_reason_.empty()) --cubins_wanted;
}

}  // namespace tw::test
