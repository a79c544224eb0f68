/* The memory that a process may take, from files as /proc and /sys have them. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/run/memory.h"

static void put(const char *root, const char *directory, const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof(path), "mkdir -p %s%s", root, directory);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof(path), "%s%s/%s", root, directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_no_limit_when_nothing_is_known(void **state)
{
    assert_int_equal(pw_memory_limit(*state), INT64_MAX);
}

static void test_memory_of_the_machine(void **state)
{
    put(*state, "/proc", "meminfo", "MemTotal:       24684092 kB\nMemFree: 1 kB\n");
    assert_int_equal(pw_memory_limit(*state), INT64_C(24684092) << 10);
    put(*state, "/proc/self", "cgroup", "0::/job/step\n");
    put(*state, "/sys/fs/cgroup/job/step", "memory.max", "max\n");
    assert_int_equal(pw_memory_limit(*state), INT64_C(24684092) << 10);
}

/* The least of those above counts. */
static void test_cgroup_2(void **state)
{
    put(*state, "/proc", "meminfo", "MemTotal: 24684092 kB\n");
    put(*state, "/proc/self", "cgroup", "0::/job/step\n");
    put(*state, "/sys/fs/cgroup/job/step", "memory.max", "8000000\n");
    assert_int_equal(pw_memory_limit(*state), 8000000);
    put(*state, "/sys/fs/cgroup/job", "memory.max", "4000000\n");
    assert_int_equal(pw_memory_limit(*state), 4000000);
    put(*state, "/sys/fs/cgroup", "memory.max", "2000000\n");
    assert_int_equal(pw_memory_limit(*state), 2000000);
}

/* In a container the path is the host's, and its own cgroup is at the mount. */
static void test_cgroup_1(void **state)
{
    put(*state, "/proc/self", "cgroup", "9:name=systemd:/\n4:memory:/docker/5\n0::/\n");
    put(*state, "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "536870912\n");
    assert_int_equal(pw_memory_limit(*state), 536870912);
}

static void test_malformed_files_give_no_limit(void **state)
{
    put(*state, "/proc", "meminfo", "MemTotal: -5 kB\n");
    put(*state, "/proc/self", "cgroup", "\n:\n4:memory\n0::\n");
    put(*state, "/sys/fs/cgroup", "memory.max", "-1\n");
    assert_int_equal(pw_memory_limit(*state), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_no_limit_when_nothing_is_known),
        UNIT_IN_DIR(test_memory_of_the_machine),
        UNIT_IN_DIR(test_cgroup_2),
        UNIT_IN_DIR(test_cgroup_1),
        UNIT_IN_DIR(test_malformed_files_give_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
