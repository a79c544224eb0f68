/* Who can write to a directory; see directory.h. */
#include "core/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* What the kernel stores a POSIX ACL as: a version, then entries; acl(5) has what they mean. */
struct acl_entry {
    uint16_t tag, permissions;
    uint32_t id;
};
enum {
    ACL_VERSION = 2,
    ACL_NAMED_USER = 0x02,
    ACL_NAMED_GROUP = 0x08,
    ACL_MASK = 0x10,
    ACL_WRITE = 0x02,
    ACL_BYTES = 4096,
    NAMES_BYTES = 1 << 16,
};

/* The user's own group, of which nobody else is a member. */
static bool is_private_group(gid_t gid, uid_t uid)
{
    static char user_names[NAMES_BYTES], group_names[NAMES_BYTES];
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;
    if (getpwuid_r(uid, &user, user_names, sizeof(user_names), &found_user) || !found_user ||
        getgrgid_r(gid, &group, group_names, sizeof(group_names), &found_group) || !found_group)
        return false;
    if (user.pw_gid != gid || strcmp(user.pw_name, group.gr_name) != 0)
        return false;
    for (char **member = group.gr_mem; *member; member++)
        if (strcmp(*member, user.pw_name) != 0)
            return false;
    return true;
}

/* Whether named users or groups may write. What cannot be read counts as such an entry. */
static bool acl_lets_others_write(int fd, uid_t owner)
{
    unsigned char bytes[ACL_BYTES];
    uint32_t version = 0;
    ssize_t n = fgetxattr(fd, "system.posix_acl_access", bytes, sizeof(bytes));
    if (n < 0)
        return errno != ENODATA && errno != ENOTSUP;
    if (n >= (ssize_t)sizeof(version))
        memcpy(&version, bytes, sizeof(version));
    if (version != ACL_VERSION)
        return true;
    unsigned mask = ACL_WRITE, named = 0;
    for (size_t at = sizeof(version); at + sizeof(struct acl_entry) <= (size_t)n;
         at += sizeof(struct acl_entry)) {
        struct acl_entry entry;
        memcpy(&entry, bytes + at, sizeof(entry));
        if (entry.tag == ACL_MASK)
            mask = entry.permissions;
        else if (entry.tag == ACL_NAMED_GROUP || (entry.tag == ACL_NAMED_USER && entry.id != owner))
            named |= entry.permissions;
    }
    return (named & mask & ACL_WRITE) != 0;
}

static int judge(int fd, char *who, size_t size)
{
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    int is_open = status.st_mode & S_IWOTH;
    if (!is_open && status.st_mode & S_IWGRP)
        is_open = !is_private_group(status.st_gid, status.st_uid) ||
                  acl_lets_others_write(fd, status.st_uid);
    if (status.st_uid != geteuid())
        snprintf(who, size, "belongs to another user");
    else if (is_open)
        snprintf(who, size, "can be written by others (mode %04o)",
                 (unsigned)status.st_mode & 07777);
    return who[0] ? -EPERM : 0;
}

/* A link that another user has made leads where that user wants. */
static bool is_foreign_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && status.st_uid != geteuid() &&
           status.st_uid != 0;
}

int pw_directory_check(const char *dir, char *problem, size_t size)
{
    char who[64] = "is a link of another user";
    if (!is_foreign_link(dir)) {
        who[0] = '\0';
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
        int err = fd < 0 ? -errno : judge(fd, who, sizeof(who));
        if (fd >= 0)
            close(fd);
        if (!err)
            return 0;
        if (!who[0]) {
            snprintf(problem, size, "directory %s: %s", dir, strerror(-err));
            return err;
        }
    }
    snprintf(problem, size,
             "directory %s %s, so that others could replace profwrap's files: remove that "
             "permission, choose another directory, or trust it (--trust-directory, "
             "PROFWRAP_TRUST_DIRECTORY=1)",
             dir, who);
    return -EPERM;
}

int pw_directory_vet(const char *dir, char *problem, size_t size)
{
    const char *trusted = getenv("PROFWRAP_TRUST_DIRECTORY");
    if (trusted && *trusted && strcmp(trusted, "0") != 0)
        return 0;
    return pw_directory_check(dir, problem, size) == -EPERM ? -EPERM : 0;
}
