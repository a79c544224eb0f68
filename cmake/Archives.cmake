# Links small libraries statically where their archives are installed: the loader takes 0.05 ms of
# processor time for each shared library, in every process of a rank and for every command.
option(PROFWRAP_STATIC_SMALL "Link small libraries statically where that works: ranks start sooner" ON)
include(CheckCSourceCompiles)

# Replaces the libraries of `target` by these archives (names without lib and .a) and other libraries
# (which begin with -), if all are found and `source`, a program, can be linked with them.
function(profwrap_prefer_archives target source)
    if(NOT PROFWRAP_STATIC_SMALL OR NOT TARGET ${target})
        return()
    endif()
    get_target_property(is_done ${target} PROFWRAP_HAS_ARCHIVES)
    if(is_done)
        return()
    endif()
    set(libraries "")
    foreach(name IN LISTS ARGN)
        if(name MATCHES "^-")
            list(APPEND libraries ${name})
            continue()
        endif()
        find_library(PROFWRAP_SMALL_${name} NAMES lib${name}.a)
        mark_as_advanced(PROFWRAP_SMALL_${name})
        if(NOT PROFWRAP_SMALL_${name})
            return()
        endif()
        list(APPEND libraries ${PROFWRAP_SMALL_${name}})
    endforeach()
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(directories)
        set(CMAKE_REQUIRED_INCLUDES ${directories})
    endif()
    set(CMAKE_REQUIRED_LIBRARIES ${libraries})
    string(MAKE_C_IDENTIFIER "PROFWRAP_LINKS_${target}_${ARGN}" links)
    check_c_source_compiles("${source}" ${links})
    if(${links})
        set_target_properties(${target} PROPERTIES PROFWRAP_HAS_ARCHIVES TRUE
            INTERFACE_LINK_LIBRARIES "${libraries}")
    endif()
endfunction()

# For the libraries that were found before.
macro(profwrap_prefer_found_archives)
    profwrap_prefer_archives(PkgConfig::JANSSON
        "#include <jansson.h>
        int main(void) { return json_loads(\"\", 0, 0) != 0; }" jansson)
    profwrap_prefer_archives(PkgConfig::SECCOMP
        "#include <seccomp.h>
        int main(void) { return seccomp_init(SCMP_ACT_ALLOW) == 0; }" seccomp)
    profwrap_prefer_archives(PkgConfig::LIBDEFLATE
        "#include <libdeflate.h>
        int main(void) { return libdeflate_alloc_compressor(1) == 0; }" deflate)
    if(NOT PROFWRAP_STATIC_LIBRARIES) # which has these archives already
        profwrap_prefer_archives(PkgConfig::SQLITE3
            "#include <sqlite3.h>
            int main(void) { return sqlite3_open(\"\", 0); }" sqlite3 -lm -ldl -pthread)
        set(dwfl "#include <elfutils/libdwfl.h>
            int main(void) {
                Dwfl *dwfl = dwfl_begin(0);
                return dwfl_report_offline(dwfl, \"\", \"\", -1) == 0 || dwfl_linux_proc_attach(dwfl, 1, 0); }")
        profwrap_prefer_archives(PkgConfig::LIBDW "${dwfl}" dw elf lzma bz2 -lz -ldl -pthread)
        profwrap_prefer_archives(PkgConfig::LIBDW "${dwfl}" dw elf lzma bz2 zstd -lz -ldl -pthread)
    endif()
endmacro()
