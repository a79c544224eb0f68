/* Segments without processes go; those that are mapped, or whose process lives, stay. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "rank/ring/segment.h"
#include "unit.h"

static int exists(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "/dev/shm%s", name);
    return access(path, F_OK) == 0;
}

/* A process that has been and is no more. */
static pid_t dead_pid(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

static struct pw_segment_shared *create(char name[PW_SEGMENT_NAME_SIZE], pid_t pid)
{
    struct pw_segment_shared *segment;
    assert_int_equal(pw_segment_create(0, 1 << 16, name, &segment), 0);
    atomic_store(&segment->tool_pid, pid);
    atomic_store(&segment->guard_pid, pid);
    return segment;
}

static void sweeps_segments_without_users(void **state)
{
    (void)state;
    char stale[PW_SEGMENT_NAME_SIZE], mapped[PW_SEGMENT_NAME_SIZE], lives[PW_SEGMENT_NAME_SIZE];
    pid_t dead = dead_pid();
    pw_segment_detach(create(stale, dead));
    struct pw_segment_shared *segment = create(mapped, dead);
    pw_segment_detach(create(lives, getpid()));
    char *listed;
    size_t size;
    FILE *list = open_memstream(&listed, &size);
    assert_int_equal(pw_sweep_segments(list), 1);
    fclose(list);
    char line[PW_SEGMENT_NAME_SIZE + 16];
    snprintf(line, sizeof(line), "/dev/shm%s\n", stale);
    assert_string_equal(listed, line);
    free(listed);
    assert_true(exists(stale));
    int removed = pw_sweep_segments(NULL);
    assert_int_equal(removed, 1);
    assert_false(exists(stale));
    assert_true(exists(mapped));
    assert_true(exists(lives));
    pw_segment_detach(segment);
    pw_sweep_segments(NULL);
    assert_false(exists(mapped));
    shm_unlink(lives);
}

/* Its creator was killed before it had written the header. */
static void sweeps_what_was_never_finished(void **state)
{
    (void)state;
    static const char name[] = "/profwrap-0-0123456789abcdef0123456789abcdef";
    int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    close(fd);
    assert_int_equal(pw_sweep_segments(NULL), 1);
    assert_false(exists(name));
}

static void leaves_other_files(void **state)
{
    (void)state;
    int fd = shm_open("/profwrap-no-segment", O_CREAT | O_RDWR, 0600);
    assert_true(fd >= 0);
    assert_true(pw_sweep_segments(NULL) >= 0);
    assert_true(exists("/profwrap-no-segment"));
    shm_unlink("/profwrap-no-segment");
    close(fd);
}

/* Root's runs beside this test may be about to recover what their killed processes left. */
static int become_somebody(void)
{
    enum { NOBODY_ELSE = 61999 };
    if (getuid() != 0)
        return 0;
    /* A process that changed its ids may not look at its own mappings, but for the second call. */
    return setuid(NOBODY_ELSE) || prctl(PR_SET_DUMPABLE, 1);
}

int main(void)
{
    if (become_somebody())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sweeps_segments_without_users),
        cmocka_unit_test(sweeps_what_was_never_finished),
        cmocka_unit_test(leaves_other_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
