/* The coalescing interval before a limit and the stall detector. */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "taut.h"

static void uneven_rounds_are_joined(void) {
    taut_coalescer coalesce;
    uint32_t due = 7;
    CHECK(taut_coalescer_init(&coalesce, 1000000) == TAUT_STATUS_OK);
    CHECK(taut_coalescer_next_wakeup_ns(&coalesce) == UINT64_MAX);
    CHECK(taut_coalescer_add(&coalesce, 100, 5000, 10, &due) == TAUT_STATUS_OK && due == 100);
    CHECK(taut_coalescer_add(&coalesce, 200, 5000, 20, &due) == TAUT_STATUS_OK && due == 0);
    CHECK(taut_coalescer_pending(&coalesce) == 200);
    CHECK(taut_coalescer_next_wakeup_ns(&coalesce) == 1000010);
    CHECK(taut_coalescer_poll(&coalesce, 1000009, &due) == TAUT_STATUS_OK && due == 0);
    CHECK(taut_coalescer_poll(&coalesce, 1000010, &due) == TAUT_STATUS_OK && due == 200);
    /* More than the limit: the device may run dry. */
    CHECK(taut_coalescer_add(&coalesce, 5001, 5000, 1000020, &due) == TAUT_STATUS_OK && due == 5001);
    CHECK(taut_coalescer_add(&coalesce, 1, 5000, 1000030, &due) == TAUT_STATUS_OK && due == 0);
    CHECK(taut_coalescer_reset(&coalesce) == TAUT_STATUS_OK && taut_coalescer_pending(&coalesce) == 0);
    CHECK(taut_coalescer_add(&coalesce, 1, 1, 0, NULL) == TAUT_STATUS_NULL);
    CHECK(taut_coalescer_pending(&coalesce) == 0);
    memset(&coalesce, 0, sizeof coalesce);
    CHECK(taut_coalescer_poll(&coalesce, 0, &due) == TAUT_STATUS_NOT_INITIALISED);
    CHECK(taut_coalescer_next_wakeup_ns(&coalesce) == UINT64_MAX);
    CHECK(taut_coalescer_init(NULL, 0) == TAUT_STATUS_NULL);
}

static void a_device_that_stops_is_found(void) {
    taut_dql dql;
    taut_stall_detector detector;
    taut_snapshot now;
    taut_stalls stalls;
    uint64_t age_ns = 1;
    CHECK(taut_dql_init(&dql, NULL, 0) == TAUT_STATUS_OK);
    CHECK(taut_stall_detector_init(&detector, 1000000000) == TAUT_STATUS_OK);
    CHECK(taut_dql_queued(&dql, 1514) == TAUT_STATUS_OK); /* at 5 ms, and it never comes back */
    CHECK(taut_dql_read(&dql, &now) == TAUT_STATUS_OK);
    CHECK(taut_stall_detector_check(&detector, now.num_queued, now.num_completed, 5000000, 1000000000, &age_ns) ==
          TAUT_STATUS_OK);
    CHECK(age_ns == 0);
    CHECK(taut_stall_detector_check(&detector, now.num_queued, now.num_completed, 5000000, 1005000001, &age_ns) ==
          TAUT_STATUS_OK);
    CHECK(age_ns == 1000000001);
    CHECK(taut_stall_detector_read(&detector, &stalls) == TAUT_STATUS_OK);
    CHECK(stalls.count == 1 && stalls.longest_ns == 1000000001 && stalls.last_stall_ns == 1005000001);
    CHECK(taut_dql_completed(&dql, 1514, 1010000000) == TAUT_STATUS_OK);
    CHECK(taut_dql_read(&dql, &now) == TAUT_STATUS_OK);
    CHECK(taut_stall_detector_completed(&detector, now.num_queued, now.num_completed, 1010000000) == TAUT_STATUS_OK);
    CHECK(taut_stall_detector_check(&detector, now.num_queued, now.num_completed, 5000000, 9000000000, &age_ns) ==
          TAUT_STATUS_OK);
    CHECK(age_ns == 0);
    CHECK(taut_stall_detector_reset(&detector) == TAUT_STATUS_OK);
    CHECK(taut_stall_detector_check(&detector, 0, 0, 0, 0, NULL) == TAUT_STATUS_NULL);
    memset(&detector, 0, sizeof detector);
    CHECK(taut_stall_detector_completed(&detector, 0, 0, 0) == TAUT_STATUS_NOT_INITIALISED);
    CHECK(taut_stall_detector_read(&detector, &stalls) == TAUT_STATUS_NOT_INITIALISED);
}

int main(void) {
    uneven_rounds_are_joined();
    a_device_that_stops_is_found();
    return 0;
}
