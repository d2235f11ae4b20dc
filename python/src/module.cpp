// The extension module: errors as Python exceptions, facts about the installation, and the library.
#include <new>

#include "bind.h"
#include "tilewright/backend/backend.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/env.h"
#include "tilewright/base/error.h"
#include "tilewright/kernels/check.h"
#include "tilewright/runtime/fault.h"
#include "tilewright/runtime/parallel.h"

namespace tw::python {
namespace {

PyObject* exception_of(const Error& error) {
  const Code code = error.code();
  if (dynamic_cast<const kernels::DtypeError*>(&error) != nullptr || code == codes::host_01 ||
      code == codes::host_03 || code == codes::type_01) {
    return PyExc_TypeError;
  }
  if (code == codes::tgt_03) return PyExc_NotImplementedError;
  if (code == codes::host_12) return PyExc_MemoryError;
  const bool is_fault = dynamic_cast<const runtime::DeviceFault*>(&error) != nullptr;
  const bool is_missing = code == codes::tgt_04 || code == codes::tool_01;
  return is_fault || is_missing ? PyExc_RuntimeError : PyExc_ValueError;
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    PyErr_SetString(exception_of(error), error.what());
  } catch (const InternalError& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

/// The targets whose kernels run here, the best of each backend.
nb::list targets() {
  nb::list found;
  for (const std::string& name : backend::installed_backends()) {
    const std::vector<std::string> here = backend::load_backend(name).targets_here();
    if (!here.empty()) found.append(here.back());
  }
  return found;
}

nb::dict info() {
  nb::dict facts;
  facts["version"] = TW_VERSION;
  facts["build_id"] = backend::build_id();
  facts["targets"] = targets();
  facts["threads"] = runtime::thread_count();
  facts["cache_folder"] = env::cache_folder();
  return facts;
}

}  // namespace
}  // namespace tw::python

NB_MODULE(_tilewright, m) {
  using namespace tw::python;
  nb::register_exception_translator(&translate);
  m.attr("__version__") = TW_VERSION;
  m.def("info", &info,
        "Version, build id, targets, threads of a launch and folder of the disk cache.");
  bind_activation(m);
  bind_attention(m);
  bind_bench(m);
  bind_detached(m);
  bind_elementwise(m);
  bind_gather(m);
  bind_gemm(m);
  bind_kernel(m);
  bind_moe_gate(m);
  bind_moe_layout(m);
  bind_move(m);
  bind_norm(m);
  bind_pool(m);
  bind_quant(m);
  bind_rand(m);
  bind_reduce(m);
  bind_scan(m);
  bind_select(m);
  bind_transform(m);
}
