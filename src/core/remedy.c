/* The words for errors of the operating system; see remedy.h. */
#include "core/remedy.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct remedy {
    int err;
    const char *next;
} remedies[] = {
    {ENOENT, "check the path"},
    {ENOTDIR, "check the path"},
    {ELOOP, "check the symbolic links of the path"},
    {EISDIR, "give the name of a file"},
    {ENAMETOOLONG, "choose a shorter path"},
    {EACCES, "check its owner and permissions (ls -ld)"},
    {EPERM, "check its owner and permissions (ls -ld)"},
    {EROFS, "choose a directory that can be written"},
    {ENOSPC, "free some there, or choose another place"},
    {EDQUOT, "free some there, or choose another place"},
    {EFBIG, "raise the limit of file sizes (ulimit -f)"},
    {ENOMEM, "use a machine with more memory, or raise its limit (ulimit -v)"},
    {EMFILE, "raise the limit of open files (ulimit -n)"},
    {ENFILE, "try again when fewer files are open on this machine"},
    {EAGAIN, "raise the limit of processes (ulimit -u)"},
    {E2BIG, "give fewer or shorter arguments"},
    {EIO, "check the disk or the file system (dmesg)"},
    {ESTALE, "check the network file system, and try again"},
    {EADDRINUSE, "choose another port or path"},
    {EADDRNOTAVAIL, "choose an address of this machine"},
};

const char *pw_remedy(int err)
{
    static _Thread_local char text[160];
    const char *next = NULL;
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]) && !next; i++)
        if (remedies[i].err == abs(err))
            next = remedies[i].next;
    snprintf(text, sizeof(text), "%s%s%s", strerror(abs(err)), next ? "; " : "", next ? next : "");
    return text;
}
