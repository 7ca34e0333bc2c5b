/* A packet ring (AF_PACKET, PACKET_TX_RING) behind fq_codel and a limit: the whole driver is four callbacks.
 *
 *   cc -std=c11 -D_GNU_SOURCE packet_ring.c -ltaut -o packet_ring && sudo ./packet_ring veth0 100000
 *
 * Sends this many broadcast frames of 1,000 bytes and prints their outcomes. Without arguments it sends 5,000
 * over the loopback of a network namespace of its own. On a plain veth or loopback a frame is complete
 * immediately, so that the limit has no effect there; behind a shaper (tc tbf) it has. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <taut.h>

enum { SLOTS = 256, SLOT_BYTES = 2048, FRAMES = 1024, FRAME_BYTES = 1000, FLOWS = 8 };
/* Where the kernel wants the frame in its slot. */
enum { DATA_AT = TPACKET2_HDRLEN - sizeof(struct sockaddr_ll) };

struct packet_ring {
    int socket;
    unsigned char *slots;
    uint32_t head, tail; /* submitted and reaped so far, wrapping */
    uint32_t frame_of[SLOTS];
};

static unsigned char frames[FRAMES][FRAME_BYTES];
static uint32_t free_frames[FRAMES], free_count;
static uint64_t outcomes[TAUT_OUTCOMES];

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct tpacket2_hdr *slot(struct packet_ring *ring, uint32_t at) {
    return (struct tpacket2_hdr *)(void *)(ring->slots + (size_t)(at % SLOTS) * SLOT_BYTES);
}

/* The kernel writes the status, too. */
static uint32_t status_of(struct tpacket2_hdr *header) {
    uint32_t status = *(volatile uint32_t *)&header->tp_status;
    atomic_thread_fence(memory_order_acquire);
    return status;
}

static uint32_t slots_free(void *context) {
    struct packet_ring *ring = context;
    return SLOTS - (ring->head - ring->tail);
}

static bool submit(void *context, const taut_packet *packet, uint64_t at_ns) {
    struct packet_ring *ring = context;
    struct tpacket2_hdr *header = slot(ring, ring->head);
    (void)at_ns;
    if (packet->bytes > SLOT_BYTES - DATA_AT)
        return false;
    memcpy((unsigned char *)header + DATA_AT, frames[packet->frame], packet->bytes);
    header->tp_len = packet->bytes;
    ring->frame_of[ring->head++ % SLOTS] = packet->frame;
    atomic_thread_fence(memory_order_release);
    *(volatile uint32_t *)&header->tp_status = TP_STATUS_SEND_REQUEST;
    return true;
}

static int32_t kick(void *context, uint64_t at_ns) {
    struct packet_ring *ring = context;
    (void)at_ns;
    /* What the kernel has no room for now stays in the ring: `reap` rings again. */
    if (send(ring->socket, NULL, 0, MSG_DONTWAIT) < 0 && errno != EAGAIN && errno != ENOBUFS)
        return errno;
    return 0;
}

static int32_t reap(void *context, uint32_t *done, uint32_t budget, uint64_t at_ns) {
    struct packet_ring *ring = context;
    uint32_t count = 0;
    while (count < budget && ring->tail != ring->head && status_of(slot(ring, ring->tail)) == TP_STATUS_AVAILABLE)
        done[count++] = ring->frame_of[ring->tail++ % SLOTS];
    /* What the kernel had no room for when the bell rang waits for another. */
    if (ring->tail != ring->head && status_of(slot(ring, ring->tail)) == TP_STATUS_SEND_REQUEST)
        return kick(ring, at_ns) == 0 ? (int32_t)count : -errno;
    return (int32_t)count;
}

static void frame_done(void *context, uint32_t frame, uint32_t outcome) {
    (void)context;
    if (outcome < TAUT_OUTCOMES)
        outcomes[outcome]++;
    if (outcome != TAUT_OUTCOME_UNKNOWN_COMPLETION && outcome != TAUT_OUTCOME_IN_RING)
        free_frames[free_count++] = frame;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* A loopback of a new namespace. */
static void own_loopback(void) {
    struct ifreq request = {0};
    int any = -1;
    if (unshare(CLONE_NEWNET) != 0 || (any = socket(AF_INET, SOCK_DGRAM, 0)) < 0)
        die("a network namespace");
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP;
    if (ioctl(any, SIOCSIFFLAGS, &request) != 0)
        die("SIOCSIFFLAGS lo");
    close(any);
}

static void open_ring(struct packet_ring *ring, const char *device) {
    struct tpacket_req request = {SLOTS * SLOT_BYTES, 1, SLOT_BYTES, SLOTS};
    struct sockaddr_ll address = {0};
    int version = TPACKET_V2;
    ring->socket = socket(AF_PACKET, SOCK_RAW, 0);
    if (ring->socket < 0)
        die("socket AF_PACKET");
    if (setsockopt(ring->socket, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
        setsockopt(ring->socket, SOL_PACKET, PACKET_TX_RING, &request, sizeof request) != 0)
        die("PACKET_TX_RING");
    void *slots = mmap(NULL, SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, ring->socket, 0);
    if (slots == MAP_FAILED)
        die("mmap");
    ring->slots = slots;
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = (int)if_nametoindex(device);
    if (address.sll_ifindex == 0 || bind(ring->socket, (struct sockaddr *)&address, sizeof address) != 0)
        die(device);
}

int main(int count, char **arguments) {
    const char *device = count > 1 ? arguments[1] : "lo";
    long wanted = count > 2 ? atol(arguments[2]) : 5000;
    if (wanted <= 0) {
        fprintf(stderr, "usage: packet_ring [DEVICE [FRAMES]]\n");
        return 2;
    }
    static struct packet_ring packet_ring;
    if (count == 1)
        own_loopback();
    open_ring(&packet_ring, device);
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        memset(frames[frame], 0xff, 6); /* broadcast */
        frames[frame][6] = 2;           /* from a local address */
        frames[frame][12] = 0x88;       /* an ethertype for experiments */
        frames[frame][13] = 0xb5;
        free_frames[free_count++] = frame;
    }

    taut_ring ring = {.context = &packet_ring, .capacity_slots = SLOTS, .slots_free = slots_free, .submit = submit,
                      .kick = kick, .reap = reap};
    taut_sink sink = {.frame_done = frame_done};
    char error[256];
    taut_queue *queue = taut_queue_new("fq_codel", "taut", &ring, &sink, FRAMES, NULL, now_ns(), error, sizeof error);
    if (queue == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    taut_queue_stats stats = {0};
    long taken = 0;
    while (taken < wanted || free_count < FRAMES) {
        uint64_t at_ns = now_ns();
        while (taken < wanted && free_count > 0) {
            taut_packet packet = {.frame = free_frames[--free_count], .bytes = FRAME_BYTES, .flow = (uint32_t)(taken++ % FLOWS)};
            taut_queue_enqueue(queue, &packet, at_ns);
        }
        if (taut_queue_run(queue, at_ns, NULL) == TAUT_STOPPED_FAILED) {
            fprintf(stderr, "send: %s\n", strerror(taut_queue_driver_error(queue)));
            return 1;
        }
        taut_completed done;
        taut_status status = taut_queue_complete(queue, now_ns(), &done);
        if (status != TAUT_STATUS_OK || done.stalled) {
            fprintf(stderr, "%s\n", done.stalled ? "the device stalled" : taut_status_text(status));
            return 1;
        }
        taut_queue_read_stats(queue, &stats);
        if (done.packets == 0) {
            /* A packet ring does not interrupt: poll again in 250 us. */
            struct timespec pause = {0, 250000};
            nanosleep(&pause, NULL);
        }
    }
    for (uint32_t outcome = 0; outcome < TAUT_OUTCOMES; outcome++)
        if (outcomes[outcome] > 0)
            printf("%s %llu\n", taut_outcome_text(outcome), (unsigned long long)outcomes[outcome]);
    printf("limit %u bytes\n", stats.limit);
    taut_queue_free(queue, now_ns());
    return 0;
}
