/* The two file formats' names and version, and the check every reader makes first. */
#ifndef PW_CORE_FORMAT_H
#define PW_CORE_FORMAT_H

#include <hdf5.h>

#define PW_FORMAT_RANK "profwrap-rank"
#define PW_FORMAT_CLUSTER "profwrap-cluster"
enum { PW_FORMAT_VERSION = 1 };

/* Writes the attributes format, format_version and profwrap_version. 0 or -EIO. */
int pw_format_stamp(hid_t file, const char *format);

/* 0 when `file` is of `format` and this program can read its version; -EINVAL when it is something
 * else; -EPROTO when it is newer. */
int pw_format_check(hid_t file, const char *format);

#endif
