# Installs the build BUILD into a fresh folder under WORK, then builds and runs, against that
# package alone, the project beside this file, and the tool.
#   cmake -DBUILD=... -DWORK=... -DCXX=... -P run.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/ DESTINATION ${WORK}/project)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/build -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/uses_tilewright)
run(${WORK}/prefix/bin/tilewright compile ${CMAKE_CURRENT_LIST_DIR}/../tools/scale.tw)
