/* Bandwidth factors and size classes of collectives; see bandwidth.h. */
#include "analysis/bandwidth.h"

double pw_busbw_factor(enum pw_op_factor factor, int64_t nranks)
{
    double n = (double)nranks;
    if (nranks < 1)
        return 0;
    switch (factor) {
    case PW_FACTOR_AR:
        return 2 * (n - 1) / n;
    case PW_FACTOR_AG:
        return (n - 1) / n;
    case PW_FACTOR_ONE:
        return 1;
    default:
        return 0;
    }
}

double pw_algbw(int64_t bytes, int64_t transfer_ns)
{
    return bytes > 0 && transfer_ns > 0 ? (double)bytes * 1e9 / (double)transfer_ns : 0;
}

double pw_algbw_resolved(int64_t bytes, int64_t transfer_ns, int64_t error_ns)
{
    return transfer_ns < error_ns ? 0 : pw_algbw(bytes, transfer_ns);
}

int64_t pw_size_class(int64_t bytes)
{
    int64_t top = 0;
    while (top < bytes)
        top = 2 * top + 1;
    return top;
}
