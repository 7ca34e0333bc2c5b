/* Rules by their names in memory of the caller: each keeps less in flight than without it, invalid
 * specs and memory are reported, and no heap is needed. */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "taut.h"

static alignas(16) unsigned char memory[TAUT_LIMIT_BYTES_MAX];
static char error[256];

/* A device that sends 10 objects of 1,000 bytes in a millisecond, behind a sender that always has more. */
static uint32_t settle(const char *spec) {
    taut_limit *limit = (taut_limit *)(void *)memory;
    CHECK(taut_limit_size(spec) <= sizeof memory);
    CHECK(taut_limit_init(memory, sizeof memory, spec, 0, error, sizeof error) == TAUT_STATUS_OK);
    uint32_t unit = taut_limit_in_packets(limit) ? 1 : 1000;
    for (uint64_t ms = 1; ms <= 5000; ms++) {
        uint64_t now_ns = ms * 1000000;
        while (taut_limit_room(limit) >= 0 && taut_limit_in_flight(limit) < 1000 * unit)
            CHECK(taut_limit_queued(limit, unit, now_ns) == TAUT_STATUS_OK);
        CHECK(taut_limit_blocked(limit) == TAUT_STATUS_OK);
        uint32_t done = taut_limit_in_flight(limit) < 10 * unit ? taut_limit_in_flight(limit) : 10 * unit;
        CHECK(taut_limit_completed(limit, done, false, now_ns + 900000) == TAUT_STATUS_OK);
    }
    return taut_limit_value(limit) / unit;
}

int main(void) {
    CHECK(taut_limit_align() <= 16);
    const char *moving[] = {"dql", "taut", "taut:99.5%", "dql:2ms", "taut:5ms", "dql:packets", "taut:99.5%:packets:2ms"};
    for (size_t at = 0; at < sizeof moving / sizeof moving[0]; at++) {
        uint32_t objects = settle(moving[at]);
        if (objects < 8 || objects > 25) {
            fprintf(stderr, "%s: %u objects\n", moving[at], objects);
            return 1;
        }
    }
    CHECK(settle("40k") == 40);
    CHECK(settle("7p") == 7);
    CHECK(taut_limit_size("dql") < taut_limit_size("taut"));

    CHECK(taut_limit_size("dqll") == 0);
    CHECK(taut_limit_init(memory, sizeof memory, "dqll", 0, error, sizeof error) == TAUT_STATUS_BAD_SPEC);
    CHECK(strstr(error, "allowed: off, dql") != NULL);
    char small[8];
    CHECK(taut_limit_init(memory, sizeof memory, "dqll", 0, small, sizeof small) == TAUT_STATUS_BAD_SPEC);
    CHECK(strlen(small) == sizeof small - 1);
    CHECK(taut_limit_init(memory, 8, "dql", 0, NULL, 0) == TAUT_STATUS_TOO_SMALL);
    CHECK(taut_limit_init(memory + 8, sizeof memory - 8, "dql", 0, NULL, 0) == TAUT_STATUS_MISALIGNED);
    CHECK(taut_limit_init(NULL, sizeof memory, "dql", 0, NULL, 0) == TAUT_STATUS_NULL);
    CHECK(taut_limit_init(memory, sizeof memory, NULL, 0, NULL, 0) == TAUT_STATUS_NULL);

    memset(memory, 0, sizeof memory);
    taut_limit *nothing = (taut_limit *)(void *)memory;
    CHECK(taut_limit_queued(nothing, 1, 0) == TAUT_STATUS_NOT_INITIALISED);
    CHECK(taut_limit_room(nothing) == INT64_MIN);
    CHECK(taut_limit_room(NULL) == INT64_MIN);
    settle("dql");
    CHECK(taut_limit_completed(nothing, 4000000000u, false, 6000000000) == TAUT_STATUS_OVER_COMPLETION);
    taut_config config;
    CHECK(taut_limit_config(nothing, &config) == TAUT_STATUS_OK && config.hold_time_ns == 1000000000);
    config.limit_min = 1, config.limit_max = 0;
    CHECK(taut_limit_set_config(nothing, &config) == TAUT_STATUS_MIN_ABOVE_MAX);
    config.limit_max = 4000;
    CHECK(taut_limit_set_config(nothing, &config) == TAUT_STATUS_OK);
    uint32_t in_flight = taut_limit_in_flight(nothing);
    CHECK(taut_limit_observe_in_flight(nothing, in_flight + 1, 6000000000) == TAUT_STATUS_OVER_COMPLETION);
    CHECK(taut_limit_observe_in_flight(nothing, in_flight - 1000, 6000000000) == TAUT_STATUS_OK);
    CHECK(taut_limit_in_flight(nothing) == in_flight - 1000 && taut_limit_value(nothing) <= 4000);
    CHECK(taut_limit_reset(nothing, 6000000000) == TAUT_STATUS_OK);
    CHECK(taut_limit_in_flight(nothing) == 0);
    return 0;
}
