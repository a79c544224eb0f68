# `cmake --install build --prefix DIR` leaves a tree that works from wherever it is put.
install(TARGETS profwrap RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS profwrap-merge-alone profwrap-import profwrap-sim RUNTIME DESTINATION ${PROFWRAP_PRIVATE_DIR})
foreach(program IN ITEMS profwrap-merge profwrap-metrics profwrap-otf2 profwrap-serve)
    if(TARGET ${program})
        install(TARGETS ${program} RUNTIME DESTINATION ${PROFWRAP_PRIVATE_DIR})
    endif()
endforeach()
install(TARGETS profwrap_probe profwrap_audit profwrap_launch profwrap_rocm ${PROFWRAP_MPI4_LIBRARIES}
    LIBRARY DESTINATION ${PROFWRAP_PRIVATE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/profwrap.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

configure_file(${PROJECT_SOURCE_DIR}/cmake/profwrap.pc.in ${PROJECT_BINARY_DIR}/profwrap.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/profwrap.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The same for CMake: find_package(profwrap), then link with profwrap::profwrap.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/profwrap)
add_library(profwrap_header INTERFACE)
set_target_properties(profwrap_header PROPERTIES EXPORT_NAME profwrap)
target_include_directories(profwrap_header INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(profwrap_header INTERFACE dl)
install(TARGETS profwrap_header EXPORT profwrap-targets)
install(EXPORT profwrap-targets NAMESPACE profwrap:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/profwrap-config.cmake.in
    ${PROJECT_BINARY_DIR}/profwrap-config.cmake INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/profwrap-config-version.cmake
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/profwrap-config.cmake
    ${PROJECT_BINARY_DIR}/profwrap-config-version.cmake DESTINATION ${package_dir})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/profwrap DESTINATION ${PROFWRAP_PYTHON_DIR}
    FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
