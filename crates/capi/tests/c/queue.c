/* A whole queue over a ring of callbacks: each frame ends once, whatever goes wrong on the way. */
#include <string.h>

#include "check.h"
#include "taut.h"

enum { SLOTS = 256, FRAMES = 4000, PER_ROUND = 8, ROUNDS = 2000 };

struct device {
    uint32_t ring[SLOTS];
    uint32_t head, used, visible, done;
    uint32_t refuses_longer_than;
    int32_t kick_fails, reap_fails;
    bool claims_too_many;
    uint32_t stray; /* one more than its number; 0 for none */
    taut_queue *queue; /* to call back where that is forbidden */
    taut_status called_back;
};

static uint32_t free_frames[FRAMES];
static uint32_t free_count;
static uint64_t outcomes[TAUT_OUTCOMES];
static bool in_ring[FRAMES]; /* when their queue was freed */
static char error[256];

static uint32_t slots_free(void *context) { return SLOTS - ((struct device *)context)->used; }

static bool submit(void *context, const taut_packet *packet, uint64_t now_ns) {
    struct device *it = context;
    (void)now_ns;
    CHECK(it->used < SLOTS);
    if (packet->bytes > it->refuses_longer_than)
        return false;
    it->ring[(it->head + it->used++) % SLOTS] = packet->frame;
    return true;
}

static int32_t kick(void *context, uint64_t now_ns) {
    struct device *it = context;
    (void)now_ns;
    if (it->queue != NULL) {
        it->called_back = taut_queue_reset(it->queue, now_ns);
        CHECK(taut_queue_free(it->queue, now_ns) == TAUT_STATUS_BUSY);
        CHECK(taut_queue_run(it->queue, now_ns, NULL) == TAUT_STOPPED_INVALID);
    }
    if (it->kick_fails != 0) {
        int32_t number = it->kick_fails;
        it->kick_fails = 0;
        return number;
    }
    it->visible = it->used;
    return 0;
}

static int32_t reap(void *context, uint32_t *frames, uint32_t budget, uint64_t now_ns) {
    struct device *it = context;
    uint32_t count = 0;
    (void)now_ns;
    if (it->reap_fails != 0)
        return it->reap_fails;
    if (it->claims_too_many)
        return (int32_t)budget + 1;
    if (it->stray != 0) {
        frames[0] = it->stray - 1;
        it->stray = 0;
        return 1;
    }
    while (it->done > 0 && count < budget) {
        frames[count++] = it->ring[it->head];
        it->head = (it->head + 1) % SLOTS;
        it->used--, it->visible--, it->done--;
    }
    return (int32_t)count;
}

static void frame_done(void *context, uint32_t frame, uint32_t outcome) {
    (void)context;
    CHECK(outcome < TAUT_OUTCOMES);
    outcomes[outcome]++;
    if (outcome == TAUT_OUTCOME_IN_RING) {
        CHECK(!in_ring[frame]);
        in_ring[frame] = true;
    } else if (outcome != TAUT_OUTCOME_UNKNOWN_COMPLETION) {
        CHECK(free_count < FRAMES);
        free_frames[free_count++] = frame;
    }
}

static taut_ring ring_of(struct device *device) {
    taut_ring ring;
    memset(&ring, 0, sizeof ring);
    ring.context = device;
    ring.capacity_slots = SLOTS;
    ring.slots_free = slots_free;
    ring.submit = submit;
    ring.kick = kick;
    ring.reap = reap;
    return ring;
}

static void refuses_what_cannot_be(void) {
    struct device device;
    taut_sink sink = {NULL, frame_done};
    memset(&device, 0, sizeof device);
    taut_ring ring = ring_of(&device);
    CHECK(taut_queue_new("fq_codell", "dql", &ring, &sink, 1, NULL, 0, error, sizeof error) == NULL);
    CHECK(strstr(error, "qdisc: ") == error);
    CHECK(taut_queue_new("pfifo", "dql:", &ring, &sink, 1, NULL, 0, error, sizeof error) == NULL);
    CHECK(strstr(error, "limit: ") == error);
    CHECK(taut_queue_new("pfifo", "dql", &ring, &sink, 0, NULL, 0, error, sizeof error) == NULL);
    CHECK(taut_queue_new("pfifo", "dql", &ring, NULL, 1, NULL, 0, error, sizeof error) == NULL);
    ring.kick = NULL;
    CHECK(taut_queue_new("pfifo", "dql", &ring, &sink, 1, NULL, 0, NULL, 0) == NULL);
    CHECK(taut_queue_enqueue(NULL, NULL, 0) == TAUT_STATUS_NULL);
    CHECK(taut_queue_run(NULL, 0, NULL) == TAUT_STOPPED_INVALID);
    CHECK(taut_queue_free(NULL, 0) == TAUT_STATUS_NULL);
}

static taut_queue_stats stats_of(taut_queue *queue) {
    taut_queue_stats stats;
    CHECK(taut_queue_read_stats(queue, &stats) == TAUT_STATUS_OK);
    return stats;
}

/* A budget of reaping, a coalescing interval, and a ring that loses what it was given. */
static void options_hold_and_a_repair_starts_again(void) {
    struct device device;
    taut_sink sink = {NULL, frame_done};
    taut_completed done;
    taut_queue_options options = taut_queue_options_default();
    CHECK(options.burst_packets == 64 && options.stall_threshold_ns == 1000000000 && options.coalesce_ns == 0);
    memset(&device, 0, sizeof device);
    device.refuses_longer_than = 1514;
    taut_ring ring = ring_of(&device);
    options.burst_packets = 0;
    CHECK(taut_queue_new("pfifo", "dql", &ring, &sink, 8, &options, 0, error, sizeof error) == NULL);
    CHECK(strstr(error, "burst_packets") != NULL);
    options.burst_packets = 64;
    options.reserved = 7;
    CHECK(taut_queue_new("pfifo", "dql", &ring, &sink, 8, &options, 0, error, sizeof error) == NULL);
    CHECK(strstr(error, "reserved") != NULL);
    options.reserved = 0;
    options.restart_slots = SLOTS + 1;
    CHECK(taut_queue_new("pfifo", "dql", &ring, &sink, 8, &options, 0, error, sizeof error) == NULL);
    options.restart_slots = 0;
    options.reap_budget_packets = 2;
    options.coalesce_ns = 1000000;
    options.stall_threshold_ns = 500000000;
    taut_queue *queue = taut_queue_new("pfifo", "100k", &ring, &sink, 8, &options, 0, error, sizeof error);
    CHECK(queue != NULL);
    CHECK(stats_of(queue).limit == 102400);
    for (uint32_t frame = 0; frame < 8; frame++) {
        taut_packet packet = {frame, 1000, 0, 0, 0, 0};
        CHECK(taut_queue_enqueue(queue, &packet, 1000) == TAUT_STATUS_OK);
    }
    CHECK(taut_queue_run(queue, 1000, NULL) == TAUT_STOPPED_IDLE);
    CHECK(stats_of(queue).in_flight == 8000);
    device.done = 4;
    CHECK(taut_queue_complete(queue, 2000, &done) == TAUT_STATUS_OK);
    CHECK(done.packets == 2 && done.more_pending);
    /* The first goes through at once; the second waits for the period. */
    CHECK(stats_of(queue).in_flight == 6000);
    CHECK(taut_queue_complete(queue, 3000, &done) == TAUT_STATUS_OK && done.packets == 2);
    CHECK(stats_of(queue).in_flight == 6000);
    CHECK(taut_queue_next_wakeup_ns(queue) == 1002000);
    CHECK(taut_queue_complete(queue, 1002000, &done) == TAUT_STATUS_OK);
    CHECK(stats_of(queue).in_flight == 4000);
    device.done = 1;
    CHECK(taut_queue_complete(queue, 1003000, &done) == TAUT_STATUS_OK && done.packets == 1);
    CHECK(stats_of(queue).in_flight == 4000);
    CHECK(taut_queue_complete(queue, 2002000, &done) == TAUT_STATUS_OK);
    CHECK(stats_of(queue).in_flight == 3000);

    /* Two of the three that are left are lost. */
    CHECK(taut_queue_complete(queue, 600000000, &done) == TAUT_STATUS_OK && done.stalled);
    CHECK(stats_of(queue).stalls == 1);
    int64_t excess = 0;
    CHECK(taut_queue_repair(queue, 1, 1000, 600000000, &excess) == TAUT_STATUS_OK && excess == 2000);
    CHECK(stats_of(queue).in_flight == 1000 && stats_of(queue).limit == 102400);
    CHECK(taut_queue_repair(queue, 1, UINT32_MAX, 600000000, NULL) == TAUT_STATUS_TOO_MUCH_IN_FLIGHT);

    CHECK(taut_queue_set(queue, "limits", "1", error, sizeof error) == TAUT_STATUS_BAD_SPEC);
    CHECK(strstr(error, "limit_max") != NULL);
    CHECK(taut_queue_set(queue, NULL, "1", error, sizeof error) == TAUT_STATUS_NULL);
    CHECK(strcmp(error, taut_status_text(TAUT_STATUS_NULL)) == 0);
    CHECK(taut_queue_set(queue, "limit", NULL, NULL, 0) == TAUT_STATUS_NULL);
    CHECK(taut_queue_set(NULL, "limit", "1", NULL, 0) == TAUT_STATUS_NULL);
    /* The effect of a setting. */
    CHECK(taut_queue_set(queue, "limit", "2000", error, sizeof error) == TAUT_STATUS_OK);
    CHECK(stats_of(queue).limit == 2000);
    /* Also the two that the repair considered lost: the driver might still read them. */
    CHECK(taut_queue_free(queue, 600000000) == TAUT_STATUS_OK);
    CHECK(outcomes[TAUT_OUTCOME_IN_RING] == 3 && in_ring[5] && in_ring[6] && in_ring[7]);
    memset(in_ring, 0, sizeof in_ring);
    memset(outcomes, 0, sizeof outcomes);
    free_count = 0;
}

/* An IPv4 header that supports ECN, behind an Ethernet header, and the same without that. */
static void headers_classify_and_mark(void) {
    uint8_t frame[42] = {[12] = 8, [14] = 0x45, [15] = 0x12, [23] = 17, [26] = 10, [30] = 10, [35] = 7};
    taut_packet of_frame = {.frame = 3, .bytes = 42}, of_ip = of_frame;
    CHECK(taut_classify(&of_frame, frame, sizeof frame, true) == TAUT_STATUS_OK);
    CHECK(taut_classify(&of_ip, frame + 14, sizeof frame - 14, false) == TAUT_STATUS_OK);
    CHECK(of_ip.flow != 0 && of_ip.flow == of_frame.flow && of_ip.priority == of_frame.priority);
    CHECK(of_ip.ecn == 2 && of_frame.ecn == 2 && of_ip.frame == 3 && of_ip.bytes == 42);
    frame[35] = 8;
    CHECK(taut_classify(&of_frame, frame, sizeof frame, true) == TAUT_STATUS_OK && of_frame.flow != of_ip.flow);
    CHECK(taut_mark_congestion(frame, sizeof frame, true) && (frame[15] & 3) == 3);
    CHECK(taut_classify(&of_ip, frame + 14, sizeof frame - 14, false) == TAUT_STATUS_OK && of_ip.ecn == 3);
    CHECK(taut_mark_congestion(frame + 14, sizeof frame - 14, false));
    CHECK(taut_classify(&of_ip, frame, 0, false) == TAUT_STATUS_OK && of_ip.flow == 0 && of_ip.ecn == 0);
    frame[15] = 0;
    CHECK(!taut_mark_congestion(frame, sizeof frame, true) && !taut_mark_congestion(NULL, 1, true));
    CHECK(taut_classify(NULL, frame, 1, true) == TAUT_STATUS_NULL);
    CHECK(taut_classify(&of_ip, NULL, 1, true) == TAUT_STATUS_NULL);
}

static void set_limit_max(taut_queue *queue, const char *value, taut_status wanted) {
    CHECK(taut_queue_set(queue, "limit_max", value, error, sizeof error) == wanted);
}

int main(void) {
    struct device device;
    taut_sink sink = {NULL, frame_done};
    taut_completed done;
    taut_queue_stats stats;
    uint64_t accepted = 0, now_ns = 0;

    refuses_what_cannot_be();
    options_hold_and_a_repair_starts_again();
    headers_classify_and_mark();
    memset(&device, 0, sizeof device);
    device.refuses_longer_than = 1514;
    for (free_count = 0; free_count < FRAMES; free_count++)
        free_frames[free_count] = free_count;
    taut_ring ring = ring_of(&device);
    taut_queue *queue = taut_queue_new("fq_codel limit 1000", "taut:99.5%", &ring, &sink, FRAMES, NULL, 0, error, sizeof error);
    CHECK(queue != NULL);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        now_ns = round * (uint64_t)100000;
        for (int burst = 0; burst < 12 && free_count > 0; burst++) {
            taut_packet packet = {free_frames[--free_count], 1514, round % 7, 0, 2, 0};
            if (round % 100 == 0 && burst == 0)
                packet.bytes = 9000; /* no such device sends that */
            CHECK(taut_queue_enqueue(queue, &packet, now_ns) == TAUT_STATUS_OK);
            accepted++;
        }
        if (round == 700)
            device.kick_fails = 42;
        taut_stopped stopped = taut_queue_run(queue, now_ns, NULL);
        if (stopped == TAUT_STOPPED_FAILED) {
            CHECK(taut_queue_driver_error(queue) == 42);
            stopped = taut_queue_run(queue, now_ns, NULL);
        }
        CHECK(stopped == TAUT_STOPPED_IDLE || stopped == TAUT_STOPPED_LIMIT || stopped == TAUT_STOPPED_RING_FULL);
        device.done = device.visible < PER_ROUND ? device.visible : PER_ROUND;
        if (round == 800) {
            device.reap_fails = -5;
            CHECK(taut_queue_complete(queue, now_ns, &done) == TAUT_STATUS_DRIVER_FAILED);
            CHECK(taut_queue_driver_error(queue) == -5);
            device.reap_fails = 0;
        }
        if (round == 900) {
            /* Nobody knows which: none of them is the caller's again. */
            uint32_t free_before = free_count;
            device.claims_too_many = true;
            CHECK(taut_queue_complete(queue, now_ns, &done) == TAUT_STATUS_DRIVER_FAILED);
            CHECK(free_count == free_before && outcomes[TAUT_OUTCOME_UNKNOWN_COMPLETION] == 0);
            device.claims_too_many = false;
        }
        CHECK(taut_queue_complete(queue, now_ns + 90000, &done) == TAUT_STATUS_OK);
        CHECK(!done.stalled);
    }
    CHECK(taut_queue_read_stats(queue, &stats) == TAUT_STATUS_OK);
    CHECK(stats.limit >= 7 * 1514 && stats.limit <= 17 * 1514);
    CHECK(stats.sent_packets >= ROUNDS * (PER_ROUND - 1));
    CHECK(stats.limit_stops > 0 && stats.ring_stops == 0);
    CHECK(outcomes[5] > 0); /* device_refused: what fq_codel did not drop before */

    taut_packet again = {device.ring[device.head], 100, 0, 0, 0, 0};
    CHECK(taut_queue_enqueue(queue, &again, now_ns) == TAUT_STATUS_FRAME_IN_USE);
    again.priority = 16;
    CHECK(taut_queue_enqueue(queue, &again, now_ns) == TAUT_STATUS_BAD_FIELD);
    again.priority = 15, again.ecn = 4;
    CHECK(taut_queue_enqueue(queue, &again, now_ns) == TAUT_STATUS_BAD_FIELD);
    again.ecn = 3, again.reserved = 1;
    CHECK(taut_queue_enqueue(queue, &again, now_ns) == TAUT_STATUS_BAD_FIELD);
    again.reserved = 0;
    again.frame = FRAMES;
    CHECK(taut_queue_enqueue(queue, &again, now_ns) == TAUT_STATUS_FRAME_OUT_OF_RANGE);
    set_limit_max(queue, "3000", TAUT_STATUS_OK);
    set_limit_max(queue, "much", TAUT_STATUS_BAD_SPEC);
    CHECK(strstr(error, "limit_max") != NULL);

    device.stray = free_frames[0] + 1;
    CHECK(taut_queue_complete(queue, now_ns, &done) == TAUT_STATUS_UNKNOWN_COMPLETION);
    CHECK(outcomes[7] == 1);

    /* A callback that calls back is told. */
    device.queue = queue;
    device.done = device.visible;
    CHECK(taut_queue_complete(queue, now_ns, &done) == TAUT_STATUS_OK);
    (void)taut_queue_run(queue, now_ns, NULL);
    CHECK(device.called_back == TAUT_STATUS_BUSY);
    device.queue = NULL;

    CHECK(taut_queue_read_stats(queue, &stats) == TAUT_STATUS_OK && !stats.unlimited);
    CHECK(taut_queue_free(queue, now_ns) == TAUT_STATUS_OK);
    CHECK(outcomes[TAUT_OUTCOME_IN_RING] == device.used);
    for (uint32_t at = 0; at < device.used; at++)
        CHECK(in_ring[device.ring[(device.head + at) % SLOTS]]);
    uint64_t all = 0;
    for (uint32_t outcome = 0; outcome < TAUT_OUTCOMES; outcome++)
        if (outcome != TAUT_OUTCOME_UNKNOWN_COMPLETION)
            all += outcomes[outcome];
    CHECK(all == accepted);
    CHECK(free_count + device.used == FRAMES);
    return 0;
}
