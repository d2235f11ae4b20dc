#include "tilewright/capi/base.h"

#include <iterator>
#include <string_view>

#include "tilewright/capi/border.h"

using namespace tw;

static_assert(TW_BOOL == static_cast<int>(Scalar::boolean) + 1 &&
              TW_E2M1 == static_cast<int>(Scalar::e2m1) + 1 && TW_E2M1 == kScalarCount);
#define TW_TEXT_OF(x) #x
#define TW_DOTTED(a, b, c) TW_TEXT_OF(a) "." TW_TEXT_OF(b) "." TW_TEXT_OF(c)
static_assert(std::string_view(TW_VERSION) ==
                  TW_DOTTED(TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH),
              "tilewright/capi/base.h has another version than CMakeLists.txt");
static_assert(TW_MAX_RANK == kMaxRank);
static_assert(TW_CUDA == static_cast<int>(DeviceKind::cuda) &&
              TW_ASCEND == static_cast<int>(DeviceKind::ascend));

const char* tw_version() { return TW_VERSION; }

const char* tw_status_text(tw_status status) {
  constexpr const char* kTexts[] = {
      "ok",           "invalid argument", "invalid dtype", "unsupported", "out of memory",
      "device fault", "no such device",   "internal error"};
  static_assert(std::size(kTexts) == TW_INTERNAL + 1);
  return status >= 0 && status <= TW_INTERNAL ? kTexts[status] : "unknown status";
}

const char* tw_last_error() { return capi::last_error(); }
