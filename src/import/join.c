/* A merge join of two sorted streams; see join.h. */
#include "import/join.h"

enum { MEMORY = 24 << 20 };

/* A launch tells what the kernel itself does not. */
static void apply(struct pw_device_record *device, const struct pw_launch_record *launch)
{
    device->launch = launch->timed ? launch->time : -1;
    device->thread = launch->thread;
    device->launched_by = launch->launched_by;
    if (!device->is_nccl || device->count_in >= 0)
        return;
    if (!device->collective)
        device->collective = launch->collective;
    device->count_in = launch->count_in;
    device->count_out = launch->count_out;
}

/* Where no calls were recorded, operators are found by the External id of what they launched. */
static int key_by_external(struct pw_trace_window *window)
{
    struct pw_sorter *keyed;
    int err = pw_sorter_create(window->trace->dir, sizeof(struct pw_device_record), MEMORY, &keyed);
    err = err ? err : pw_sorter_begin(window->device);
    if (err)
        return err;
    for (const struct pw_device_record *device; (device = pw_sorter_next(window->device));) {
        struct pw_device_record record = *device;
        record.key[0] = (int64_t)record.external;
        pw_sorter_add(keyed, &record);
    }
    err = pw_sorter_error(window->device);
    pw_sorter_destroy(window->device);
    window->device = keyed;
    return err;
}

int pw_join(struct pw_trace_window *window, struct pw_sorter *launches, struct pw_sorter **out)
{
    int err = window->calls ? 0 : key_by_external(window);
    err = err ? err
              : pw_sorter_create(window->trace->dir, sizeof(struct pw_device_record), MEMORY, out);
    err = err ? err : pw_sorter_begin(window->device);
    err = err ? err : pw_sorter_begin(launches);
    if (err)
        return err;
    const struct pw_launch_record *launch = pw_sorter_next(launches);
    for (const struct pw_device_record *device; (device = pw_sorter_next(window->device));) {
        struct pw_device_record joined = *device;
        while (launch && launch->id < device->key[0])
            launch = pw_sorter_next(launches);
        if (launch && launch->id == device->key[0] && device->key[0])
            apply(&joined, launch);
        joined.key[0] = joined.start;
        joined.key[1] = joined.end;
        joined.key[2] = joined.stream;
        pw_sorter_add(*out, &joined);
    }
    err = pw_sorter_error(window->device);
    return err ? err : pw_sorter_error(launches);
}
