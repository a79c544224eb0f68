# Two flavours of HDF5 as imported targets. Parallel HDF5 (FindHDF5) is for the merge; the collector
# and the reports use the serial library, so that they never load libmpi.
set(HDF5_PREFER_PARALLEL TRUE)
find_package(HDF5 REQUIRED COMPONENTS C)
if(NOT HDF5_IS_PARALLEL)
    message(FATAL_ERROR "profwrap needs parallel HDF5 (Debian: libhdf5-openmpi-dev); "
        "the one found, ${HDF5_C_LIBRARIES}, is serial. scripts/setup installs what is needed.")
endif()
add_library(profwrap::hdf5_parallel INTERFACE IMPORTED)
target_include_directories(profwrap::hdf5_parallel INTERFACE ${HDF5_C_INCLUDE_DIRS})
target_link_libraries(profwrap::hdf5_parallel INTERFACE ${HDF5_C_LIBRARIES} MPI::MPI_C)

pkg_search_module(HDF5_SERIAL REQUIRED IMPORTED_TARGET hdf5-serial)
add_library(profwrap::hdf5_serial INTERFACE IMPORTED)
target_link_libraries(profwrap::hdf5_serial INTERFACE PkgConfig::HDF5_SERIAL)
