/* Compares shares of the roofs; see roofline.h. */
#include "analysis/roofline.h"

#include <stddef.h>

static void take(struct pw_roof *nearest, const char *name, double share)
{
    if (share > nearest->share)
        *nearest = (struct pw_roof){name, share};
}

struct pw_roof pw_roofline_nearest(const struct pw_roofline_input *in)
{
    struct pw_roof nearest = {NULL, -1};
    const struct pw_roof nothing = nearest;
    take(&nearest, "tensor cores", in->tensor);
    take(&nearest, "fp64", in->fp64);
    take(&nearest, "fp32", in->fp32);
    take(&nearest, "fp16", in->fp16);
    if (!nearest.name || !(in->dram >= 0) || !(in->engine > 0))
        return nothing;
    take(&nearest, "memory", in->dram);
    nearest.share = nearest.share < in->engine ? nearest.share / in->engine : 1;
    return nearest;
}
