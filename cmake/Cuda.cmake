# Headers of CUPTI, NCCL and NVTX, where a CUDA toolkit is there. Only headers: the libraries are opened
# at run time, so that one binary serves machines with and without a GPU. profwrap::cuda_headers carries
# the include directories and PROFWRAP_HAVE_CUPTI, _NCCL and _NVTX (0 or 1) for the collectors.
find_package(CUDAToolkit QUIET)
add_library(profwrap_cuda_headers INTERFACE)
add_library(profwrap::cuda_headers ALIAS profwrap_cuda_headers)
set(cuda_found "")
foreach(part IN ITEMS "CUPTI:cupti.h" "NCCL:nccl.h" "NVTX:nvtx3/nvToolsExtPayload.h")
    string(REPLACE ":" ";" part ${part})
    list(GET part 0 name)
    list(GET part 1 header)
    find_path(PROFWRAP_${name}_INCLUDE_DIR ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS}
        PATH_SUFFIXES extras/CUPTI/include)
    mark_as_advanced(PROFWRAP_${name}_INCLUDE_DIR)
    if(PROFWRAP_${name}_INCLUDE_DIR)
        target_include_directories(profwrap_cuda_headers SYSTEM INTERFACE
            ${PROFWRAP_${name}_INCLUDE_DIR})
        target_compile_definitions(profwrap_cuda_headers INTERFACE PROFWRAP_HAVE_${name}=1)
        list(APPEND cuda_found ${name})
    else()
        target_compile_definitions(profwrap_cuda_headers INTERFACE PROFWRAP_HAVE_${name}=0)
    endif()
endforeach()
list(JOIN cuda_found " " cuda_found)
message(STATUS "CUDA headers: ${cuda_found}")
if(NOT PROFWRAP_NVTX_INCLUDE_DIR)
    message(STATUS "no nvtx3/nvToolsExtPayload.h (CUDA toolkit 12 or later): NVTX is not recorded")
endif()
