/* Clock measurements between collectors: how they find each other, and that the bounds of the
 * measurements contain the true offset. */
#include "unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "rank/clocks/clockprobe.h"
#include "rank/clocks/packet.h"
#include "rank/clocks/rendezvous.h"
#include "rank/ring/tick.h"

/* The example of the paper's appendix A: key 00 01 .. 0f, message 00 01 .. 0e. */
static void test_siphash(void **state)
{
    (void)state;
    unsigned char key[16], message[15];
    for (unsigned i = 0; i < 16; i++)
        key[i] = (unsigned char)i;
    memcpy(message, key, sizeof(message));
    assert_true(pw_siphash(key, message, 15) == UINT64_C(0xa129ca6149be45e5));
    message[3] ^= 1;
    assert_false(pw_siphash(key, message, 15) == UINT64_C(0xa129ca6149be45e5));
}

/* Two domains in one directory: one reference, one service, one key. */
static void test_rendezvous(void **state)
{
    struct pw_rendezvous a = {.domain = 1}, b = {.domain = 2};
    struct sockaddr_in service = {.sin_port = htons(4711)}, found;
    unsigned char key[PW_KEY_BYTES], again[PW_KEY_BYTES];
    struct in_addr own;
    snprintf(a.dir, sizeof(a.dir), "%s", (char *)*state);
    snprintf(b.dir, sizeof(b.dir), "%s", (char *)*state);
    assert_int_equal(pw_rendezvous_is_reference(&a), -1);
    pw_rendezvous_claim_reference(&a);
    assert_int_equal(pw_rendezvous_is_reference(&a), 1);
    assert_int_equal(pw_rendezvous_is_reference(&b), 0);
    assert_int_equal(pw_rendezvous_lead(&a), 0);
    assert_int_equal(pw_rendezvous_lead(&a), -EEXIST);
    assert_int_equal(pw_rendezvous_find_peer(&a, &own), -ENOENT); /* alone: nothing may listen */
    assert_int_equal(pw_rendezvous_lead(&b), 0);
    assert_int_equal(pw_rendezvous_find_peer(&a, &own), 0);
    assert_int_equal(pw_rendezvous_find_service(&b, PW_SERVICE_PROBES, &found), -ENOENT);
    service.sin_addr = own;
    assert_int_equal(pw_rendezvous_publish(&a, PW_SERVICE_PROBES, &service), 0);
    assert_int_equal(pw_rendezvous_find_service(&b, PW_SERVICE_PROBES, &found), 0);
    assert_int_equal(found.sin_port, service.sin_port);
    assert_int_equal(found.sin_addr.s_addr, own.s_addr);
    service.sin_port = htons(4712);
    assert_int_equal(pw_rendezvous_publish(&a, PW_SERVICE_PROBES, &service), 0); /* replaces it */
    assert_int_equal(pw_rendezvous_find_service(&b, PW_SERVICE_PROBES, &found), 0);
    assert_int_equal(found.sin_port, service.sin_port);
    assert_int_equal(pw_rendezvous_key(&a, key), 0);
    assert_int_equal(pw_rendezvous_key(&b, again), 0);
    assert_memory_equal(key, again, sizeof(key));
    char path[UNIT_PATH];
    assert_int_equal(chmod(unit_path(path, state, ".clock-key"), 0644), 0);
    assert_int_equal(pw_rendezvous_key(&b, again), -EPERM);
    pw_rendezvous_leave(&a);
    assert_int_equal(pw_rendezvous_lead(&a), 0);
    pw_rendezvous_remove(a.dir);
    assert_int_equal(access(path, F_OK), -1);
}

static int count_files(const char *dir)
{
    int n = 0;
    DIR *stream = opendir(dir);
    assert_non_null(stream);
    for (struct dirent *e = readdir(stream); e; e = readdir(stream))
        n += strncmp(e->d_name, ".clock-", 7) == 0;
    closedir(stream);
    return n;
}

/* Rank 0 does not remove the links of many hosts, which remove their own. */
static void test_bounded_removal(void **state)
{
    enum { MORE = 10 };
    struct pw_rendezvous r = {.domain = 1};
    snprintf(r.dir, sizeof(r.dir), "%s", (char *)*state);
    pw_rendezvous_claim_reference(&r);
    for (; r.domain <= PW_RENDEZVOUS_REMOVE_MOST + MORE; r.domain++)
        assert_int_equal(pw_rendezvous_lead(&r), 0);
    pw_rendezvous_remove(r.dir);
    assert_int_equal(pw_rendezvous_is_reference(&r), -1);
    assert_int_equal(count_files(r.dir), MORE);
    pw_rendezvous_remove(r.dir);
    assert_int_equal(count_files(r.dir), 0);
}

struct forged {
    uint64_t magic, kind, nonce;
    int64_t time_ns;
    uint64_t code;
};

/* Sends packets that are not the job's to its service: none is answered. */
static void send_rubbish(const struct pw_rendezvous *r)
{
    struct sockaddr_in service;
    struct forged packet = {UINT64_C(0x31636f6c63775250), 1, 5, 0, 77}, answer;
    for (int i = 0; pw_rendezvous_find_service(r, PW_SERVICE_PROBES, &service) && i < 5000; i++)
        usleep(1000);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct timeval limit = {.tv_usec = 100000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    for (size_t size = 0; size <= sizeof(packet); size += 8)
        sendto(fd, &packet, size, 0, (struct sockaddr *)&service, sizeof(service));
    assert_int_equal(recv(fd, &answer, sizeof(answer), 0), -1);
    close(fd);
}

/* Fewer than the budget of any time that this can take are looked at, and none that the kernel
 * drops; probes are answered in between and afterwards. */
static void flood(const struct pw_rendezvous *r, uint64_t magic, int n)
{
    struct sockaddr_in service;
    struct forged packet = {magic, 1, 5, 0, 77};
    for (int i = 0; pw_rendezvous_find_service(r, PW_SERVICE_PROBES, &service) && i < 5000; i++)
        usleep(1000);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    for (int i = 0; i < n; i++) {
        packet.nonce = (uint64_t)i;
        sendto(fd, &packet, sizeof(packet), 0, (struct sockaddr *)&service, sizeof(service));
    }
    close(fd);
}

static int await_knots(struct pw_clockprobe *client, int wanted)
{
    struct pw_row_clock knot;
    int knots = 0;
    for (int i = 0; i < 3000 && knots < wanted; i++) {
        knots += pw_clockprobe_take(client, &knot);
        usleep(10000);
    }
    return knots;
}

static void end(struct pw_clockprobe *probe, struct pw_clockprobe_cost *cost)
{
    pw_clockprobe_stop(probe, cost);
    pw_clockprobe_destroy(probe);
}

static void test_flood(void **state)
{
    enum { PACKETS = 20000, PER_S = 1000, SPARE = 200 };
    struct pw_identity reference = {.rank = 0, .size = 2, .clock_domain_hash = 1};
    struct pw_identity other = {.rank = 1, .size = 2, .clock_domain_hash = 2};
    struct pw_testclock right = {0};
    struct pw_clockprobe *server, *client;
    struct pw_clockprobe_cost cost;
    struct pw_rendezvous r = {.domain = 3};
    unsigned char key[PW_KEY_BYTES];
    snprintf(r.dir, sizeof(r.dir), "%s", (char *)*state);
    for (int knows = 0; knows < 2; knows++) {
        const int64_t began = pw_local_ns();
        assert_int_equal(pw_clockprobe_start(r.dir, &reference, &right, 50000000, &server), 0);
        assert_int_equal(pw_clockprobe_start(r.dir, &other, &right, 50000000, &client), 0);
        assert_int_equal(pw_rendezvous_key(&r, key), 0);
        assert_int_equal(await_knots(client, 1), 1);
        flood(&r, pw_clockprobe_magic(key) ^ (knows ? 0 : 1), PACKETS);
        assert_int_equal(await_knots(client, 2), 2);
        end(client, &cost);
        end(server, &cost);
        const double seconds = 1e-9 * (double)(pw_local_ns() - began);
        if (knows)
            assert_true(cost.refused > 0 && (double)cost.refused < PER_S * seconds + SPARE);
        else
            assert_int_equal(cost.refused, 0); /* the kernel has dropped all of them */
        pw_rendezvous_remove(r.dir);
    }
}

/* Two collectors, one whose clock is 5 ms ahead: its knots hold the truth. */
static void test_probe(void **state)
{
    struct pw_identity reference = {.rank = 0, .size = 2, .clock_domain_hash = 1};
    struct pw_identity other = {.rank = 1, .size = 2, .clock_domain_hash = 2};
    struct pw_testclock right = {0}, ahead = {1, 5000000, 0, 0};
    struct pw_clockprobe *server, *client, *third;
    struct pw_clockprobe_cost cost;
    struct pw_row_clock knot;
    struct pw_rendezvous r = {.domain = 3};
    snprintf(r.dir, sizeof(r.dir), "%s", (char *)*state);
    const int64_t interval = 50000000;
    assert_int_equal(pw_clockprobe_start(r.dir, &reference, &right, interval, &server), 0);
    assert_int_equal(pw_clockprobe_start(r.dir, &other, &ahead, interval, &client), 0);
    assert_int_equal(pw_clockprobe_start(r.dir, &other, &ahead, interval, &third), 0);
    assert_non_null(server);
    assert_non_null(client);
    assert_null(third); /* its domain has a leader */
    send_rubbish(&r);
    int knots = 0;
    for (int i = 0; i < 1000 && knots < 3; i++) {
        for (; pw_clockprobe_take(client, &knot); knots++) {
            int64_t error = knot.offset_ns + 5000000;
            assert_true((error < 0 ? -error : error) <= knot.error_ns);
        }
        usleep(10000);
    }
    assert_true(knots >= 3);
    assert_int_equal(pw_clockprobe_take(server, &knot), 0);
    end(client, &cost);
    assert_true(cost.exchanges >= 90 && cost.cpu_ns > 0);
    end(server, &cost);
    assert_true(cost.exchanges >= 90);
    for (r.domain = 1; r.domain <= 2; r.domain++)
        assert_int_equal(pw_rendezvous_lead(&r), 0); /* their links were removed */
    pw_rendezvous_remove(r.dir);
    end(NULL, &cost);
    assert_int_equal(cost.exchanges, 0);
    /* One rank, or an interval of 0: nothing begins. */
    reference.size = 1;
    assert_int_equal(pw_clockprobe_start(r.dir, &reference, &right, interval, &server), 0);
    assert_null(server);
    assert_int_equal(pw_clockprobe_start(r.dir, &other, &right, 0, &server), 0);
    assert_null(server);
}

/* In a run that is shorter than the interval, knots are measured as soon as the two collectors have
 * found each other, when the collector asks for it, and at the end, in this order. After the
 * reference has ended, the end is not delayed. */
static void test_moments(void **state)
{
    struct pw_identity reference = {.rank = 0, .size = 2, .clock_domain_hash = 1};
    struct pw_identity other = {.rank = 1, .size = 2, .clock_domain_hash = 2};
    struct pw_testclock right = {0};
    struct pw_clockprobe *server, *client;
    struct pw_clockprobe_cost cost;
    struct pw_row_clock knot;
    const int64_t hour = INT64_C(3600000000000), ms = 1000000;
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        assert_int_equal(pw_clockprobe_start(*state, &reference, &right, hour, &server), 0);
        assert_int_equal(pw_clockprobe_start(*state, &other, &right, hour, &client), 0);
        assert_int_equal(await_knots(client, 1), 1);
        const int64_t asked = pw_local_ns();
        pw_clockprobe_ask(client);
        while (!pw_clockprobe_take(client, &knot))
            usleep(1000);
        assert_true(knot.local_ns > asked);
        if (is_alone)
            end(server, &cost);
        const int64_t ended = pw_local_ns();
        pw_clockprobe_stop(client, &cost);
        assert_true(!is_alone || pw_local_ns() - ended < 1000 * ms);
        assert_int_equal(pw_clockprobe_take(client, &knot), !is_alone);
        assert_true(is_alone || knot.local_ns > ended);
        assert_int_equal(pw_clockprobe_take(client, &knot), 0);
        pw_clockprobe_destroy(client);
        if (!is_alone)
            end(server, &cost);
        pw_rendezvous_remove(*state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_siphash),    UNIT_IN_DIR(test_rendezvous),
        UNIT_IN_DIR(test_bounded_removal), UNIT_IN_DIR(test_probe),
        UNIT_IN_DIR(test_flood),           UNIT_IN_DIR(test_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
