// For tests of the language: traces one launch over a few tensors and shows what it recorded.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"
#include "tilewright/lang/lang.h"

namespace tw {

/// The parameters of a test program, inside its launch.
struct Tensors {
  Expr n, b;         // a size, the block index
  Buffer x, y, a;    // input f32[n, 64], inout f32[n, 64], inout f32[n]
  Buffer ids, half;  // input i32[n], inout f16[n]
  Expr s;            // scalar f32
};

inline ir::Program trace_tensors(const std::function<void(const Tensors&)>& body) {
  return program("test", [&](Builder& k) {
    Tensors t;
    t.n = k.dim("n");
    t.x = k.input("x", f32, {t.n, 64});
    t.y = k.inout("y", f32, {t.n, 64});
    t.a = k.inout("a", f32, {t.n});
    t.ids = k.input("ids", i32, {t.n});
    t.half = k.inout("half", f16, {t.n});
    t.s = k.scalar("s", f32);
    k.launch({t.n}, [&](Expr b) {
      t.b = b;
      body(t);
    });
  });
}

/// The statements of the launch as text; the program must verify.
inline std::string traced(const std::function<void(const Tensors&)>& body) {
  const ir::Program p = trace_tensors(body);
  ir::verify(p, ir::Level::tile);
  return ir::print(p.launches[0].as<ir::Launch>().body) + "\n";
}

/// The whole text of the error that a call raises, with `HERE` for the position of the line that
/// the test names.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
inline std::string traced_error(const std::function<void(const Tensors&)>& body) {
  return error_of([&] { trace_tensors(body); });
}

}  // namespace tw
