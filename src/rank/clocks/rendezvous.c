/* The files by which collectors find each other; see rendezvous.h. IPv4 only. */
#include "rank/clocks/rendezvous.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/safefile.h"

#define DOMAIN_PREFIX ".clock-domain-"
enum { PATH = 4200, ADDRESSES = 512 };

static void make_path(const struct pw_rendezvous *r, const char *name, char path[PATH])
{
    snprintf(path, PATH, "%s/%s", r->dir, name);
}

static void domain_name(uint64_t domain, char name[64])
{
    snprintf(name, 64, DOMAIN_PREFIX "%016" PRIx64, domain);
}

static int make_link(const struct pw_rendezvous *r, const char *name, const char *text)
{
    char path[PATH];
    make_path(r, name, path);
    return symlink(text, path) ? -errno : 0;
}

static int read_link(const struct pw_rendezvous *r, const char *name, char *text, size_t size)
{
    char path[PATH];
    make_path(r, name, path);
    ssize_t n = readlink(path, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : n < 0 ? -errno : -EINVAL;
}

/* ---- addresses ---- */

static const struct sockaddr_in *usable(const struct ifaddrs *i)
{
    if (!i->ifa_addr || !i->ifa_netmask || i->ifa_addr->sa_family != AF_INET ||
        !(i->ifa_flags & IFF_UP))
        return NULL;
    return (const void *)i->ifa_addr;
}

/* Writes this host's addresses, separated by spaces; the loopback address only when there is no
 * other. */
static void list_addresses(char *out, size_t size)
{
    struct ifaddrs *all;
    size_t used = 0;
    out[0] = '\0';
    if (getifaddrs(&all) == 0) {
        for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
            const struct sockaddr_in *address = usable(i);
            char text[INET_ADDRSTRLEN];
            if (!address || i->ifa_flags & IFF_LOOPBACK || used + sizeof(text) + 1 > size)
                continue;
            inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " " : "", text);
        }
        freeifaddrs(all);
    }
    if (!used)
        snprintf(out, size, "127.0.0.1");
}

/* Finds an address of this host in the same network as `peer`. Ignores an address that equals
 * `peer`: container bridges have the same address on every host. */
static int share_network(struct in_addr peer, struct in_addr *own)
{
    struct ifaddrs *all;
    int found = 0;
    if (getifaddrs(&all))
        return 0;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        const struct sockaddr_in *address = usable(i);
        if (!address || address->sin_addr.s_addr == peer.s_addr)
            continue;
        in_addr_t mask =
            ((const struct sockaddr_in *)(const void *)i->ifa_netmask)->sin_addr.s_addr;
        found = ((address->sin_addr.s_addr ^ peer.s_addr) & mask) == 0;
        if (found)
            *own = address->sin_addr;
    }
    freeifaddrs(all);
    return found;
}

/* Finds the address of this host from which a packet to `peer` is sent. */
static int route_to(struct in_addr peer, struct in_addr *own)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = peer};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int ok = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
             getsockname(fd, (struct sockaddr *)&address, &size) == 0;
    if (fd >= 0)
        close(fd);
    if (ok)
        *own = address.sin_addr;
    return ok;
}

static int reach(char *addresses, struct in_addr *own)
{
    struct in_addr peer;
    char copy[ADDRESSES], *rest;
    snprintf(copy, sizeof(copy), "%s", addresses);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (inet_pton(AF_INET, word, &peer) == 1 && share_network(peer, own))
            return 1;
    for (char *word = strtok_r(addresses, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (inet_pton(AF_INET, word, &peer) == 1 && route_to(peer, own))
            return 1;
    return 0;
}

/* ---- the files ---- */

int pw_rendezvous_lead(const struct pw_rendezvous *r)
{
    char name[64], addresses[ADDRESSES];
    domain_name(r->domain, name);
    list_addresses(addresses, sizeof(addresses));
    return make_link(r, name, addresses);
}

void pw_rendezvous_leave(const struct pw_rendezvous *r)
{
    char name[64], path[PATH];
    domain_name(r->domain, name);
    make_path(r, name, path);
    unlink(path);
}

void pw_rendezvous_claim_reference(const struct pw_rendezvous *r)
{
    char hash[32];
    snprintf(hash, sizeof(hash), "%016" PRIx64, r->domain);
    make_link(r, ".clock-reference", hash);
}

int pw_rendezvous_is_reference(const struct pw_rendezvous *r)
{
    char hash[32], found[32];
    snprintf(hash, sizeof(hash), "%016" PRIx64, r->domain);
    if (read_link(r, ".clock-reference", found, sizeof(found)))
        return -1;
    return strcmp(hash, found) == 0;
}

/* Writes the key to a temporary file and then renames it, so that no rank reads half a key. */
static void make_key(const struct pw_rendezvous *r, const char *path)
{
    char part[PATH + 32];
    unsigned char key[PW_KEY_BYTES];
    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
        return;
    snprintf(part, sizeof(part), "%s.%016" PRIx64, path, r->domain);
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return;
    int whole = write(fd, key, sizeof(key)) == (ssize_t)sizeof(key);
    close(fd);
    if (whole && link(part, path))
        whole = 0; /* the leader of another domain was faster */
    unlink(part);
}

int pw_rendezvous_key(const struct pw_rendezvous *r, unsigned char key[PW_KEY_BYTES])
{
    char path[PATH];
    struct stat st;
    make_path(r, ".clock-key", path);
    int fd = pw_open_regular(path, O_NOFOLLOW);
    if (fd == -ENOENT) {
        make_key(r, path);
        fd = pw_open_regular(path, O_NOFOLLOW);
    }
    if (fd < 0)
        return fd;
    int err = fstat(fd, &st) ? -errno : 0;
    if (!err && (st.st_uid != geteuid() || st.st_mode & 077))
        err = -EPERM;
    if (!err && read(fd, key, PW_KEY_BYTES) != PW_KEY_BYTES)
        err = -EINVAL;
    close(fd);
    return err;
}

int pw_rendezvous_find_peer(const struct pw_rendezvous *r, struct in_addr *own)
{
    char name[64], addresses[ADDRESSES];
    int err = -ENOENT;
    DIR *stream = opendir(r->dir);
    domain_name(r->domain, name);
    for (struct dirent *e = stream ? readdir(stream) : NULL; e && err; e = readdir(stream)) {
        if (strncmp(e->d_name, DOMAIN_PREFIX, strlen(DOMAIN_PREFIX)) != 0 ||
            strcmp(e->d_name, name) == 0)
            continue;
        if (read_link(r, e->d_name, addresses, sizeof(addresses)) == 0)
            err = reach(addresses, own) ? 0 : -EHOSTUNREACH;
    }
    if (stream)
        closedir(stream);
    return err;
}

int pw_rendezvous_publish(const struct pw_rendezvous *r, const char *service,
                          const struct sockaddr_in *at)
{
    char text[64], address[INET_ADDRSTRLEN], path[PATH], part[PATH + 32];
    inet_ntop(AF_INET, &at->sin_addr, address, sizeof(address));
    snprintf(text, sizeof(text), "%s:%u", address, ntohs(at->sin_port));
    int err = make_link(r, service, text);
    if (err != -EEXIST)
        return err;
    /* Left by a collector of this host that has ended. */
    make_path(r, service, path);
    snprintf(part, sizeof(part), "%s.%016" PRIx64, path, r->domain);
    if (symlink(text, part))
        return -errno;
    return rename(part, path) ? -errno : 0;
}

int pw_rendezvous_find_service(const struct pw_rendezvous *r, const char *service,
                               struct sockaddr_in *at)
{
    char text[64];
    int err = read_link(r, service, text, sizeof(text));
    char *colon = err ? NULL : strchr(text, ':');
    if (!colon)
        return err ? err : -EINVAL;
    *colon = '\0';
    long port = strtol(colon + 1, NULL, 10);
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (port < 1 || port > 65535 || inet_pton(AF_INET, text, &at->sin_addr) != 1)
        return -EINVAL;
    return 0;
}

void pw_rendezvous_remove(const char *dir)
{
    int domains = 0;
    DIR *stream = opendir(dir);
    if (!stream)
        return;
    for (struct dirent *e = readdir(stream); e; e = readdir(stream)) {
        if (strncmp(e->d_name, ".clock-", 7) != 0)
            continue;
        const bool is_domain = strncmp(e->d_name, DOMAIN_PREFIX, strlen(DOMAIN_PREFIX)) == 0;
        if (is_domain && domains++ >= PW_RENDEZVOUS_REMOVE_MOST)
            continue;
        unlinkat(dirfd(stream), e->d_name, 0);
    }
    closedir(stream);
}
