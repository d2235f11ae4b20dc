# The texts of the device prelude as strings: prelude_text.h in the folder of generated headers.
set(literals "")
foreach(part types convert hardware integer math memory async blocks)
  set(file ${CMAKE_CURRENT_LIST_DIR}/prelude/${part}.cuh)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND literals "R\"cuda(${text})cuda\",\n")
endforeach()
set(prelude_text ${PROJECT_BINARY_DIR}/generated/tilewright/backend/cuda/emit/prelude_text.h)
file(CONFIGURE OUTPUT ${prelude_text} @ONLY CONTENT
"// Generated from emit/prelude/*.cuh by prelude.cmake.
#pragma once

#include <string_view>

inline constexpr std::string_view kPreludeFiles[] = {
@literals@};
")
