# A private library that the loader itself loads, before anything of the program: without a library,
# not even the C library, and without what sanitizers would bring.
function(profwrap_add_bare_library name)
    add_library(${name} SHARED ${ARGN})
    set_target_properties(${name} PROPERTIES
        C_VISIBILITY_PRESET hidden
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${PROFWRAP_PRIVATE_DIR})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -O2 -fno-builtin
        -fno-stack-protector -fno-sanitize=all
        $<$<C_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>)
    target_link_options(${name} PRIVATE -nostdlib -fno-sanitize=all)
endfunction()
