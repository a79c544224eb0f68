# MPICH's mpi.h, beside that of the MPI that profwrap is built with: programs of MPICH and of what is
# compatible with it are recorded by wrappers that are compiled against it. Only the header is used.
# PROFWRAP_MPICH_INCLUDE_DIR is the folder that it is in, or not found.
find_path(PROFWRAP_MPICH_INCLUDE_DIR mpi.h DOC "Folder of MPICH's mpi.h" NO_DEFAULT_PATH
    PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich /usr/include/mpich-${CMAKE_SYSTEM_PROCESSOR}
        /usr/lib64/mpich/include)
set(mpich_version "")
if(PROFWRAP_MPICH_INCLUDE_DIR)
    file(STRINGS ${PROFWRAP_MPICH_INCLUDE_DIR}/mpi.h mpich_version REGEX "define MPICH_VERSION ")
endif()
if(NOT mpich_version)
    set(PROFWRAP_MPICH_INCLUDE_DIR PROFWRAP_MPICH_INCLUDE_DIR-NOTFOUND)
    message(STATUS "no mpi.h of MPICH (Debian: libmpich-dev): its programs are not recorded")
endif()
