// The frame of a source: the prelude, and for each launch its parameters and indices.
#include <algorithm>

#include "tilewright/backend/cuda/emit/emitter.h"
#include "tilewright/backend/cuda/emit/kept_narrow.h"
#include "tilewright/backend/cuda/emit/prelude.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/options.h"
#include "tilewright/ir/visit.h"

namespace tw::cuda {
namespace {

int64_t thread_count(const ir::Launch& launch) {
  int64_t threads = 1;
  for (const int64_t extent : launch.threads) threads *= extent;
  return threads;
}

}  // namespace

EmitOptions emit_options(const ir::Program& program) {
  return {.fast_math = ir::option(program, "fast_math") == "on",
          .line_info = ir::option(program, "line_info") == "on"};
}

void Emitter::line(const std::string& text) {
  const std::string margin(static_cast<size_t>(indent_) * 2, ' ');
  if (const bool same =
          next_.line == here_.line && std::string_view(next_.file) == std::string_view(here_.file);
      !same) {
    here_ = next_;
    out_ += margin + "// " + here_.text() + "\n";
  }
  if (options_.line_info && here_.line > 0) {
    out_ += format("#line {} {}\n", here_.line, quoted(here_.file));
  }
  out_ += margin + text + "\n";
}

/// What must be known before the first line: which buffers are read and written, and which need to
/// be aligned for wide accesses.
void Emitter::scan(const ir::Launch& launch) {
  is_early_ = launch.dependent_launch;
  in_cluster_ = std::any_of(launch.cluster.begin(), launch.cluster.end(),
                            [](int64_t extent) { return extent > 1; });
  maps_ = tensor_maps(launch);
  narrow_ = kept_narrow(launch);
  ir::for_each_expr(launch.body, [&](const ir::Expr& e) {
    if (const auto* load = e.try_as<ir::Load>()) read_.insert(load->buffer.root());
  });
  ir::for_each_stmt(launch.body, [&](const ir::Stmt& s) {
    if (const auto* store = s.try_as<ir::Store>()) written_.insert(store->buffer.root());
    if (const auto* atomic = s.try_as<ir::Atomic>()) {
      written_.insert(atomic->buffer.root());
      read_.insert(atomic->buffer.root());
      awaits_ = awaits_ || ir::waits(atomic->op);
    }
    if (const auto* print = s.try_as<ir::Print>(); print != nullptr && print->buffer) {
      read_.insert(print->buffer.root());
    }
    if (const auto* move = s.try_as<ir::Move>()) {
      written_.insert(move->dst.root());
      read_.insert(move->src.root());
      if (move->fold != ir::CopyFold::none) read_.insert(move->dst.root());
      moved_.insert(move->src.root());
      moved_.insert(move->dst.root());
    }
    if (const auto* copy = s.try_as<ir::AsyncCopy>()) {
      written_.insert(copy->dst.buffer.root());
      read_.insert(copy->src.buffer.root());
      if (copy->fold != ir::CopyFold::none) read_.insert(copy->dst.buffer.root());
      moved_.insert(copy->src.buffer.root());
      moved_.insert(copy->dst.buffer.root());
    }
    if (const auto* sync = s.try_as<ir::Sync>()) {
      waits_ = waits_ || sync->code == ir::SyncCode::wait_previous;
      reallocates_ = reallocates_ || ir::sets_registers(sync->code);
    }
  });
}

/// Whether the compiler may know that nothing else accesses the tensor: then it reads what is only
/// read through the read-only cache, whenever it likes. It also moves loads over barriers and
/// atomics, as these don't access the tensor through the pointer (seen in PTX of NVRTC 13.0); so
/// not where threads exchange values through the tensor, nor where a launch ahead may still be
/// writing. Of whom threads wait for, no tensor is known to be left alone.
bool Emitter::is_restricted(const ir::Buffer& tensor) const {
  if (tensor->may_alias || awaits_) return false;
  return written_.contains(tensor) ? !read_.contains(tensor) : !is_early_;
}

/// The fields of the packed block in the order of runtime::pack_all: addresses, scalars, symbols.
std::string Emitter::parameters(const ir::Program& program, const ir::Launch& launch) {
  std::vector<std::string> list;
  const auto address = [&](const ir::Buffer& buffer, bool restricted) {
    if (buffer.dtype().lanes > 1) {
      throw Error(codes::tgt_03, launch.loc, "{}: elements of {} have no lowering on cuda",
                  buffer.name(), buffer.dtype());
    }
    const std::string name = names_.make(buffer.name());
    buffers_[buffer] = name;
    list.push_back(format("{}{}* {}{}", written_.contains(buffer) ? "" : "const ",
                          memory_type(buffer.dtype()), restricted ? "__restrict__ " : "", name));
  };
  for (const ir::Param& param : program.params) {
    if (!param.buffer) continue;
    address(param.buffer, param.kind != ir::ParamKind::pointer && is_restricted(param.buffer));
  }
  for (const ir::Workspace& workspace : program.workspaces) {
    address(workspace.buffer, is_restricted(workspace.buffer));
  }
  const auto number = [&](const ir::Var& var) {
    if (vars_.contains(var)) {  // a size that is passed as a scalar too
      list.push_back(format("{} /*{}*/", to_text(var.dtype()), vars_[var]));
      return;
    }
    vars_[var] = names_.make(var.name());
    list.push_back(format("{} {}", to_text(var.dtype()), vars_[var]));
  };
  for (const ir::Param& param : program.params) {
    if (param.var) number(param.var);
  }
  for (const ir::Symbol& symbol : program.symbols) number(symbol.var);
  if (list.size() > 64) {
    throw Error(codes::tgt_03, launch.loc, "{}: {} parameters, a kernel on cuda has 64 at most",
                program.name, list.size());
  }
  for (size_t i = 0; i < maps_.size(); ++i) {
    list.push_back(format("const __grid_constant__ tensor_map map_{}", i));
  }
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "\n    " : ",\n    ") + list[i];
  return text;
}

void Emitter::indices(const ir::Launch& launch) {
  constexpr const char* kBlock[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z"};
  const auto index = [&](const ir::Var& var, const char* source) {
    vars_[var] = names_.make(var.name());
    line(format("const {} {} = {};", to_text(var.dtype()), vars_[var], source));
  };
  block_vars_ = launch.block_vars;
  for (size_t d = 0; d < launch.block_vars.size(); ++d) index(launch.block_vars[d], kBlock[d]);
  if (launch.thread) index(launch.thread, "threadIdx.x");
}

bool Emitter::is_block_index(const ir::Expr& e) const {
  return e.dtype() == i64 && std::any_of(block_vars_.begin(), block_vars_.end(),
                                         [&](const ir::Var& var) { return var.same_as(e); });
}

std::string Emitter::kernel(const ir::Program& program, const ir::Launch& launch,
                            const std::string& entry, std::map<std::string, std::string>& helpers) {
  helpers_ = &helpers;
  scan(launch);
  std::string bounds = format("__launch_bounds__({}", thread_count(launch));
  // Where threads change their registers, their number at the begin must be known, which a limit
  // fixes.
  const int64_t blocks = launch.min_blocks_per_sm == 0 && launch.max_registers == 0 && reallocates_
                             ? 1
                             : launch.min_blocks_per_sm;
  if (blocks > 0) bounds += format(", {}", blocks);
  bounds += ")";
  if (launch.max_registers > 0 && launch.min_blocks_per_sm == 0) {
    bounds += format(" __maxnreg__({})", launch.max_registers);
  }
  const std::string head = format("extern \"C\" __global__ void {} {}({}) {{\n", bounds, entry,
                                  parameters(program, launch));
  ++indent_;
  if (launch.shared_bytes > 0) line("extern __shared__ __align__(128) u8 shared[];");
  if (launch.dependent_launch && !waits_) line("wait_for_launch_ahead();");
  indices(launch);
  stmt(launch.body);
  --indent_;
  return head + out_ + "}\n";
}

bool is_deferred(const ir::Program& program, size_t i) {
  return i > 0 && program.launches[i - 1].as<ir::Launch>().is_conditional();
}

std::string emit_source(const ir::Program& program, const EmitOptions& options,
                        const std::vector<std::string>& entries) {
  TW_CHECK(entries.size() == program.launches.size(), "{} entries for {} launches", entries.size(),
           program.launches.size());
  std::map<std::string, std::string> helpers;
  std::string kernels;
  bool in_parts = options.apart;
  for (size_t i = 0; i < entries.size(); ++i) in_parts = in_parts || is_deferred(program, i);
  size_t parts = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    Emitter emitter(options);
    const std::string kernel =
        emitter.kernel(program, program.launches[i].as<ir::Launch>(), entries[i], helpers);
    const size_t part = options.apart || is_deferred(program, i) ? ++parts : 0;
    kernels += in_parts
                   ? format("\n#if !defined({0}) || {0} == {1}\n{2}#endif\n", kPart, part, kernel)
                   : "\n" + kernel;
  }
  std::string generated;
  for (const auto& [name, text] : helpers) generated += text;
  return format("// Generated by tilewright from {}.\n{}{}{}", quoted(program.name),
                prelude_for(generated + kernels), generated, kernels);
}

}  // namespace tw::cuda
