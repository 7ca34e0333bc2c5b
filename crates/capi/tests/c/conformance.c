/* Plays conformance vectors: conformance OPS EXPECTED. Says the first line that differs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "taut.h"

static const uint64_t NS_PER_MS = 1000000;

static taut_dql dql;
static uint64_t now_ns;

static taut_status set(const char *name, uint64_t value) {
    if (strcmp(name, "limit") == 0)
        return taut_dql_set_limit(&dql, (uint32_t)value);
    if (strcmp(name, "min_limit") == 0)
        return taut_dql_set_limit_min(&dql, (uint32_t)value);
    if (strcmp(name, "max_limit") == 0)
        return taut_dql_set_limit_max(&dql, (uint32_t)value);
    return taut_dql_set_hold_time_ns(&dql, value * NS_PER_MS);
}

static taut_status play(const char *line) {
    char name[32];
    uint64_t value = 0;
    if (sscanf(line, "init %" SCNu64, &value) == 1) {
        taut_config config = taut_config_default();
        config.hold_time_ns = value * NS_PER_MS;
        return taut_dql_init(&dql, &config, now_ns);
    }
    if (sscanf(line, "set %31s %" SCNu64, name, &value) == 2)
        return set(name, value);
    if (sscanf(line, "t %" SCNu64, &value) == 1) {
        now_ns = value * NS_PER_MS;
        return TAUT_STATUS_OK;
    }
    if (sscanf(line, "q %" SCNu64, &value) == 1)
        return taut_dql_queued(&dql, (uint32_t)value);
    if (sscanf(line, "c %" SCNu64, &value) == 1)
        return taut_dql_completed(&dql, (uint32_t)value, now_ns);
    if (line[0] == 'r')
        return taut_dql_reset(&dql, now_ns);
    fprintf(stderr, "unknown operation: %s", line);
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 3)
        return 2;
    FILE *operations = fopen(arguments[1], "r");
    FILE *expected = fopen(arguments[2], "r");
    if (operations == NULL || expected == NULL)
        return 2;
    char operation[128], wanted[256], found[256];
    unsigned lines = 0;
    while (fgets(operation, sizeof operation, operations) != NULL) {
        lines++;
        if (fgets(wanted, sizeof wanted, expected) == NULL)
            return 1;
        wanted[strcspn(wanted, "\n")] = 0;
        taut_snapshot now;
        if (play(operation) != TAUT_STATUS_OK) {
            strcpy(found, "error");
        } else {
            if (taut_dql_read(&dql, &now) != TAUT_STATUS_OK)
                return 1;
            snprintf(found, sizeof found,
                     "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId32 " %" PRIu64 " %" PRIu32
                     " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32,
                     now.limit, now.adj_limit, now.num_queued, now.num_completed, now.room,
                     now.window_start_ns / NS_PER_MS, now.lowest_slack, now.prev_over_limit,
                     now.prev_num_queued, now.prev_last_object, now.last_object);
        }
        if (strcmp(found, wanted) != 0) {
            fprintf(stderr, "line %u: %sexpected %s\nfound    %s\n", lines, operation, wanted, found);
            return 1;
        }
    }
    printf("%u\n", lines);
    return 0;
}
