/* As NVIDIA's cuda_occupancy.h has it; see occupancy.h. */
#include "analysis/occupancy.h"

enum {
    WARP = 32,
    MOST_THREADS = 1024,
    REGISTER_UNIT = 256, /* of a warp; and warps are in quarters, each with its registers */
    QUARTERS = 4,
    NEW_SHARED = 800, /* from this capability on, shared memory is given in smaller units ... */
    OLD_UNIT = 256,
    NEW_UNIT = 128,
    RESERVED = 1024, /* ... and each block takes so much for the driver */
    OLDEST = 700,
    NEWEST = 1299, /* of later ones the units are not known */
};

static int64_t round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int is_known(const struct pw_row_device *d, const struct pw_row_kernel *k)
{
    return d->capability >= OLDEST && d->capability <= NEWEST && d->warps > 0 && d->blocks > 0 &&
           d->shared_bytes > 0 && d->registers > 0 && k->block_x > 0 && k->block_y > 0 &&
           k->block_z > 0 && k->block_x <= MOST_THREADS && k->block_y <= MOST_THREADS &&
           k->block_z <= MOST_THREADS && k->registers >= 0 && k->static_shared_bytes >= 0 &&
           k->dynamic_shared_bytes >= 0;
}

static int64_t shared_of(const struct pw_row_device *d, const struct pw_row_kernel *k)
{
    const int64_t asked = (int64_t)k->static_shared_bytes + k->dynamic_shared_bytes;
    return d->capability < NEW_SHARED ? round_up(asked, OLD_UNIT)
                                      : round_up(asked + RESERVED, NEW_UNIT);
}

double pw_occupancy(const struct pw_row_device *device, const struct pw_row_kernel *kernel)
{
    if (!is_known(device, kernel))
        return -1;
    const int64_t threads = (int64_t)kernel->block_x * kernel->block_y * kernel->block_z;
    const int64_t warps = (threads + WARP - 1) / WARP;
    const int64_t registers = round_up((int64_t)kernel->registers * WARP, REGISTER_UNIT);
    const int64_t shared = shared_of(device, kernel);
    int64_t blocks = least(device->blocks, device->warps / warps);
    if (registers)
        blocks = least(blocks, device->registers / QUARTERS / registers * QUARTERS / warps);
    if (shared)
        blocks = least(blocks, device->shared_bytes / shared);
    return threads > MOST_THREADS || !blocks ? -1
                                             : (double)(blocks * warps) / (double)device->warps;
}
