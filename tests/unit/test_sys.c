/* Samples of a /proc and /sys made by hand. */
#include "unit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/modules.h"
#include "core/h5/h5reader.h"
#include "core/h5/h5types.h"

enum { PID = 77 };

static void make_dirs(void **state, const char *const *names)
{
    char path[UNIT_PATH];
    for (; *names; names++)
        assert_int_equal(mkdir(unit_path(path, state, *names), 0700), 0);
}

static void put(void **state, const char *name, const char *text)
{
    char path[UNIT_PATH];
    size_t size = 0;
    while (text[size])
        size++;
    unit_write(unit_path(path, state, name), text, size, 0600);
}

/* Two samples by `module` under the directory as root, and a third after `change`, `apart` ns
 * from one to the next; the rows of `table`. */
static void *sample_apart(void **state, const struct pw_module *module, enum pw_table_id table,
                          void (*change)(void **state), int64_t apart, size_t *count)
{
    const struct pw_identity id = {.size = 1, .job = "job", .hostname = "host"};
    const struct pw_rankfile_end end = {.complete = 1, .pid = 1};
    char path[UNIT_PATH];
    struct pw_rankfile *file;
    pw_h5_quiet();
    setenv("PROFWRAP_FSROOT", *state, 1);
    assert_int_equal(pw_rankfile_create(*state, &id, "prog", 1, &file), 0);
    void *collected = module->create(file);
    assert_non_null(collected);
    module->sample(collected, PID, apart);
    module->sample(collected, PID, 2 * apart);
    if (change) {
        change(state);
        module->sample(collected, PID, 3 * apart);
    }
    module->destroy(collected);
    assert_int_equal(pw_rankfile_close(file, &end), 0);
    unsetenv("PROFWRAP_FSROOT");

    hid_t read;
    void *rows;
    assert_int_equal(pw_h5_open(unit_path(path, state, "rank-00000.h5"), &read), 0);
    assert_int_equal(pw_h5_read_all(read, table, &rows, count), 0);
    H5Fclose(read);
    return rows;
}

static void *sample_changing(void **state, const struct pw_module *module, enum pw_table_id table,
                             void (*change)(void **state))
{
    size_t count;
    void *rows = sample_apart(state, module, table, change, 1000, &count);
    assert_int_equal(count, change ? 3 : 2);
    return rows;
}

static void *sample(void **state, const struct pw_module *module, enum pw_table_id table)
{
    return sample_changing(state, module, table, NULL);
}

/* Two workers of a server that the program forked; in the third sample one has ended. */
static const char *const workers[] = {"proc",
                                      "proc/sys",
                                      "proc/sys/kernel",
                                      "proc/77",
                                      "proc/77/task",
                                      "proc/77/task/77",
                                      "proc/77/task/78",
                                      "proc/80",
                                      "proc/80/task",
                                      "proc/80/task/80",
                                      "proc/81",
                                      "proc/82",
                                      NULL};

static void put_worker(void **state, int pid, int user, int io_wait, int read_bytes)
{
    char path[UNIT_PATH], text[400];
    snprintf(path, sizeof(path), "proc/%d/stat", pid);
    snprintf(
        text, sizeof(text),
        "%d (a ) b) S 1 1 1 0 -1 0 0 0 0 0 %d 2 0 0 20 0 1 0 500 4096 3 0 0 0 0 0 0 0 0 0 0 0 0 "
        "0 17 0 0 0 %d 0 0\n",
        pid, user, io_wait);
    put(state, path, text);
    snprintf(path, sizeof(path), "proc/%d/io", pid);
    snprintf(text, sizeof(text), "rchar: %d\nwchar: 5\n", read_bytes);
    put(state, path, text);
}

static void end_worker(void **state)
{
    char path[UNIT_PATH];
    put_worker(state, 81, 100, 9, 7000);
    put(state, "proc/80/task/80/children", "81 ");
    unlink(unit_path(path, state, "proc/82/stat"));
}

static void test_workers(void **state)
{
    const int64_t tick = 1000000000 / sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    make_dirs(state, workers);
    put(state, "proc/sys/kernel/task_delayacct", "1\n");
    put(state, "proc/77/task/77/children", "");
    put(state, "proc/77/task/78/children", "80 ");
    put(state, "proc/80/task/80/children", "81 82 ");
    put_worker(state, 80, 1, 0, 10);
    put_worker(state, 81, 40, 4, 3000);
    put_worker(state, 82, 50, 5, 2000);
    struct pw_row_workers *rows =
        sample_changing(state, &pw_module_workers, PW_TABLE_workers, end_worker);
    assert_int_equal(rows[1].processes, 3);
    assert_int_equal(rows[1].cpu_user_ns, 91 * tick);
    assert_int_equal(rows[1].cpu_sys_ns, 6 * tick);
    assert_int_equal(rows[1].io_wait_ns, 9 * tick);
    assert_int_equal(rows[1].read_bytes, 5010);
    assert_int_equal(rows[1].write_bytes, 15);
    assert_int_equal(rows[1].rss_bytes, 9 * page);
    assert_int_equal(rows[2].processes, 2);
    assert_int_equal(rows[2].cpu_user_ns, (1 + 100 + 50) * tick);
    assert_int_equal(rows[2].read_bytes, 9010);
    assert_int_equal(rows[2].rss_bytes, 6 * page);
    free(rows);
}

static const char *const version_1[] = {"proc",
                                        "proc/77",
                                        "sys",
                                        "sys/fs",
                                        "sys/fs/cgroup",
                                        "sys/fs/cgroup/cpu",
                                        "sys/fs/cgroup/cpu/job",
                                        "sys/fs/cgroup/cpu/job/step",
                                        NULL};
static const char *const version_2[] = {"proc",          "proc/77",           "sys", "sys/fs",
                                        "sys/fs/cgroup", "sys/fs/cgroup/job", NULL};

/* Between the second sample and the third, and not before. */
static void assert_throttled(const struct pw_row_host *rows, int64_t ns)
{
    assert_int_equal(rows[1].throttled_ns, 0);
    assert_int_equal(rows[2].throttled_ns, ns);
}

static void throttle_more(void **state)
{
    put(state, "sys/fs/cgroup/job/cpu.stat", "usage_usec 9\nthrottled_usec 2000\n");
}

static void test_host(void **state)
{
    int64_t tick = 1000000000 / sysconf(_SC_CLK_TCK);
    make_dirs(state, version_2);
    put(state, "proc/stat", "cpu  10 20 30 400 5 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n");
    put(state, "proc/77/cgroup", "0::/job\n");
    put(state, "sys/fs/cgroup/job/cpu.stat", "usage_usec 9\nthrottled_usec 1234\n");
    struct pw_row_host *rows =
        sample_changing(state, &pw_module_host, PW_TABLE_host, throttle_more);
    assert_int_equal(rows[1].busy_ns, (10 + 20 + 30 + 6 + 7) * tick);
    assert_int_equal(rows[1].idle_ns, (400 + 5) * tick);
    assert_int_equal(rows[1].steal_ns, 8 * tick);
    assert_int_equal(rows[1].time, 2000);
    assert_throttled(rows, 766000);
    free(rows);
}

static void throttle_above(void **state)
{
    put(state, "sys/fs/cgroup/cpu/job/cpu.stat", "nr_throttled 4\nthrottled_time 1000\n");
}

/* The quota is on the cgroup above the process's own. */
static void test_quota_above(void **state)
{
    make_dirs(state, version_1);
    put(state, "proc/stat", "intr 1\n");
    put(state, "proc/77/cgroup", "5:memory:/job/step\n4:cpu,cpuacct:/job/step\n0::/\n");
    put(state, "sys/fs/cgroup/cpu/job/step/cpu.stat", "nr_throttled 0\nthrottled_time 0\n");
    put(state, "sys/fs/cgroup/cpu/job/cpu.stat", "nr_throttled 3\nthrottled_time 777\n");
    struct pw_row_host *rows =
        sample_changing(state, &pw_module_host, PW_TABLE_host, throttle_above);
    assert_throttled(rows, 223);
    assert_int_equal(rows[0].busy_ns, -1); /* no line "cpu" */
    free(rows);
}

static void move(void **state)
{
    put(state, "proc/77/cgroup", "0::/job/slow\n");
    put(state, "sys/fs/cgroup/job/cpu.stat", "throttled_usec 5\n");
    put(state, "sys/fs/cgroup/job/slow/cpu.stat", "throttled_usec 3\n");
}

/* What the cgroup that it was moved to had counted before is not the process's. */
static void test_process_that_is_moved(void **state)
{
    make_dirs(state, version_2);
    make_dirs(state, (const char *const[]){"sys/fs/cgroup/job/slow", NULL});
    put(state, "proc/77/cgroup", "0::/job\n");
    put(state, "sys/fs/cgroup/job/cpu.stat", "throttled_usec 1\n");
    struct pw_row_host *rows = sample_changing(state, &pw_module_host, PW_TABLE_host, move);
    assert_throttled(rows, 0);
    free(rows);
}

static void test_host_that_says_nothing(void **state)
{
    struct pw_row_host *rows = sample(state, &pw_module_host, PW_TABLE_host);
    assert_int_equal(rows[0].busy_ns, -1);
    assert_int_equal(rows[0].throttled_ns, -1);
    free(rows);
}

static void test_process(void **state)
{
    int64_t tick = 1000000000 / sysconf(_SC_CLK_TCK);
    make_dirs(state, version_2);
    make_dirs(state, (const char *const[]){"proc/77/task", "proc/77/task/77", NULL});
    put(state, "proc/77/stat",
        "77 (a ) b) R 1 2 3 4 5 6 11 0 12 0 14 15 0 0 20 0 3 0 100 9999 25 26 27 28 29 30 31 32 33 "
        "34 35 36 37 38 39 5 0\n");
    put(state, "proc/77/schedstat", "5000 600 7\n");
    put(state, "proc/77/status",
        "Name:\tx\nvoluntary_ctxt_switches:\t8\n"
        "nonvoluntary_ctxt_switches:\t9\n");
    put(state, "proc/77/io", "rchar: 21\nwchar: 22\nsyscr: 1\n");
    put(state, "proc/77/task/77/stat", "77 (a ) b) R 1 2 3 4 5 6 10 0 9 0 14 15 0 0 20 0\n");
    put(state, "proc/77/task/77/io", "rchar: 20\nwchar: 7\nsyscr: 1\n");
    struct pw_row_process *rows = sample(state, &pw_module_sys, PW_TABLE_process);
    assert_int_equal(rows[1].minor_faults, 11);
    assert_int_equal(rows[1].major_faults, 12);
    assert_int_equal(rows[1].cpu_user_ns, 14 * tick);
    assert_int_equal(rows[1].cpu_sys_ns, 15 * tick);
    assert_int_equal(rows[1].threads, 3);
    assert_int_equal(rows[1].rss_bytes, 25 * sysconf(_SC_PAGESIZE));
    assert_int_equal(rows[1].state, 'R');
    assert_int_equal(rows[1].processor, 5);
    assert_int_equal(rows[1].main_cpu_ns, 5000);
    assert_int_equal(rows[1].runq_wait_ns, 600);
    assert_int_equal(rows[1].voluntary_cs, 8);
    assert_int_equal(rows[1].involuntary_cs, 9);
    assert_int_equal(rows[1].read_bytes, 21);
    assert_int_equal(rows[1].write_bytes, 22);
    assert_int_equal(rows[1].main_read_bytes, 20);
    assert_int_equal(rows[1].main_write_bytes, 7);
    assert_int_equal(rows[1].main_major_faults, 9);
    free(rows);
}

static void bind(void **state)
{
    put(state, "proc/77/status", "Name:\tx\nCpus_allowed_list:\t2\n");
    put(state, "proc/stat",
        "cpu  9 0 0 0 0 0 0 0\ncpu0 9 0 0 0 0 0 0 0\ncpu2 70 0 0 0 0 0 0 0\nintr 1\n");
}

/* Bound to one of the CPUs that it could use before: what that one did until then is not counted.
 */
static void test_cpus(void **state)
{
    make_dirs(state, version_2);
    put(state, "proc/77/status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t0,2-63\n");
    put(state, "proc/stat",
        "cpu  9 0 0 0 0 0 0 0\ncpu0 9 0 0 0 0 0 0 0\ncpu1 9 9 9 9 9 9 9 9\n"
        "cpu2 1 2 3 400 5 6 7 8 0 0\nintr 1\n");
    struct pw_row_cpus *rows = sample_changing(state, &pw_module_host, PW_TABLE_cpus, bind);
    assert_int_equal(rows[1].allowed, 2); /* online are only 0 to 2 */
    assert_int_equal(rows[1].lowest, 0);
    assert_int_equal(rows[1].highest, 2);
    assert_int_equal(rows[1].busy_ns, 0);
    assert_true(rows[0].cpu_set == rows[1].cpu_set);
    assert_int_equal(rows[2].allowed, 1);
    assert_int_equal(rows[2].lowest, 2);
    assert_int_equal(rows[2].busy_ns, 0);
    assert_true(rows[2].cpu_set != rows[1].cpu_set);
    free(rows);
}

static void work_more(void **state)
{
    put(state, "proc/stat",
        "cpu  9 0 0 0 0 0 0 0\ncpu0 900 0 0 0 0 0 0 0\ncpu2 4 2 3 500 5 6 8 8 0 0\nintr 1\n");
}

static void test_busy_cpu(void **state)
{
    int64_t tick = 1000000000 / sysconf(_SC_CLK_TCK);
    make_dirs(state, version_2);
    put(state, "proc/77/status", "Name:\tx\nCpus_allowed_list:\t2\n");
    put(state, "proc/stat",
        "cpu  9 0 0 0 0 0 0 0\ncpu0 9 0 0 0 0 0 0 0\ncpu2 1 2 3 400 5 6 7 8 0 0\nintr 1\n");
    struct pw_row_cpus *rows = sample_changing(state, &pw_module_host, PW_TABLE_cpus, work_more);
    assert_int_equal(rows[1].busy_ns, 0);
    assert_int_equal(rows[2].busy_ns, 4 * tick); /* 3 of user, 1 of softirq time */
    free(rows);
}

/* ---- network cards ---- */

static const char *const network[] = {"proc",
                                      "proc/77",
                                      "proc/77/net",
                                      "sys",
                                      "sys/class",
                                      "sys/class/net",
                                      "sys/class/net/eth0",
                                      "sys/class/net/eth0/device",
                                      "sys/class/infiniband",
                                      "sys/class/infiniband/mlx5_0",
                                      "sys/class/infiniband/mlx5_0/ports",
                                      "sys/class/infiniband/mlx5_0/ports/1",
                                      "sys/class/infiniband/mlx5_0/ports/1/counters",
                                      NULL};

#define PORT "sys/class/infiniband/mlx5_0/ports/1/counters/"

static const char dev_titles[] =
    "Inter-|   Receive                            |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n";

static void put_dev(void **state, const char *lines)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s%s", dev_titles, lines);
    put(state, "proc/77/net/dev", text);
}

static void move_data(void **state)
{
    put_dev(state, "    lo: 9999 9 0 0 0 0 0 0 9999 9 0 0 0 0 0 0\n"
                   "  eth0: 1500 12 1 2 0 0 0 0 700 8 3 4 0 0 0 0\n"
                   "   br0: 1500 12 0 0 0 0 0 0 700 8 0 0 0 0 0 0\n");
    put(state, PORT "port_xmit_data", "260\n");
}

static void assert_card(const struct pw_row_netcard *row, const char *card, int64_t received,
                        int64_t sent)
{
    assert_string_equal(row->card, card);
    assert_int_equal(row->recv_bytes, received);
    assert_int_equal(row->sent_bytes, sent);
}

/* Neither loopback nor a bridge; the second sample is as the first, and has no rows. */
static void test_network_cards(void **state)
{
    size_t n;
    make_dirs(state, network);
    put_dev(state, "    lo: 100 1 0 0 0 0 0 0 100 1 0 0 0 0 0 0\n"
                   "  eth0: 1000 10 1 2 0 0 0 0 500 5 0 0 0 0 0 0\n"
                   "   br0: 1000 10 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n");
    put(state, PORT "port_rcv_data", "100\n"); /* words of 4 bytes */
    put(state, PORT "port_xmit_data", "50\n");
    put(state, PORT "port_rcv_packets", "7\n");
    struct pw_row_netcard *rows =
        sample_apart(state, &pw_module_network, PW_TABLE_netcard, move_data, 1000000000, &n);
    assert_int_equal(n, 4);
    assert_card(&rows[0], "eth0", 1000, 500);
    assert_card(&rows[1], "mlx5_0/1", 400, 200);
    assert_int_equal(rows[1].recv_packets, 7);
    assert_int_equal(rows[1].sent_packets, -1); /* there is no such file */
    assert_card(&rows[2], "eth0", 1500, 700);
    assert_int_equal(rows[2].time, 3000000000);
    assert_int_equal(rows[2].recv_packets, 12);
    assert_int_equal(rows[2].sent_packets, 8);
    assert_int_equal(rows[2].errors, 4);
    assert_int_equal(rows[2].drops, 6);
    assert_card(&rows[3], "mlx5_0/1", 400, 1040);
    free(rows);
}

static void move_more(void **state)
{
    put_dev(state, "  veth1: 20 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n broken\n  x: 1 2\n");
    put(state, PORT "port_xmit_data", "260\n");
}

/* A container's cards have no device; ports are read once a second. */
static void test_cards_without_devices_and_slow_ports(void **state)
{
    size_t n;
    char path[UNIT_PATH];
    make_dirs(state, network);
    rmdir(unit_path(path, state, "sys/class/net/eth0/device"));
    put_dev(state, "  veth1: 10 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    put(state, PORT "port_rcv_data", "100\n");
    put(state, PORT "port_xmit_data", "50\n");
    struct pw_row_netcard *rows =
        sample_apart(state, &pw_module_network, PW_TABLE_netcard, move_more, 1000, &n);
    assert_int_equal(n, 3);
    assert_card(&rows[0], "veth1", 10, 0);
    assert_card(&rows[1], "mlx5_0/1", 400, 200);
    assert_card(&rows[2], "veth1", 20, 0);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_IN_DIR(test_workers),
        UNIT_IN_DIR(test_host),
        UNIT_IN_DIR(test_quota_above),
        UNIT_IN_DIR(test_process_that_is_moved),
        UNIT_IN_DIR(test_host_that_says_nothing),
        UNIT_IN_DIR(test_cpus),
        UNIT_IN_DIR(test_busy_cpu),
        UNIT_IN_DIR(test_process),
        UNIT_IN_DIR(test_network_cards),
        UNIT_IN_DIR(test_cards_without_devices_and_slow_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
