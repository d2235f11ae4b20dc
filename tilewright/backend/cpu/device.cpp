// The one file that includes ORC's C++ headers, which take five seconds to compile. Objects go to
// JITLink without LLJIT around it: no compiler, no platform and no search of the process is wanted.
#include "tilewright/backend/cpu/device.h"

#include <atomic>
#include <string>
#include <utility>

#include <llvm/ExecutionEngine/JITSymbol.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include "tilewright/backend/cpu/atoms/math.h"
#include "tilewright/base/error.h"

namespace tw::cpu {
namespace {

namespace orc = llvm::orc;

/// What ORC reported on this thread and has no way to return: the causes of a failed lookup.
thread_local std::string reported;

[[noreturn]] void fail(llvm::Error error, const char* doing) {
  std::string reason = std::exchange(reported, "");
  reason += llvm::toString(std::move(error));
  throw Error(Code{}, {}, "{}: {}", doing, reason);
}

template <class T>
T value_of(llvm::Expected<T> result, const char* doing) {
  if (!result) fail(result.takeError(), doing);
  return std::move(*result);
}

void require(llvm::Error error, const char* doing) {
  if (error) fail(std::move(error), doing);
}

/// Gives generated code the functions it calls: those of `external_function`, and no others.
class Externals : public orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(orc::LookupState&, orc::LookupKind, orc::JITDylib& library,
                            orc::JITDylibLookupFlags, const orc::SymbolLookupSet& names) override {
    orc::SymbolMap found;
    for (const auto& [name, flags] : names) {
      if (void* address = external_function((*name).str())) {
        found[name] = {orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
      }
    }
    return library.define(orc::absoluteSymbols(std::move(found)));
  }
};

/// The linker of this process. It is never destroyed: modules may outlive every static object.
class Linker {
 public:
  static Linker& instance() {
    static Linker& linker = *new Linker();
    return linker;
  }

  orc::JITDylib& add(const std::string& object) {
    orc::JITDylib& library = session_.createBareJITDylib(format("kernel {}", ++count_));
    library.addGenerator(std::make_unique<Externals>());
    require(layer_.add(library, llvm::MemoryBuffer::getMemBufferCopy(object)), "loading a kernel");
    return library;
  }

  const void* find(orc::JITDylib& library, const std::string& name) {
    const auto symbol =
        value_of(session_.lookup({&library}, session_.intern(name)), "loading a kernel");
    return symbol.getAddress().toPtr<const void*>();
  }

  void remove(orc::JITDylib& library) { llvm::consumeError(session_.removeJITDylib(library)); }

 private:
  Linker()
      : session_(value_of(orc::SelfExecutorProcessControl::Create(), "starting the CPU's linker")),
        layer_(session_) {
    session_.setErrorReporter(
        [](llvm::Error error) { reported += llvm::toString(std::move(error)) + "; "; });
  }

  orc::ExecutionSession session_;
  orc::ObjectLinkingLayer layer_;
  std::atomic<int64_t> count_ = 0;
};

class ObjectModule : public runtime::CpuModule {
 public:
  explicit ObjectModule(const std::string& object) : library_(Linker::instance().add(object)) {}
  ~ObjectModule() override { Linker::instance().remove(library_); }
  const void* entry(const std::string& name) override {
    return Linker::instance().find(library_, name);
  }

 private:
  orc::JITDylib& library_;
};

}  // namespace

std::unique_ptr<runtime::Module> load_object(const std::string& object) {
  return std::make_unique<ObjectModule>(object);
}

}  // namespace tw::cpu
