/* Two threads: one queues, the other completes, and at the end the books agree. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"
#include "taut.h"

enum { OBJECTS = 200000, BYTES = 1500 };

static taut_shared shared;
static taut_sender sender;
static taut_completer completer;
static atomic_uint in_device;

TAUT_ASSERT(sizeof(taut_dql) == 8 * TAUT_DQL_WORDS);
TAUT_ASSERT(sizeof(taut_sender) == 8 * TAUT_SENDER_WORDS);
TAUT_ASSERT(sizeof(taut_completer) == 8 * TAUT_COMPLETER_WORDS);
TAUT_ASSERT(sizeof(taut_packet) == 16);

static void *complete(void *nothing) {
    uint64_t now_ns = 0;
    for (unsigned left = OBJECTS; left > 0;) {
        unsigned finished = atomic_exchange(&in_device, 0);
        if (finished == 0)
            continue;
        now_ns += 100000;
        CHECK(taut_completer_completed(&completer, finished * BYTES, now_ns) == TAUT_STATUS_OK);
        left -= finished;
    }
    return nothing;
}

int main(void) {
    pthread_t thread;
    CHECK(taut_split(&shared, NULL, 0, &sender, &completer) == TAUT_STATUS_OK);
    CHECK(pthread_create(&thread, NULL, complete, NULL) == 0);
    for (unsigned sent = 0; sent < OBJECTS;) {
        if (taut_sender_room(&sender) < 0)
            continue;
        CHECK(taut_sender_queued(&sender, BYTES) == TAUT_STATUS_OK);
        atomic_fetch_add(&in_device, 1);
        sent++;
    }
    CHECK(pthread_join(thread, NULL) == 0);
    taut_snapshot now;
    CHECK(taut_completer_read(&completer, &now) == TAUT_STATUS_OK);
    CHECK(now.in_flight == 0 && now.num_queued == (uint32_t)OBJECTS * BYTES);
    CHECK(taut_completer_completed(&completer, 1, 0) == TAUT_STATUS_OVER_COMPLETION);
    taut_config config = taut_config_default();
    config.limit_max = 3000;
    CHECK(taut_completer_set_config(&completer, &config) == TAUT_STATUS_OK);
    config.limit_min = 3001;
    CHECK(taut_completer_set_config(&completer, &config) == TAUT_STATUS_MIN_ABOVE_MAX);
    CHECK(taut_sender_queued(&sender, BYTES) == TAUT_STATUS_OK);
    uint32_t done = 0;
    CHECK(taut_completer_observe_in_flight(&completer, 500, 1, &done) == TAUT_STATUS_OK && done == BYTES - 500);
    CHECK(taut_completer_read(&completer, &now) == TAUT_STATUS_OK && now.limit_max == 3000);
    CHECK(taut_halves_reset(&sender, &completer, 0) == TAUT_STATUS_OK);
    taut_snapshot after;
    CHECK(taut_completer_read(&completer, &after) == TAUT_STATUS_OK);
    CHECK(after.epoch == now.epoch + 1 && after.num_queued == 0);
    return 0;
}
