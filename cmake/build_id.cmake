# Writes OUT, a header with TW_BUILD_ID: a hash of all headers below ROOT. Core and backends that are
# built from the same headers can be used together. Leaves OUT alone when nothing changed.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE headers ${ROOT}/*.h)
list(SORT headers)
set(all "")
foreach(header ${headers})
  file(SHA256 ${header} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING ${id} 0 16 id)
file(CONFIGURE OUTPUT ${OUT} CONTENT "#pragma once\n#define TW_BUILD_ID \"@id@\"\n" @ONLY)
