/* Limits that a program registers: each has a state of its own, and their name is one everywhere; what cannot be
 * registered is told, on any thread. */
#include <pthread.h>
#include <stdalign.h>
#include <string.h>

#include "check.h"
#include "taut.h"

static alignas(16) unsigned char memories[2][TAUT_LIMIT_BYTES_MAX];

/* Twice the largest batch, and what its functions were called with. */
struct twice {
    long double aligned;
    uint64_t began_ns;
    uint32_t most, calls;
};

static void twice_begin(void *state, uint64_t now_ns) {
    struct twice *it = state;
    CHECK((uintptr_t)state % alignof(max_align_t) == 0);
    CHECK(it->most == 0 && it->calls == 0 && it->aligned == 0 && it->began_ns == 0);
    it->began_ns = now_ns;
    it->most = 5;
}

static uint32_t twice_limit(void *state) {
    return 2 * ((struct twice *)state)->most;
}

static uint32_t twice_completed(void *state, const taut_limit_batch *batch) {
    struct twice *it = state;
    it->calls++;
    if (batch->units > it->most)
        it->most = batch->units;
    return twice_limit(it);
}

static void twice_reset(void *state, uint64_t now_ns) {
    struct twice *it = state;
    it->most = it->calls + (uint32_t)(now_ns - it->began_ns);
}

static uint32_t count(void *state, const taut_limit_batch *batch) {
    (void)batch;
    return (uint32_t)++*(uint64_t *)state;
}

static uint32_t ten(void *state, const taut_limit_batch *batch) {
    (void)state, (void)batch;
    return 10;
}

static uint32_t units_without_state(void *state, const taut_limit_batch *batch) {
    (void)state;
    return batch->units == 1 ? 0 : UINT32_MAX;
}

static const taut_limit_functions twice = {
    .begin = twice_begin, .limit = twice_limit, .completed = twice_completed, .reset = twice_reset};
static const taut_limit_functions counting = {.completed = count, .in_packets = true};

static taut_limit *make(int at, const char *spec, uint64_t now_ns) {
    char error[256];
    CHECK(taut_limit_size(spec) > 0 && taut_limit_size(spec) <= sizeof memories[at]);
    if (taut_limit_init(memories[at], taut_limit_size(spec), spec, now_ns, error, sizeof error) != TAUT_STATUS_OK) {
        fprintf(stderr, "%s: %s\n", spec, error);
        exit(1);
    }
    return (taut_limit *)(void *)memories[at];
}

static void completes(taut_limit *limit, uint32_t units, uint64_t now_ns) {
    CHECK(taut_limit_queued(limit, units, now_ns) == TAUT_STATUS_OK);
    CHECK(taut_limit_completed(limit, units, false, now_ns) == TAUT_STATUS_OK);
}

static void what_cannot_be_registered_is_told(void) {
    taut_limit_functions empty = {.begin = twice_begin};
    CHECK(taut_limit_register(NULL, "help", &counting, 8) == TAUT_STATUS_NULL);
    CHECK(taut_limit_register("own", NULL, &counting, 8) == TAUT_STATUS_NULL);
    CHECK(taut_limit_register("own", "help", NULL, 8) == TAUT_STATUS_NULL);
    CHECK(taut_limit_register("own", "help", &empty, 8) == TAUT_STATUS_NULL);
    CHECK(taut_limit_register("own", "help", &counting, TAUT_LIMIT_STATE_BYTES_MAX + 1) == TAUT_STATUS_STATE_TOO_LARGE);
    CHECK(taut_limit_register("own", "help", &counting, SIZE_MAX) == TAUT_STATUS_STATE_TOO_LARGE);
    const char *bad[] = {"", "own:2", "own rule", "40k", "\xff", "o\n"};
    for (size_t at = 0; at < sizeof bad / sizeof bad[0]; at++)
        CHECK(taut_limit_register(bad[at], "help", &counting, 8) == TAUT_STATUS_BAD_NAME);
    CHECK(taut_limit_register("dql", "help", &counting, 8) == TAUT_STATUS_NAME_TAKEN);
    CHECK(taut_limit_size("own") == 0 && taut_limit_help(NULL, 0) > 1);
    char error[1024];
    CHECK(taut_limit_init(memories[0], sizeof memories[0], "own", 0, error, sizeof error) == TAUT_STATUS_BAD_SPEC);
}

static void each_limit_has_a_state_of_its_own(void) {
    char name[] = "twice", help[] = "twice the largest batch";
    CHECK(taut_limit_register(name, help, &twice, sizeof(struct twice)) == TAUT_STATUS_OK);
    CHECK(taut_limit_register(name, help, &twice, sizeof(struct twice)) == TAUT_STATUS_NAME_TAKEN);
    memset(name, 'x', sizeof name - 1), memset(help, 'x', sizeof help - 1);

    taut_limit *one = make(0, "twice", 3), *other = make(1, "twice", 4);
    CHECK(taut_limit_value(one) == 10 && taut_limit_room(one) == 10 && !taut_limit_in_packets(one));
    completes(one, 100, 5);
    CHECK(taut_limit_value(one) == 200 && taut_limit_value(other) == 10);
    CHECK(taut_limit_reset(one, 13) == TAUT_STATUS_OK && taut_limit_value(one) == 2 * (1 + 10));
    /* It may be moved by copying. */
    memcpy(memories[1], memories[0], sizeof memories[0]);
    memset(memories[0], 0xaa, sizeof memories[0]);
    completes(other, 50, 20);
    CHECK(taut_limit_value(other) == 100);

    CHECK(taut_limit_in_packets(make(0, "twice:packets", 0)));
    taut_limit *capped = make(0, "twice:packets:2ms", 0);
    for (uint64_t ms = 1; ms <= 200; ms++) {
        CHECK(taut_limit_queued(capped, 100, ms * 1000000) == TAUT_STATUS_OK);
        CHECK(taut_limit_queued(capped, 1, ms * 1000000) == TAUT_STATUS_OK);
        CHECK(taut_limit_completed(capped, taut_limit_in_flight(capped) - 1, false, ms * 1000000 + 900000) == TAUT_STATUS_OK);
    }
    CHECK(taut_limit_value(capped) <= 202);

    char text[1024], small[8], error[1024];
    size_t bytes = taut_limit_help(text, sizeof text);
    CHECK(bytes == strlen(text) + 1 && taut_limit_help(NULL, 0) == bytes);
    CHECK(strstr(text, "  twice         twice the largest batch") && strstr(text, "  dql "));
    CHECK(taut_limit_help(small, sizeof small) == bytes && strlen(small) == sizeof small - 1);
    CHECK(taut_limit_init(memories[0], sizeof memories[0], "nosuch", 0, error, sizeof error) == TAUT_STATUS_BAD_SPEC);
    CHECK(strstr(error, "twice") && strstr(error, "dql"));
    const char *bad[] = {"twice:3", "twice:", "twice:packets:packets", "twice:1h", "twicee", "twic", "Twice"};
    for (size_t at = 0; at < sizeof bad / sizeof bad[0]; at++) {
        CHECK(taut_limit_size(bad[at]) == 0);
        CHECK(taut_limit_init(memories[0], sizeof memories[0], bad[at], 0, error, sizeof error) == TAUT_STATUS_BAD_SPEC);
    }
    CHECK(taut_limit_init(memories[0], taut_limit_size("twice") - 1, "twice", 0, NULL, 0) == TAUT_STATUS_TOO_SMALL);
}

static void functions_that_are_null_have_defaults(void) {
    CHECK(taut_limit_register("counting", "batches so far", &counting, sizeof(uint64_t)) == TAUT_STATUS_OK);
    taut_limit *limit = make(0, "counting", 0);
    CHECK(taut_limit_in_packets(limit) && taut_limit_value(limit) == 0 && taut_limit_room(limit) == 0);
    completes(limit, 1, 1), completes(limit, 1, 2);
    CHECK(taut_limit_value(limit) == 2);
    CHECK(taut_limit_reset(limit, 3) == TAUT_STATUS_OK && taut_limit_value(limit) == 0);
    completes(limit, 1, 4);
    CHECK(taut_limit_value(limit) == 1); /* The state was zeroed. */
    CHECK(taut_limit_size("counting:packets") == 0);

    /* A limit of 0 still lets one object through, and one that is too high is brought down. */
    taut_limit_functions wild = {.completed = units_without_state};
    CHECK(taut_limit_register("wild", "0 or all", &wild, 0) == TAUT_STATUS_OK);
    limit = make(0, "wild", 0);
    completes(limit, 2, 1);
    CHECK(taut_limit_value(limit) == 1879048192u && taut_limit_room(limit) == 1879048192);
    completes(limit, 1, 2);
    CHECK(taut_limit_value(limit) == 0 && taut_limit_room(limit) == 0);
    CHECK(taut_limit_queued(limit, 9, 3) == TAUT_STATUS_OK && taut_limit_room(limit) == -9);

    CHECK(taut_limit_register("large", "", &counting, TAUT_LIMIT_STATE_BYTES_MAX) == TAUT_STATUS_OK);
    make(0, "large:2ms", 0);
    CHECK(taut_limit_size("wild") < taut_limit_size("large"));
}

static uint32_t free_slots(void *ring) { return 8 - *(uint32_t *)ring; }
static bool submit(void *ring, const taut_packet *packet, uint64_t now_ns) {
    (void)packet, (void)now_ns;
    ++*(uint32_t *)ring;
    return true;
}
static int32_t kick(void *ring, uint64_t now_ns) { return (void)ring, (void)now_ns, 0; }
static int32_t reap(void *ring, uint32_t *frames, uint32_t budget, uint64_t now_ns) {
    static uint32_t next;
    int32_t done = 0;
    for ((void)now_ns; *(uint32_t *)ring > 0 && (uint32_t)done < budget; --*(uint32_t *)ring)
        frames[done++] = next++;
    return done;
}
static void frame_done(void *sink, uint32_t frame, uint32_t outcome) {
    (void)frame;
    *(uint32_t *)sink += outcome == TAUT_OUTCOME_COMPLETED;
}

/* Under "counting", a queue sends one packet, then one, then two more, and so on. */
static void a_registered_limit_holds_a_queue(void) {
    uint32_t in_ring = 0, done = 0;
    taut_ring ring = {.context = &in_ring, .capacity_slots = 8, .slots_free = free_slots, .submit = submit, .kick = kick, .reap = reap};
    taut_sink sink = {.context = &done, .frame_done = frame_done};
    char error[256];
    taut_queue *queue = taut_queue_new("pfifo limit 100", "counting", &ring, &sink, 100, NULL, 0, error, sizeof error);
    CHECK(queue != NULL);
    for (uint32_t frame = 0; frame < 20; frame++) {
        taut_packet packet = {.frame = frame, .bytes = 1000};
        CHECK(taut_queue_enqueue(queue, &packet, 0) == TAUT_STATUS_OK);
    }
    for (uint32_t batch = 0; batch < 4; batch++) {
        CHECK(taut_queue_run(queue, batch, NULL) == TAUT_STOPPED_LIMIT);
        CHECK(in_ring == batch + 1);
        CHECK(taut_queue_complete(queue, batch, NULL) == TAUT_STATUS_OK);
    }
    CHECK(done == 1 + 2 + 3 + 4);
    CHECK(taut_queue_free(queue, 9) == TAUT_STATUS_OK);
    CHECK(taut_queue_new("pfifo", "counting:3", &ring, &sink, 100, NULL, 0, error, sizeof error) == NULL);
    CHECK(strstr(error, "nothing after its name") != NULL);
}

/* Registers from its own `begin`: no lock is held there. */
static void nested_begin(void *state, uint64_t now_ns) {
    (void)state, (void)now_ns;
    taut_limit_register("inner", "", &counting, 8);
}

static void *register_and_create(void *winners) {
    static const char *names[] = {"race0", "race1", "race2", "race3", "race4", "race5", "race6", "race7"};
    uint32_t wins = 0;
    for (size_t at = 0; at < 8; at++) {
        taut_status status = taut_limit_register(names[at], "a race", &counting, 8);
        CHECK(status == TAUT_STATUS_OK || status == TAUT_STATUS_NAME_TAKEN);
        wins += status == TAUT_STATUS_OK;
        /* Whoever registered it: the name is there. */
        alignas(16) unsigned char memory[1024];
        CHECK(taut_limit_init(memory, sizeof memory, names[at], 0, NULL, 0) == TAUT_STATUS_OK);
        completes((taut_limit *)(void *)memory, 1, 1);
        CHECK(taut_limit_size("dql") > 0 && taut_limit_help(NULL, 0) > 0);
    }
    *(uint32_t *)winners = wins;
    return NULL;
}

static void threads_may_register_at_the_same_time(void) {
    taut_limit_functions nested = {.begin = nested_begin, .completed = ten};
    CHECK(taut_limit_register("nested", "", &nested, 0) == TAUT_STATUS_OK);
    make(0, "nested", 0);
    make(0, "inner", 0);
    pthread_t threads[4];
    uint32_t wins[4], all = 0;
    for (int at = 0; at < 4; at++)
        CHECK(pthread_create(&threads[at], NULL, register_and_create, &wins[at]) == 0);
    for (int at = 0; at < 4; at++) {
        CHECK(pthread_join(threads[at], NULL) == 0);
        all += wins[at];
    }
    CHECK(all == 8);
}

int main(void) {
    what_cannot_be_registered_is_told();
    each_limit_has_a_state_of_its_own();
    functions_that_are_null_have_defaults();
    a_registered_limit_holds_a_queue();
    threads_may_register_at_the_same_time();
    return 0;
}
