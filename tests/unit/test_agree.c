/* The agreement to synchronise clocks over MPI, and the page that the collectors of a host share.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rank/clocks/agree.h"
#include "rank/ring/tick.h"

#define SECOND INT64_C(1000000000)

enum { MOST = 12 };

/* `n` ranks, `per_host` on a host. */
static void begin(struct pw_agreement *a, const char *dir, int n, int per_host)
{
    for (int r = 0; r < n; r++)
        pw_agree_init(&a[r], dir, (uint64_t)(r / per_host + 1), r, n);
}

static void end(struct pw_agreement *a, int n)
{
    char dir[UNIT_PATH];
    snprintf(dir, sizeof(dir), "%s", a[0].meeting.dir);
    for (int r = 0; r < n; r++)
        pw_agree_fini(&a[r], r == 0);
    pw_rendezvous_remove(dir);
}

static int files_in(const char *dir, const char *prefix)
{
    int n = 0;
    DIR *stream = opendir(dir);
    assert_non_null(stream);
    for (struct dirent *e = readdir(stream); e; e = readdir(stream))
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0 && strcmp(e->d_name, ".") != 0 &&
             strcmp(e->d_name, "..") != 0;
    closedir(stream);
    return n;
}

/* Polls the ranks from `first` to `n` - 1 until all have the same decision, and returns it. */
static enum pw_sync_decision await(struct pw_agreement *a, int first, int n)
{
    for (;;) {
        int decided = 0;
        for (int r = first; r < n; r++)
            decided += pw_agree_poll(&a[r]) != PW_SYNC_UNDECIDED;
        if (decided == n - first)
            break;
        usleep(1000);
    }
    for (int r = first; r < n; r++)
        assert_int_equal(pw_agree_poll(&a[r]), pw_agree_poll(&a[first]));
    return pw_agree_poll(&a[first]);
}

static void test_one_host(void **state)
{
    struct pw_agreement a[3];
    begin(a, *state, 3, 3);
    assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
    assert_int_equal(pw_agree_poll(&a[2]), PW_SYNC_UNDECIDED);
    assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
    assert_int_equal(files_in(*state, ""), 0);
    assert_int_equal(await(a, 0, 3), PW_SYNC_NO); /* there is one clock */
    assert_int_equal(pw_agree_poll(&a[2]), PW_SYNC_NO);
    assert_int_equal(files_in(*state, ""), 1); /* the decision; no port was opened */
    end(a, 3);
    assert_int_equal(rmdir(*state), 0); /* nothing left */
    assert_int_equal(mkdir(*state, 0700), 0);
}

/* Nothing is done over MPI where the collectors measure over UDP; but when one host's packets do
 * not arrive, the measurements are made over MPI. A refusal comes too late after that. */
static void test_need(void **state)
{
    struct pw_agreement a[3];
    for (int blocked = 0; blocked < 2; blocked++) {
        const enum pw_sync_decision wanted = blocked ? PW_SYNC_YES : PW_SYNC_NO;
        begin(a, *state, 3, 1);
        for (int r = 0; r < 3; r++)
            a[r].has_probes = true;
        while (a[0].socket < 0 || !a[1].nsent || a[1].unanswered > 0) {
            assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
            assert_int_equal(pw_agree_poll(&a[1]), PW_SYNC_UNDECIDED);
            usleep(1000);
        }
        if (blocked) { /* rank 2's host sends no packets, and the time for packets is over */
            a[2].next_look_ns = INT64_MAX;
            assert_int_equal(pw_agree_poll(&a[2]), PW_SYNC_UNDECIDED);
            a[0].began_ns -= 2 * SECOND;
            a[2].began_ns -= 2 * SECOND;
            assert_int_equal(pw_agree_poll(&a[2]), PW_SYNC_UNDECIDED);
            while (pw_agree_poll(&a[0]) == PW_SYNC_UNDECIDED)
                usleep(1000);
            a[2].next_look_ns = 0;
        }
        assert_int_equal(await(a, 0, 3), wanted);
        pw_agree_refuse(&a[1]);
        assert_int_equal(pw_agree_poll(&a[1]), wanted);
        assert_int_equal(files_in(*state, ".sync-0"), blocked);
        end(a, 3);
        assert_int_equal(files_in(*state, ""), 0);
    }
}

/* When packets have come from all hosts, the decision does not wait for ranks that do not register.
 */
static void test_unseen_rank(void **state)
{
    struct pw_agreement a[6];
    begin(a, *state, 6, 2);
    for (int r = 0; r < 6; r++) {
        a[r].has_probes = true;
        a[r].hosted = 2;
    }
    while (a[0].socket < 0 || !a[2].nsent || a[2].unanswered > 0) {
        assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
        assert_int_equal(pw_agree_poll(&a[2]), PW_SYNC_UNDECIDED);
        usleep(1000);
    }
    const int64_t began = pw_local_ns();
    while (pw_agree_poll(&a[5]) == PW_SYNC_UNDECIDED || pw_agree_poll(&a[2]) == PW_SYNC_UNDECIDED) {
        pw_agree_poll(&a[0]);
        usleep(1000);
    }
    assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_NO);
    assert_int_equal(pw_agree_poll(&a[2]), PW_SYNC_NO);
    assert_int_equal(pw_agree_poll(&a[5]), PW_SYNC_NO);
    assert_true(pw_local_ns() - began < 4 * SECOND);
    end(a, 6);
}

/* Four hosts of three ranks: yes when the last rank has come, and no file for each rank. */
static void test_hosts(void **state)
{
    struct pw_agreement a[MOST];
    begin(a, *state, MOST, 3);
    for (int i = 0; i < 300; i++) {
        for (int r = 0; r < MOST - 1; r++)
            assert_int_equal(pw_agree_poll(&a[r]), PW_SYNC_UNDECIDED);
        usleep(1000);
    }
    assert_int_equal(await(a, 0, MOST), PW_SYNC_YES);
    assert_int_equal(files_in(*state, ".sync-"), 1);
    assert_int_equal(files_in(*state, ".clock-domain-"), 3); /* of each other host */
    assert_int_equal(files_in(*state, ""), 6); /* the decision, the secret, the address */
    assert_true(a[0].socket >= 0);
    a[0].told_ns -= SECOND + SECOND / 10; /* a second after the decision the port is closed */
    pw_agree_serve(&a[0]);
    assert_int_equal(a[0].socket, -1);
    for (int r = 1; r < MOST; r++)
        pw_agree_end(&a[r]);
    assert_int_equal(files_in(*state, ".clock-domain-"), 0); /* each host has removed its own */
    end(a, MOST);
    assert_int_equal(rmdir(*state), 0);
    assert_int_equal(mkdir(*state, 0700), 0);
}

/* A host whose registrations were taken only asks for the decision, and rarely. */
static void test_rare_questions(void **state)
{
    struct pw_agreement a[3];
    begin(a, *state, 3, 1);
    while (!a[1].nsent || a[1].unanswered > 0) {
        assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
        assert_int_equal(pw_agree_poll(&a[1]), PW_SYNC_UNDECIDED);
        usleep(1000);
    }
    assert_true(a[1].send_gap_ns >= SECOND / 10);
    assert_true(a[1].next_send_ns - pw_local_ns() <= a[1].send_gap_ns);
    assert_int_equal(await(a, 0, 3), PW_SYNC_YES);
    end(a, 3);
}

/* In a large job, a host waits for its turn before it looks into the output directory. */
static void test_turns(void **state)
{
    enum { SIZE = 100000 };
    struct pw_agreement a;
    pw_agree_init(&a, *state, 2, 1, SIZE);
    a.began_ns = pw_local_ns() + 10 * SECOND;
    assert_int_equal(pw_agree_poll(&a), PW_SYNC_UNDECIDED);
    assert_true(a.next_look_ns == 0);
    a.began_ns = pw_local_ns() - 2 * SECOND;
    assert_int_equal(pw_agree_poll(&a), PW_SYNC_UNDECIDED);
    assert_true(a.next_look_ns != 0);
    pw_agree_fini(&a, true);
}

/* Rank 0's host tells the decision to many hosts in parts. */
static void test_many_are_told(void **state)
{
    enum { HOSTS = 3000, PART = 1024 };
    struct pw_agreement a[2];
    begin(a, *state, 2, 1);
    do {
        assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
        pw_agree_serve(&a[1]);
        pw_rendezvous_lead(&a[1].meeting);
    } while (a[0].socket < 0);
    a[0].hosts = realloc(a[0].hosts, HOSTS * sizeof(a[0].hosts[0]));
    assert_non_null(a[0].hosts);
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(9);
    for (int i = 0; i < HOSTS; i++)
        a[0].hosts[i] = to;
    a[0].nhosts = a[0].capacity = HOSTS;
    pw_hostpage_set_registered(&a[0].page, 1);
    atomic_store(&a[0].page.shared->by_packets, 1);
    int calls = 1;
    for (; pw_agree_serve(&a[0]); calls++)
        assert_true(a[0].told <= calls * PART);
    assert_int_equal(a[0].told, HOSTS);
    assert_true(calls >= HOSTS / PART + 1);
    assert_int_equal(await(a, 0, 2), PW_SYNC_YES);
    end(a, 2);
}

static void test_refusal(void **state)
{
    struct pw_agreement a[4];
    begin(a, *state, 4, 1);
    assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
    pw_agree_refuse(&a[3]);
    assert_int_equal(await(a, 0, 4), PW_SYNC_NO);
    end(a, 4);
}

/* Containers with one clock, of which each has shared memory of its own. */
static void test_pages_of_one_clock(void **state)
{
    struct pw_agreement a[3];
    begin(a, *state, 3, 3);
    for (int r = 0; r < 3; r++) {
        pw_hostpage_close(&a[r].page);
        assert_int_equal(pw_hostpage_open(&a[r].page, *state, (uint64_t)r + 11, 3), 0);
    }
    atomic_store(&a[0].page.shared->has_rank_0, 1);
    assert_int_equal(await(a, 0, 3), PW_SYNC_YES);
    assert_int_equal(files_in(*state, ".sync-0"), 0); /* by packets */
    end(a, 3);
    assert_int_equal(files_in(*state, ""), 0);
}

/* No packet arrives, because rank 0's host has no port: the files serve instead. */
static void test_no_packets(void **state)
{
    struct pw_agreement a[6];
    begin(a, *state, 6, 2);
    a[0].has_failed = a[1].has_failed = true;
    assert_int_equal(await(a, 0, 6), PW_SYNC_YES);
    assert_int_equal(files_in(*state, ".sync-0"), 4); /* of the other hosts' ranks */
    end(a, 6);
    assert_int_equal(files_in(*state, ""), 0);
}

static void make_old(const struct pw_agreement *a, int64_t ns)
{
    atomic_fetch_sub(&a->page.shared->progress_ns, ns);
}

static void test_missing_rank(void **state)
{
    struct pw_agreement a[2];
    begin(a, *state, 2, 1);
    assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
    make_old(&a[0], 4 * SECOND);
    assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
    make_old(&a[0], SECOND + SECOND / 10);
    assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_NO);
    assert_int_equal(await(a, 1, 2), PW_SYNC_NO); /* who comes later hears it, too */
    end(a, 2);

    begin(a, *state, 2, 1); /* rank 0 does not come */
    assert_int_equal(pw_agree_poll(&a[1]), PW_SYNC_UNDECIDED);
    a[1].began_ns -= 10 * SECOND + SECOND / 10;
    assert_int_equal(pw_agree_poll(&a[1]), PW_SYNC_NO);
    assert_int_equal(await(a, 0, 1), PW_SYNC_NO);
    end(a, 2);
}

static void test_alone_or_nowhere(void **state)
{
    char dir[UNIT_PATH];
    struct pw_agreement a;
    pw_agree_init(&a, *state, 1, 0, 1);
    assert_int_equal(pw_agree_poll(&a), PW_SYNC_NO); /* one rank has no other to talk to */
    pw_agree_fini(&a, true);
    pw_agree_init(&a, unit_path(dir, state, "none"), 1, 0, 2);
    pw_agree_refuse(&a); /* no rank can have read a yes there */
    assert_int_equal(pw_agree_poll(&a), PW_SYNC_NO);
    pw_agree_fini(&a, true);
}

/* Eight processes on one to eight hosts, one of which refuses at some moment: whatever is decided,
 * all are told it. */
static void test_race(void **state)
{
    int yes = 0, no = 0;
    for (int round = 0; round < 12; round++) {
        char dir[UNIT_PATH], name[32];
        int answers = 0;
        snprintf(name, sizeof(name), "sync%d", round);
        assert_int_equal(mkdir(unit_path(dir, state, name), 0700), 0);
        for (int rank = 0; rank < 8; rank++)
            if (fork() == 0) {
                struct pw_agreement a;
                enum pw_sync_decision answer = PW_SYNC_UNDECIDED;
                pw_agree_init(&a, dir, (uint64_t)(rank >> round % 4), rank, 8);
                for (int look = 0; answer == PW_SYNC_UNDECIDED; look++) {
                    if (rank == 7 && look == 10 * (round / 4) && round / 4 < 2)
                        pw_agree_refuse(&a);
                    answer = pw_agree_poll(&a);
                    usleep(500);
                }
                for (int i = 0; i < 400; i++, usleep(500)) /* others may ask this process */
                    pw_agree_serve(&a);
                pw_agree_end(&a);
                _exit((int)answer);
            }
        for (int i = 0, status; i < 8; i++) {
            wait(&status);
            assert_true(WIFEXITED(status));
            answers |= 1 << WEXITSTATUS(status);
        }
        assert_true(answers == 1 << PW_SYNC_YES || answers == 1 << PW_SYNC_NO);
        yes += answers == 1 << PW_SYNC_YES;
        no += answers == 1 << PW_SYNC_NO;
    }
    print_message("%d yes, %d no\n", yes, no);
    assert_true(yes > 0 && no > 0);
}

/* Packets of the right form whose code is wrong, and others, register nobody. */
static void test_forged_packets(void **state)
{
    struct pw_agreement a[2];
    struct sockaddr_in to;
    begin(a, *state, 2, 1);
    pw_agree_poll(&a[0]);
    pw_rendezvous_lead(&a[1].meeting);
    while (pw_rendezvous_find_service(&a[0].meeting, PW_SERVICE_AGREEMENT, &to)) {
        usleep(1000);
        pw_agree_poll(&a[0]);
    }
    uint64_t forged[3 + 64 + 1] = {a[0].magic, 2, 0, UINT64_MAX};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    for (size_t bytes = 0; bytes <= sizeof(forged); bytes += 8)
        sendto(fd, forged, bytes, 0, (struct sockaddr *)&to, sizeof(to));
    close(fd);
    for (int i = 0; i < 50; i++, usleep(1000))
        assert_int_equal(pw_agree_poll(&a[0]), PW_SYNC_UNDECIDED);
    assert_int_equal(await(a, 0, 2), PW_SYNC_YES);
    end(a, 2);
}

/* ---- the page ---- */

static int ready[2];

/* Waits until the child has written a byte, and returns it. */
static char await_child(void)
{
    char byte = 0;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    return byte;
}

/* The path of the page's file. */
static void page_path(const struct pw_hostpage *page, char path[80])
{
    assert_true(page->name[0]);
    snprintf(path, 80, "/dev/shm%s", page->name);
}

/* A leader that is killed is followed by another process, which sees what the first has written. */
static void test_leader(void **state)
{
    struct pw_hostpage page, other;
    char path[80], text[PW_HOSTPAGE_NOTICE];
    assert_int_equal(pw_hostpage_open(&page, *state, 7, 100), 0);
    page_path(&page, path);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        const bool leads = pw_hostpage_lead(&page);
        pw_hostpage_set_registered(&page, 99);
        pw_hostpage_put(&page, "order", 6, 1000);
        if (write(ready[1], leads ? "y" : "n", 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(await_child(), 'y');
    assert_false(pw_hostpage_lead(&page));
    assert_int_equal(pw_hostpage_get(&page, text, sizeof(text), 2000, 1000), 6);
    assert_string_equal(text, "order");
    assert_int_equal(pw_hostpage_get(&page, text, sizeof(text), 2001, 1000), -EAGAIN);
    assert_int_equal(pw_hostpage_get(&page, text, 5, 2000, 1000), -EAGAIN); /* too long */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(pw_hostpage_lead(&page));
    assert_true(pw_hostpage_registered(&page, 1) == UINT64_C(1) << (99 - 64));
    assert_int_equal(pw_hostpage_open(&other, *state, 7, 100), 0);
    assert_true(pw_hostpage_registered(&other, 1) != 0);
    assert_false(pw_hostpage_lead(&other));
    pw_hostpage_resign(&page);
    assert_true(pw_hostpage_lead(&other));
    pw_hostpage_close(&page);
    assert_int_equal(access(path, F_OK), 0);
    pw_hostpage_close(&other);
    assert_int_equal(access(path, F_OK), -1);
}

/* The process that opened the page was killed; its child is the last user, and removes the file. */
static void test_last_user(void **state)
{
    struct pw_hostpage page;
    char path[80];
    assert_int_equal(pw_hostpage_open(&page, *state, 7, 100), 0);
    page_path(&page, path);
    pw_hostpage_close(&page);
    pid_t child = fork();
    if (child == 0) {
        pw_hostpage_open(&page, *state, 7, 100);
        if (fork() == 0) {
            const pid_t parent = getppid();
            pw_hostpage_lead(&page);
            kill(parent, SIGKILL);
            while (getppid() == parent) /* its files are closed when it is no longer our parent */
                usleep(1000);
            pw_hostpage_close(&page);
            _exit(0);
        }
        pause();
    }
    waitpid(child, NULL, 0);
    for (int i = 0; i < 5000 && access(path, F_OK) == 0; i++)
        usleep(1000);
    assert_int_equal(access(path, F_OK), -1);
}

/* All users were killed: the page is removed, or emptied by the next user. */
static void test_abandoned_page(void **state)
{
    struct pw_hostpage page, other;
    char path[80];
    pid_t child = fork();
    if (child == 0) {
        pw_hostpage_open(&page, *state, 7, 100);
        pw_hostpage_set_registered(&page, 3);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    assert_int_equal(pw_hostpage_open(&page, *state, 7, 100), 0);
    page_path(&page, path);
    assert_true(pw_hostpage_registered(&page, 0) == 0);
    /* A job of another size in the same directory does not share it. */
    assert_int_equal(pw_hostpage_open(&other, *state, 7, 1000), 0);
    assert_string_equal(other.name, "");
    assert_true(pw_hostpage_lead(&other));
    pw_hostpage_close(&other);
    pw_hostpage_forget(*state, 7);
    assert_int_equal(access(path, F_OK), 0); /* it is used */
    assert_false(pw_hostpage_is_abandoned(page.name));
    child = fork();
    if (child == 0)
        _exit(pw_hostpage_lead(&page) ? 0 : 1); /* takes the lock over, and ends */
    waitpid(child, NULL, 0);
    assert_true(pw_hostpage_is_abandoned(page.name));
    pw_hostpage_forget(*state, 8); /* that of another host */
    assert_int_equal(access(path, F_OK), 0);
    pw_hostpage_forget(*state, 7);
    assert_int_equal(access(path, F_OK), -1);
    pw_hostpage_close(&page);
}

/* A file of that name that others may write is not used. */
static void test_foreign_page(void **state)
{
    struct pw_hostpage page;
    char name[64];
    assert_int_equal(pw_hostpage_open(&page, *state, 8, 10), 0);
    snprintf(name, sizeof(name), "%s", page.name);
    pw_hostpage_close(&page);
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0666), 0);
    close(fd);
    assert_int_equal(pw_hostpage_open(&page, *state, 8, 10), 0);
    assert_string_equal(page.name, "");
    pw_hostpage_close(&page);
    shm_unlink(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_one_host),       UNIT_IN_DIR(test_need),
        UNIT_IN_DIR(test_unseen_rank),    UNIT_IN_DIR(test_hosts),
        UNIT_IN_DIR(test_rare_questions), UNIT_IN_DIR(test_turns),
        UNIT_IN_DIR(test_many_are_told),  UNIT_IN_DIR(test_refusal),
        UNIT_IN_DIR(test_no_packets),     UNIT_IN_DIR(test_pages_of_one_clock),
        UNIT_IN_DIR(test_missing_rank),   UNIT_IN_DIR(test_alone_or_nowhere),
        UNIT_IN_DIR(test_race),           UNIT_IN_DIR(test_forged_packets),
        UNIT_IN_DIR(test_leader),         UNIT_IN_DIR(test_last_user),
        UNIT_IN_DIR(test_abandoned_page), UNIT_IN_DIR(test_foreign_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
