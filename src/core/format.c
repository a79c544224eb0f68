/* Stamps and checks file formats; see format.h. */
#include "core/format.h"

#include <errno.h>
#include <string.h>

#include "core/h5types.h"

int pw_format_stamp(hid_t file, const char *format)
{
    int err = pw_h5_set_text(file, "format", format);
    err = err ? err : pw_h5_set_int(file, "format_version", PW_FORMAT_VERSION);
    return err ? err : pw_h5_set_text(file, "profwrap_version", PROFWRAP_VERSION);
}

int pw_format_check(hid_t file, const char *format)
{
    char found[32];
    int64_t version;
    if (pw_h5_get_text(file, "format", found, sizeof(found)) || strcmp(found, format) != 0)
        return -EINVAL;
    if (pw_h5_get_int(file, "format_version", &version) || version < 1)
        return -EINVAL;
    return version > PW_FORMAT_VERSION ? -EPROTO : 0;
}
