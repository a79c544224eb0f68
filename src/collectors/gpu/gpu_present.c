/* Device files of GPUs; see gpu_present.h. */
#include "collectors/gpu/gpu_present.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char wsl[] = "/dev/dxg"; /* a GPU of any vendor under WSL */

static bool is_there(const char *device)
{
    const char *root = getenv("PROFWRAP_FSROOT");
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", root ? root : "", device);
    return access(path, F_OK) == 0;
}

static bool has_nvidia(void)
{
    enum { NUMBERED = 32 };
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char device[32];
    if (visible && (!*visible || strcmp(visible, "-1") == 0))
        return false;
    for (int i = 0; i < NUMBERED; i++) {
        snprintf(device, sizeof(device), "/dev/nvidia%d", i);
        if (is_there(device))
            return true;
    }
    return is_there("/dev/nvhost-gpu") /* Tegra */ || is_there(wsl);
}

bool pw_gpu_is_present(enum pw_gpu_make make)
{
    return make == PW_GPU_ROCM ? is_there("/dev/kfd") || is_there(wsl) : has_nvidia();
}
