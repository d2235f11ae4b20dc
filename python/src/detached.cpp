// Functions that take tensors with gradients as if they had none, for packages whose operators are
// differentiated by others.
#include <cstddef>

#include "bind.h"

#if PY_VERSION_HEX < 0x030c0000
#include <structmember.h>
#define Py_READONLY READONLY
#define Py_T_PYSSIZET T_PYSSIZET
#endif

namespace tw::python {
namespace {

/// A callable object, which costs 0.03 us a call; a function of nanobind that passes arguments on
/// costs ten times that.
struct Detached {
  PyObject base;
  vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* error;
};

PyObject* call(PyObject* self, PyObject* const* args, size_t count, PyObject* keywords) {
  const auto* detached = reinterpret_cast<Detached*>(self);
  const WithoutGradients scope;
  PyObject* result = PyObject_Vectorcall(detached->function, args, count, keywords);
  if (result != nullptr) return result;
  for (PyObject* kind : {PyExc_ValueError, PyExc_TypeError, PyExc_BufferError}) {
    if (PyErr_ExceptionMatches(kind) == 0) continue;
    nb::python_error cause;
    PyObject* text = PyObject_Str(cause.value().ptr());
    const char* words = text != nullptr ? PyUnicode_AsUTF8AndSize(text, nullptr) : nullptr;
    if (words == nullptr) PyErr_Clear();
    cause.restore();
    nb::chain_error(detached->error, "%s", words != nullptr ? words : "an error without words");
    Py_XDECREF(text);
    break;
  }
  return nullptr;
}

void destroy(PyObject* self) {
  auto* detached = reinterpret_cast<Detached*>(self);
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(detached->function);
  Py_XDECREF(detached->error);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

/// Lives as long as the process.
PyTypeObject* detached_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Detached, vectorcall), Py_READONLY, nullptr},
      {}};
  static PyType_Slot slots[] = {{Py_tp_members, members},
                                {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&destroy)},
                                {0, nullptr}};
  static PyType_Spec spec = {"tilewright._tilewright.Detached", sizeof(Detached), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  static PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nb::python_error();
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

void bind_detached(nb::module_& m) {
  m.def(
      "detached",
      [](nb::callable function, nb::type_object error) {
        if (PyExceptionClass_Check(error.ptr()) == 0) {
          throw nb::type_error("detached: the error must be a class of exceptions");
        }
        Detached* made = PyObject_New(Detached, detached_type());
        if (made == nullptr) throw nb::python_error();
        made->vectorcall = &call;
        made->function = function.release().ptr();
        made->error = nb::borrow(error).release().ptr();
        return nb::steal(reinterpret_cast<PyObject*>(made));
      },
      "function"_a, "error"_a,
      "The function, which takes tensors with gradients as if they had none, and raises `error`\n"
      "with the same words instead of ValueError, TypeError and BufferError.");
}

}  // namespace tw::python
