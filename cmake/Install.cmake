# `cmake --install build --prefix DIR` leaves a tree that works from wherever it is put.
install(TARGETS profwrap RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS profwrap-merge-alone profwrap-import RUNTIME DESTINATION ${PROFWRAP_PRIVATE_DIR})
foreach(program IN ITEMS profwrap-merge profwrap-metrics)
    if(TARGET ${program})
        install(TARGETS ${program} RUNTIME DESTINATION ${PROFWRAP_PRIVATE_DIR})
    endif()
endforeach()
install(TARGETS profwrap_probe profwrap_audit profwrap_launch profwrap_rocm
    LIBRARY DESTINATION ${PROFWRAP_PRIVATE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/include/profwrap.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

configure_file(${PROJECT_SOURCE_DIR}/cmake/profwrap.pc.in ${PROJECT_BINARY_DIR}/profwrap.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/profwrap.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/profwrap DESTINATION ${PROFWRAP_PYTHON_DIR}
    FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
