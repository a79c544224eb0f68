# Two flavours of HDF5 as imported targets. Parallel HDF5 (FindHDF5) is for the merge; the collector
# and the reports use the serial library, so that they never load libmpi.
if(CMAKE_CROSSCOMPILING) # HDF5's compiler wrapper, which FindHDF5 asks, is a program of the other processor
    pkg_check_modules(HDF5_C REQUIRED hdf5-openmpi)
    set(HDF5_C_LIBRARIES ${HDF5_C_LINK_LIBRARIES})
else()
    set(HDF5_PREFER_PARALLEL TRUE)
    find_package(HDF5 REQUIRED COMPONENTS C)
    if(NOT HDF5_IS_PARALLEL)
        message(FATAL_ERROR "profwrap needs parallel HDF5 (Debian: libhdf5-openmpi-dev); "
            "the one found, ${HDF5_C_LIBRARIES}, is serial. scripts/setup installs what is needed.")
    endif()
endif()
add_library(profwrap::hdf5_parallel INTERFACE IMPORTED)
target_include_directories(profwrap::hdf5_parallel INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(profwrap::hdf5_parallel INTERFACE ${HDF5_C_LIBRARIES} MPI::MPI_C)

# Debian's shared serial library brings some thirty others with it (a web client, its cryptography and
# its directory services), and a rank would load them all before its program starts: 6 ms of processor
# time. What profwrap uses of the static one needs none of them.
pkg_search_module(HDF5_SERIAL REQUIRED IMPORTED_TARGET hdf5-serial)
option(PROFWRAP_STATIC_HDF5 "Link serial HDF5 statically where that works: ranks start sooner" ON)
if(PROFWRAP_STATIC_HDF5)
    include(CheckCSourceCompiles)
    find_library(PROFWRAP_HDF5_ARCHIVE NAMES libhdf5.a HINTS ${HDF5_SERIAL_LIBRARY_DIRS})
    if(PROFWRAP_STATIC_SMALL)
        find_library(PROFWRAP_SZ_LIBRARY NAMES libsz.a)
    endif()
    find_library(PROFWRAP_SZ_LIBRARY NAMES sz)
    if(PROFWRAP_SZ_LIBRARY MATCHES "\\.a$")
        find_library(PROFWRAP_AEC_LIBRARY NAMES libaec.a aec)
    endif()
    mark_as_advanced(PROFWRAP_HDF5_ARCHIVE PROFWRAP_SZ_LIBRARY PROFWRAP_AEC_LIBRARY)
endif()
if(PROFWRAP_HDF5_ARCHIVE AND PROFWRAP_SZ_LIBRARY)
    set(archive ${PROFWRAP_HDF5_ARCHIVE} ${PROFWRAP_SZ_LIBRARY} ${PROFWRAP_AEC_LIBRARY} z m ${CMAKE_DL_LIBS})
    set(CMAKE_REQUIRED_INCLUDES ${HDF5_SERIAL_INCLUDE_DIRS})
    set(CMAKE_REQUIRED_LIBRARIES ${archive})
    check_c_source_compiles("#include <hdf5.h>
        int main(void) { return H5Fcreate(\"\", 0, H5P_DEFAULT, H5P_DEFAULT) < 0; }"
        PROFWRAP_HDF5_ARCHIVE_LINKS)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_LIBRARIES)
endif()
add_library(profwrap::hdf5_serial INTERFACE IMPORTED)
if(PROFWRAP_STATIC_HDF5 AND PROFWRAP_HDF5_ARCHIVE_LINKS)
    target_include_directories(profwrap::hdf5_serial INTERFACE ${HDF5_SERIAL_INCLUDE_DIRS})
    target_link_libraries(profwrap::hdf5_serial INTERFACE ${archive})
else()
    target_link_libraries(profwrap::hdf5_serial INTERFACE PkgConfig::HDF5_SERIAL)
endif()
