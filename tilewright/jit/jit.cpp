#include "tilewright/jit/jit.h"

#include <algorithm>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/jit/compile.h"
#include "tilewright/jit/merge_variants.h"

namespace tw {

struct Jit::Entry {
  std::vector<DType> dtypes;
  std::vector<int64_t> constants;  // values, in the call's order
  DeviceKind device;
  Kernel kernel;
  const Entry* next;
};

namespace {

/// "cpu", or the chip that a kernel for a device is traced and compiled for.
std::string target_of(DeviceKind device) {
  const std::string family = to_text(device);
  if (device == DeviceKind::cpu)
    return family;  // what the processor has is a matter of its backend
  return backend::load_backend(family).resolve_target(family, {});
}

}  // namespace

Jit::Jit(lang::KernelDef definition) : definition_(std::move(definition)) {}

Jit::~Jit() {
  for (const Entry* entry = entries_; entry != nullptr;) {
    const Entry* next = entry->next;
    delete entry;
    entry = next;
  }
}

const Jit::Entry* Jit::find(std::initializer_list<DType> dtypes,
                            std::initializer_list<Constant> constants, DeviceKind device) const {
  for (const Entry* e = entries_.load(std::memory_order_acquire); e != nullptr; e = e->next) {
    if (e->device == device &&
        std::equal(dtypes.begin(), dtypes.end(), e->dtypes.begin(), e->dtypes.end()) &&
        std::equal(constants.begin(), constants.end(), e->constants.begin(), e->constants.end(),
                   [](const Constant& a, int64_t b) { return a.value == b; })) {
      return e;
    }
  }
  return nullptr;
}

const Kernel& Jit::operator()(std::initializer_list<DType> dtypes,
                              std::initializer_list<Constant> constants, DeviceKind device) const {
  if (const Entry* known = find(dtypes, constants, device)) return known->kernel;
  if (device == DeviceKind::ascend) {
    throw Error(codes::tgt_04, {}, "{}: tensors are on {}, which has no backend yet",
                definition_.name(), to_text(device))
        .help("move them to the cpu");
  }
  const std::lock_guard lock(mutex_);
  if (const Entry* known = find(dtypes, constants, device)) return known->kernel;
  lang::Case kernel_case;
  kernel_case.dtypes = dtypes;
  for (const Constant& c : constants) kernel_case.constants[c.name] = c.value;
  const std::string target = target_of(device);
  const ir::Program program = merge_variants(definition_.trace(target_named(target), kernel_case));
  auto entry = std::make_unique<Entry>();
  entry->dtypes = dtypes;
  for (const Constant& c : constants) entry->constants.push_back(c.value);
  entry->device = device;
  entry->kernel = compile(program, {.target = target, .on_demand = true});
  entry->next = entries_;
  entries_.store(entry.release(), std::memory_order_release);
  return entries_.load()->kernel;
}

}  // namespace tw
