/* Detects CUDA that another tool records; see cuda_other.h. */
#include "collectors/cuda/cuda_other.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/gpu/gpu_present.h"
#include "rank/ring/tick.h"

enum { LEAST_NS = 100000000, PART = 8 };
#define MOST_NS ((int64_t)5000000000)

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool has_libcuda(pid_t pid)
{
    static const char name[] = "libcuda.so";
    char path[64], *line = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &size, file) > 0)
        found = strncmp(base_name(line), name, sizeof(name) - 1) == 0;
    free(line);
    if (file)
        fclose(file);
    return found;
}

void pw_cuda_other_begin(struct pw_cuda_other *other, struct pw_segment_shared *segment,
                         const char *tool)
{
    *other = (struct pw_cuda_other){.tool = tool, .segment = segment};
    atomic_store(&segment->gpu_untimed, 1);
}

void pw_cuda_other_poll(struct pw_cuda_other *other, pid_t program)
{
    const int64_t now = pw_local_ns();
    if (!other->tool || other->is_used || now < other->next_ns)
        return;
    other->since_ns = other->since_ns ? other->since_ns : now;
    const int64_t pause = (now - other->since_ns) / PART;
    other->next_ns = now + (pause < LEAST_NS ? LEAST_NS : pause > MOST_NS ? MOST_NS : pause);
    const pid_t recording = atomic_load(&other->segment->owner_pid);
    other->is_used = has_libcuda(program) || (recording > 0 && has_libcuda(recording));
}

void pw_cuda_other_finish(const struct pw_cuda_other *other, struct pw_rankfile *file)
{
    char reason[192];
    if (!other->is_used || !pw_gpu_is_present(PW_GPU_CUDA))
        return;
    snprintf(reason, sizeof(reason), "CUDA_INJECTION64_PATH names another tool: %s",
             base_name(other->tool));
    pw_rankfile_set_text(file, "gpu_unrecorded", reason);
}
