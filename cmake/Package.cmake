# A tarball and a Debian package, by cpack; scripts/package calls it.
set(CPACK_PACKAGE_VENDOR "The profwrap authors")
# Who makes the package; Debian's own variables for this.
set(maintainer "profwrap@localhost")
if(NOT "$ENV{DEBEMAIL}" STREQUAL "")
    set(maintainer "$ENV{DEBEMAIL}")
endif()
set(name "The profwrap authors")
if(NOT "$ENV{DEBFULLNAME}" STREQUAL "")
    set(name "$ENV{DEBFULLNAME}")
endif()
set(CPACK_PACKAGE_CONTACT "${name} <${maintainer}>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiler that finds the rank which holds an MPI job back")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_FILE_NAME profwrap-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)

set(CPACK_DEBIAN_PACKAGE_NAME profwrap)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-h5py, python3-numpy")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "openmpi-bin, python3-pandas")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "profwrap starts unchanged MPI and PyTorch programs, records every rank, and
reports which rank, phase or collective holds the job back, by how much, and
how sure that is.")
# What Debian's policy wants of each package: made by a script in the package's tree.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/DebianTree.cmake)
include(CPack)
