# Compiles every source beside this file: it must fail, with a message that matches the pattern in
# its `// expect:` line. A source without that line is the control and must compile.
#   cmake -DCXX=... -DROOT=... -P run.cmake
file(GLOB sources ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
foreach(source ${sources})
  file(STRINGS ${source} expect REGEX "^// expect: ")
  string(REGEX REPLACE "^// expect: " "" pattern "${expect}")
  execute_process(COMMAND ${CXX} -std=c++20 -fsyntax-only -I${ROOT} ${source}
                  RESULT_VARIABLE result ERROR_VARIABLE message)
  if(NOT pattern AND result)
    message(FATAL_ERROR "${source} must compile:\n${message}")
  elseif(pattern AND NOT result)
    message(FATAL_ERROR "${source} compiles, it must not")
  elseif(pattern AND NOT message MATCHES "${pattern}")
    message(FATAL_ERROR "${source}: no '${pattern}' in\n${message}")
  endif()
endforeach()
