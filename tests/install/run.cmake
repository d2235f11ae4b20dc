# Installs the build BUILD into a fresh folder under WORK, then builds and runs, against that
# package alone, the project beside this file, that of the C API (once more by pkg-config), and the
# tool.
#   cmake -DBUILD=... -DWORK=... -DCC=... -DCXX=... -DPKG_CONFIG=... -P run.cmake
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/ DESTINATION ${WORK}/project)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
set(options -G Ninja -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF)
run(${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/build -DCMAKE_CXX_COMPILER=${CXX} ${options})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/uses_tilewright)

run(${CMAKE_COMMAND} -S ${WORK}/project/c -B ${WORK}/build_c -DCMAKE_C_COMPILER=${CC} ${options})
run(${CMAKE_COMMAND} --build ${WORK}/build_c)
run(${WORK}/build_c/uses_tilewright_in_c)
file(GLOB_RECURSE package ${WORK}/prefix/*/tilewright.pc)
get_filename_component(folder ${package} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${folder})
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs tilewright COMMAND_ERROR_IS_FATAL ANY
                OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE)
separate_arguments(flags)
run(${CC} -std=c11 ${WORK}/project/c/main.c -o ${WORK}/by_pkg_config ${flags})
get_filename_component(libraries ${folder} DIRECTORY)
set(ENV{LD_LIBRARY_PATH} ${libraries})
run(${WORK}/by_pkg_config)
run(${WORK}/prefix/bin/tilewright compile ${CMAKE_CURRENT_LIST_DIR}/../tools/scale.tw)
