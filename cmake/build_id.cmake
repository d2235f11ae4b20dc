# Writes OUT, a header with TW_BUILD_ID: a hash of the sources of core and backends below ROOT. Core
# and backends of one id can be used together, and find each other's code in the disk cache. Leaves
# OUT alone when nothing changed.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE sources ${ROOT}/*.h ${ROOT}/*.cpp ${ROOT}/*.cuh)
list(FILTER sources EXCLUDE REGEX "^${ROOT}/(kernels|capi)/")
list(SORT sources)
set(all "")
foreach(source ${sources})
  file(SHA256 ${source} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 16 id)
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once\n#define TW_BUILD_ID \"@id@\"\n" @ONLY)
