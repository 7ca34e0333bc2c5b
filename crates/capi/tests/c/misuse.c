/* Misuse of queues and of objects in the caller's memory returns a status. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "check.h"
#include "taut.h"

enum { CYCLES = 70000, OPEN = 300, CALLS = 2000 };

static uint32_t done_frames;
static atomic_uint callbacks;

static uint32_t slots_free(void *ring) { (void)ring; return 1; }
static bool submit(void *ring, const taut_packet *packet, uint64_t now_ns) {
    (void)ring, (void)packet, (void)now_ns;
    return true;
}
static int32_t kick(void *ring, uint64_t now_ns) { (void)ring, (void)now_ns; return 0; }
static int32_t reap(void *ring, uint32_t *frames, uint32_t budget, uint64_t now_ns) {
    (void)ring, (void)frames, (void)budget, (void)now_ns;
    atomic_fetch_add(&callbacks, 1);
    return 0;
}
static void frame_done(void *sink, uint32_t frame, uint32_t outcome) {
    (void)sink, (void)frame, (void)outcome;
    done_frames++;
}

static taut_queue *make(const char *limit) {
    taut_ring ring = {.capacity_slots = 1, .slots_free = slots_free, .submit = submit, .kick = kick, .reap = reap};
    taut_sink sink = {.frame_done = frame_done};
    return taut_queue_new("pfifo", limit, &ring, &sink, 2, NULL, 0, NULL, 0);
}

/* Each function rejects the pointer. */
static void rejects(taut_queue *queue, taut_status status) {
    taut_packet packet = {.bytes = 100};
    taut_queue_stats stats;
    taut_completed completed;
    uint64_t value;
    CHECK(taut_queue_enqueue(queue, &packet, 0) == status);
    CHECK(taut_queue_run(queue, 0, &value) == TAUT_STOPPED_INVALID && value == 0);
    CHECK(taut_queue_complete(queue, 0, &completed) == status && completed.packets == 0);
    CHECK(taut_queue_next_wakeup_ns(queue) == UINT64_MAX);
    CHECK(taut_queue_reset(queue, 0) == status);
    CHECK(taut_queue_set(queue, "limit", "1", NULL, 0) == status);
    CHECK(taut_queue_repair(queue, 0, 0, 0, NULL) == status);
    CHECK(taut_queue_read_stats(queue, &stats) == status);
    CHECK(taut_queue_driver_error(queue) == 0);
    CHECK(taut_queue_free(queue, 0) == status);
}

static void pointers_that_are_not_queues(void) {
    uint64_t zeros[64] = {0};
    uint64_t noise = 88172645463325252u;
    taut_dql dql;
    taut_queue *live = make("dql");
    CHECK(live != NULL && taut_dql_init(&dql, NULL, 0) == TAUT_STATUS_OK);
    rejects(NULL, TAUT_STATUS_NULL);
    rejects((taut_queue *)(void *)zeros, TAUT_STATUS_BAD_HANDLE);
    rejects((taut_queue *)(void *)&dql, TAUT_STATUS_BAD_HANDLE);
    rejects((taut_queue *)(void *)&live, TAUT_STATUS_BAD_HANDLE);
    rejects((taut_queue *)UINTPTR_MAX, TAUT_STATUS_BAD_HANDLE);
    rejects((taut_queue *)((uintptr_t)live - 1), TAUT_STATUS_BAD_HANDLE);
    for (uintptr_t near = 1; near < 100; near++)
        rejects((taut_queue *)((uintptr_t)live + near), TAUT_STATUS_BAD_HANDLE);
    for (int at = 0; at < 1000; at++) {
        noise ^= noise << 13, noise ^= noise >> 7, noise ^= noise << 17;
        if ((uintptr_t)noise != (uintptr_t)live)
            rejects((taut_queue *)(uintptr_t)noise, TAUT_STATUS_BAD_HANDLE);
    }
    CHECK(taut_queue_reset(live, 0) == TAUT_STATUS_OK);
    CHECK(taut_queue_free(live, 0) == TAUT_STATUS_OK);
}

static void freed_queues(void) {
    taut_packet packet = {.bytes = 100};
    taut_queue *old = make("dql");
    CHECK(taut_queue_enqueue(old, &packet, 0) == TAUT_STATUS_OK);
    CHECK(taut_queue_free(old, 0) == TAUT_STATUS_OK && done_frames == 1);
    rejects(old, TAUT_STATUS_BAD_HANDLE);
    CHECK(done_frames == 1);
    /* A new queue in its place does not revive it. */
    taut_queue *new = make("dql");
    rejects(old, TAUT_STATUS_BAD_HANDLE);
    CHECK(taut_queue_reset(new, 0) == TAUT_STATUS_OK && taut_queue_free(new, 0) == TAUT_STATUS_OK);
}

static void many_queues(void) {
    static taut_queue *open[OPEN];
    taut_queue *first = make("40k");
    CHECK(taut_queue_free(first, 0) == TAUT_STATUS_OK);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        taut_queue *queue = make("40k");
        CHECK(queue != NULL && queue != first);
        CHECK(taut_queue_free(queue, 0) == TAUT_STATUS_OK);
        CHECK(taut_queue_free(queue, 0) == TAUT_STATUS_BAD_HANDLE);
        CHECK(taut_queue_reset(first, 0) == TAUT_STATUS_BAD_HANDLE);
    }
    for (int at = 0; at < OPEN; at++) {
        open[at] = make("40k");
        CHECK(open[at] != NULL && (at == 0 || open[at] != open[at - 1]));
    }
    for (int at = 0; at < OPEN; at++)
        CHECK(taut_queue_free(open[at], 0) == TAUT_STATUS_OK);
}

/* Calls and a free from several threads: each call returns, and one free succeeds. */
static void *call(void *queue) {
    for (int at = 0; at < CALLS; at++) {
        taut_status status = taut_queue_complete(queue, 0, NULL);
        CHECK(status == TAUT_STATUS_OK || status == TAUT_STATUS_BUSY || status == TAUT_STATUS_BAD_HANDLE);
    }
    for (;;) {
        taut_status status = taut_queue_free(queue, 0);
        if (status == TAUT_STATUS_BUSY)
            continue;
        CHECK(status == TAUT_STATUS_OK || status == TAUT_STATUS_BAD_HANDLE);
        return status == TAUT_STATUS_OK ? queue : NULL;
    }
}

static void several_threads(void) {
    for (int round = 0; round < 20; round++) {
        pthread_t threads[3];
        taut_queue *queue = make("dql");
        int freed = 0;
        for (int at = 0; at < 3; at++)
            CHECK(pthread_create(&threads[at], NULL, call, queue) == 0);
        for (int at = 0; at < 3; at++) {
            void *result;
            CHECK(pthread_join(threads[at], &result) == 0);
            freed += result != NULL;
        }
        CHECK(freed == 1);
    }
    CHECK(atomic_load(&callbacks) > 0);
}

static void objects_of_another_kind(void) {
    union {
        taut_dql dql;
        taut_coalescer coalescer;
        taut_stall_detector detector;
        taut_sender sender;
        taut_completer completer;
        unsigned char bytes[1024];
    } memory;
    static uint64_t words[1024];
    uint64_t *aligned = words + ((uintptr_t)words % 16 != 0);
    taut_limit *limit = (taut_limit *)(void *)aligned;
    uint32_t units;
    for (int content = 0; content < 4; content++) {
        if (content < 2)
            memset(&memory, content == 0 ? 0 : 0xff, sizeof memory);
        else if (content == 2)
            CHECK(taut_coalescer_init(&memory.coalescer, 0) == TAUT_STATUS_OK);
        else
            CHECK(taut_stall_detector_init(&memory.detector, 0) == TAUT_STATUS_OK);
        memcpy(aligned, &memory, sizeof memory);
        CHECK(taut_dql_queued(&memory.dql, 1) == TAUT_STATUS_NOT_INITIALISED);
        CHECK(taut_sender_queued(&memory.sender, 1) == TAUT_STATUS_NOT_INITIALISED);
        CHECK(taut_completer_completed(&memory.completer, 1, 0) == TAUT_STATUS_NOT_INITIALISED);
        CHECK(taut_limit_queued(limit, 1, 0) == TAUT_STATUS_NOT_INITIALISED);
        if (content != 2)
            CHECK(taut_coalescer_poll(&memory.coalescer, 0, &units) == TAUT_STATUS_NOT_INITIALISED);
        if (content != 3)
            CHECK(taut_stall_detector_reset(&memory.detector) == TAUT_STATUS_NOT_INITIALISED);
    }
    /* A copy of a limit must be aligned as the limit. */
    CHECK(taut_limit_init(aligned, 4096, "taut", 0, NULL, 0) == TAUT_STATUS_OK);
    memmove(aligned + 1, aligned, 4096);
    CHECK(taut_limit_queued((taut_limit *)(void *)(aligned + 1), 1, 0) == TAUT_STATUS_MISALIGNED);
    CHECK(taut_limit_unlimited((taut_limit *)(void *)(aligned + 1)) == false);
}

static void unlimited_is_explicit(void) {
    taut_queue_stats stats;
    taut_queue *queue = make("off");
    CHECK(taut_queue_read_stats(queue, &stats) == TAUT_STATUS_OK);
    CHECK(stats.unlimited && !stats.early_completions && stats.limit == TAUT_LIMIT_MAX);
    CHECK(taut_queue_set(queue, "limit", "3000", NULL, 0) == TAUT_STATUS_OK);
    CHECK(taut_queue_read_stats(queue, &stats) == TAUT_STATUS_OK);
    CHECK(!stats.unlimited && stats.limit == 3000);
    CHECK(taut_queue_free(queue, 0) == TAUT_STATUS_OK);
    /* A learnt limit of 0 is a limit: it admits single objects. */
    queue = make("dql");
    CHECK(taut_queue_read_stats(queue, &stats) == TAUT_STATUS_OK);
    CHECK(!stats.unlimited && stats.limit == 0);
    CHECK(taut_queue_free(queue, 0) == TAUT_STATUS_OK);
    static uint64_t words[1024];
    taut_limit *limit = (taut_limit *)(void *)(words + ((uintptr_t)words % 16 != 0));
    CHECK(taut_limit_init(limit, 4096, "off", 0, NULL, 0) == TAUT_STATUS_OK && taut_limit_unlimited(limit));
    CHECK(taut_limit_init(limit, 4096, "dql", 0, NULL, 0) == TAUT_STATUS_OK && !taut_limit_unlimited(limit));
    CHECK(!taut_limit_unlimited(NULL));
}

int main(void) {
    pointers_that_are_not_queues();
    freed_queues();
    many_queues();
    several_threads();
    objects_of_another_kind();
    unlimited_is_explicit();
    return 0;
}
