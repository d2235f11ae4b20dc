// Version, and texts of status codes.
#include <stdio.h>
#include <string.h>

#include "tests/capi/testing.h"

void test_base(void) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", TW_VERSION_MAJOR, TW_VERSION_MINOR,
           TW_VERSION_PATCH);
  CHECK(strcmp(tw_version(), version) == 0);
  CHECK(strcmp(tw_status_text(TW_OK), "ok") == 0);
  CHECK(strcmp(tw_status_text(TW_INVALID_ARGUMENT), "invalid argument") == 0);
  CHECK(strcmp(tw_status_text(TW_INVALID_DTYPE), "invalid dtype") == 0);
  CHECK(strcmp(tw_status_text(TW_UNSUPPORTED), "unsupported") == 0);
  CHECK(strcmp(tw_status_text(TW_OUT_OF_MEMORY), "out of memory") == 0);
  CHECK(strcmp(tw_status_text(TW_DEVICE_FAULT), "device fault") == 0);
  CHECK(strcmp(tw_status_text(TW_NO_DEVICE), "no such device") == 0);
  CHECK(strcmp(tw_status_text(TW_INTERNAL), "internal error") == 0);
  CHECK(strcmp(tw_status_text(-1), "unknown status") == 0);
  CHECK(strcmp(tw_status_text(TW_INTERNAL + 1), "unknown status") == 0);
  CHECK(strcmp(tw_last_error(), "") == 0);  // before the first error
}
