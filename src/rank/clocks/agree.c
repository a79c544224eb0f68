/* Registration files and one exclusive link; see agree.h. */
#include "rank/clocks/agree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a registered rank waits for the others. All ranks enter MPI_Init within moments of each
 * other, because MPI_Init synchronises them; a rank that has not come by then has no probe. */
#define PATIENCE_NS (5 * (int64_t)1000000000)

static void member_path(const struct pw_agreement *a, int rank, char path[4200])
{
    snprintf(path, 4200, "%s/.sync-%05d", a->dir, rank);
}

static void decision_path(const struct pw_agreement *a, char path[4200])
{
    snprintf(path, 4200, "%s/.sync-decision", a->dir);
}

void pw_agree_init(struct pw_agreement *a, const char *dir, int rank, int size)
{
    *a = (struct pw_agreement){.rank = rank, .size = size};
    snprintf(a->dir, sizeof(a->dir), "%s", dir);
}

static enum pw_sync_decision read_decision(const struct pw_agreement *a)
{
    char path[4200], text[8] = "";
    decision_path(a, path);
    if (readlink(path, text, sizeof(text) - 1) < 0)
        return PW_SYNC_UNDECIDED;
    return strcmp(text, "yes") == 0 ? PW_SYNC_YES : PW_SYNC_NO;
}

/* Creates the decision `word`, unless there is one. Returns the decision that is valid. */
static enum pw_sync_decision decide(const struct pw_agreement *a, const char *word)
{
    char path[4200];
    decision_path(a, path);
    if (symlink(word, path) == 0)
        return strcmp(word, "yes") == 0 ? PW_SYNC_YES : PW_SYNC_NO;
    enum pw_sync_decision found = read_decision(a);
    /* The link could not be created, so no rank can have read a "yes": the decision is "no". */
    return found == PW_SYNC_UNDECIDED ? PW_SYNC_NO : found;
}

static int is_own_file(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

static int register_rank(struct pw_agreement *a)
{
    char path[4200];
    member_path(a, a->rank, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    a->registered_ns = pw_local_ns();
    if (fd < 0)
        return errno == EEXIST && is_own_file(path); /* left by an earlier collector of this rank */
    close(fd);
    return 1;
}

static int all_registered(struct pw_agreement *a)
{
    char path[4200];
    for (; a->next_unseen < a->size; a->next_unseen++) {
        struct stat st;
        member_path(a, a->next_unseen, path);
        if (lstat(path, &st))
            return 0;
    }
    return 1;
}

enum pw_sync_decision pw_agree_poll(struct pw_agreement *a)
{
    if (a->size <= 1)
        return PW_SYNC_NO;
    if (!a->registered_ns && !register_rank(a))
        return decide(a, "no");
    enum pw_sync_decision decision = read_decision(a);
    if (decision == PW_SYNC_UNDECIDED && a->rank == 0 && all_registered(a))
        decision = decide(a, "yes");
    if (decision == PW_SYNC_UNDECIDED && pw_local_ns() - a->registered_ns > PATIENCE_NS)
        decision = decide(a, "no");
    return decision;
}

void pw_agree_refuse(struct pw_agreement *a)
{
    if (a->size > 1)
        decide(a, "no");
}

void pw_agree_fini(struct pw_agreement *a, int last)
{
    char path[4200];
    member_path(a, a->rank, path);
    unlink(path);
    decision_path(a, path);
    if (last)
        unlink(path);
}
