# What `cmake --install` puts where: include/tilewright, the libraries, the tool, the CMake
# package, and for pkg-config the C API.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)

install(DIRECTORY tilewright DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h"
        REGEX "backend/[a-z]+$" EXCLUDE)  # a backend's own headers are its own affair
set_target_properties(tilewright_kernels PROPERTIES EXPORT_NAME kernels INSTALL_RPATH "\$ORIGIN")
set_target_properties(tilewright_c PROPERTIES EXPORT_NAME c INSTALL_RPATH "\$ORIGIN")
set_target_properties(tilewright_tool PROPERTIES
                      INSTALL_RPATH "\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS tilewright_tool DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS tilewright tilewright_kernels tilewright_c EXPORT tilewrightTargets
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# The package also works from the build folder: -Dtilewright_DIR=build.
export(EXPORT tilewrightTargets NAMESPACE tilewright:: FILE tilewrightTargets.cmake)
install(TARGETS tw_cpu tw_cuda DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT tilewrightTargets NAMESPACE tilewright:: DESTINATION ${package_folder})

configure_package_config_file(cmake/tilewrightConfig.cmake.in tilewrightConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(tilewrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilewrightConfig.cmake
              ${PROJECT_BINARY_DIR}/tilewrightConfigVersion.cmake
        DESTINATION ${package_folder})

file(RELATIVE_PATH includedir_from_libdir /${CMAKE_INSTALL_LIBDIR} /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/tilewright.pc.in tilewright.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tilewright.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
