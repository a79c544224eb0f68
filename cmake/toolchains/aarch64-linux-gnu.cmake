# For aarch64, by Debian's cross compiler and with the libraries that apt installs beside the machine's own
# (package:arm64). What the build runs of itself, and its tests, are run by qemu-user.
# The preset aarch64 uses it; docs/compatibility.md, "aarch64", says which packages it needs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triplet aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${triplet}/pkgconfig:/usr/share/pkgconfig)
# CMake asks the compiler wrappers of MPI for these; here those are programs of the other processor.
set(MPI_C_HEADER_DIR /usr/lib/${triplet}/openmpi/include)
set(MPI_C_LIB_NAMES mpi)
set(MPI_mpi_LIBRARY /usr/lib/${triplet}/openmpi/lib/libmpi.so)
