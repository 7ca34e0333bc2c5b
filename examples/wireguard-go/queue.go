package main

/*
#cgo CFLAGS: -I${SRCDIR}/../../crates/capi/include
#cgo LDFLAGS: -L${SRCDIR}/../../target/release -l:libtaut_dql_capi.a -lm
#include <stdlib.h>
#include <taut.h>

enum { SLOTS = 4096, FRAMES = 2 * SLOTS };

// The ring below the queue is wireguard-go and the kernel. Its callbacks stay in C, because calls
// from C to Go are expensive.
struct ring {
	taut_queue *queue;
	uint32_t free_frames[FRAMES], free_count;
	taut_packet released[SLOTS]; // and not yet read by wireguard-go
	uint32_t released_count;
	uint32_t departed[SLOTS], departed_count, reaped_count;
	uint32_t used_slots;
};

static uint32_t slots_free(void *context) { return SLOTS - ((struct ring *)context)->used_slots; }

static bool submit(void *context, const taut_packet *packet, uint64_t now_ns) {
	struct ring *it = context;
	(void)now_ns;
	it->used_slots++;
	it->released[it->released_count++] = *packet;
	return true;
}

static int32_t kick(void *context, uint64_t now_ns) { (void)context, (void)now_ns; return 0; }

static int32_t reap(void *context, uint32_t *frames, uint32_t budget, uint64_t now_ns) {
	struct ring *it = context;
	uint32_t count = 0;
	(void)now_ns;
	while (count < budget && it->reaped_count < it->departed_count)
		frames[count++] = it->departed[it->reaped_count++];
	it->used_slots -= count;
	return (int32_t)count;
}

static void frame_done(void *context, uint32_t frame, uint32_t outcome) {
	struct ring *it = context;
	if (outcome != TAUT_OUTCOME_UNKNOWN_COMPLETION)
		it->free_frames[it->free_count++] = frame;
}

static bool open_queue(struct ring *it, const char *limit, char *error, size_t error_bytes) {
	taut_ring ring = {.context = it, .capacity_slots = SLOTS, .slots_free = slots_free,
		.submit = submit, .kick = kick, .reap = reap};
	taut_sink sink = {.context = it, .frame_done = frame_done};
	while (it->free_count < FRAMES)
		it->free_frames[it->free_count] = it->free_count, it->free_count++;
	it->queue = taut_queue_new("fq_codel limit 1000 ecn", limit, &ring, &sink, FRAMES, NULL, 0,
		error, error_bytes);
	return it->queue != NULL;
}
*/
import "C"

import (
	"errors"
	"sync"
	"time"
	"unsafe"
)

const (
	// Headers of WireGuard, UDP and IPv4.
	overheadBytes = 60
	// wireguard-go drops packets without a session or a route, and reports no drop.
	expiry = 20 * time.Millisecond
)

// A queue is the discipline and the limit in front of wireguard-go. A released packet is in a
// buffer of wireguard-go until it is sent, and in the kernel until it departs.
type queue struct {
	mu       sync.Mutex
	changed  *sync.Cond     // packets were released, or the queue was closed
	ring     *C.struct_ring // nil after close
	packets  [][]byte       // by frame
	buffered map[*byte]bufferedPacket
	expired  int
	last     C.taut_queue_stats // at close
	now      func() time.Duration
}

// A bufferedPacket is in a buffer of wireguard-go.
type bufferedPacket struct {
	frame uint32
	since time.Duration
}

func newQueue(limit string) (*queue, error) {
	started := time.Now()
	q := &queue{
		ring:     (*C.struct_ring)(C.calloc(1, C.sizeof_struct_ring)),
		packets:  make([][]byte, C.FRAMES),
		buffered: make(map[*byte]bufferedPacket),
		now:      func() time.Duration { return time.Since(started) },
	}
	q.changed = sync.NewCond(&q.mu)
	spec := C.CString(limit)
	defer C.free(unsafe.Pointer(spec))
	var reason [256]C.char
	if !C.open_queue(q.ring, spec, &reason[0], C.size_t(len(reason))) {
		C.free(unsafe.Pointer(q.ring))
		return nil, errors.New(C.GoString(&reason[0]))
	}
	return q, nil
}

func (q *queue) nowNs() C.uint64_t { return C.uint64_t(q.now()) }

// close drops all packets. Later calls have no effect.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring != nil {
		C.taut_queue_read_stats(q.ring.queue, &q.last)
		C.taut_queue_free(q.ring.queue, q.nowNs())
		C.free(unsafe.Pointer(q.ring))
		q.ring = nil
	}
	q.changed.Broadcast()
}

// enqueue copies packets of the TUN device. The discipline can drop them or others.
func (q *queue) enqueue(packets [][]byte, sizes []int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, packet := range packets {
		// There is a free frame: at most 1,000 packets wait, and 4,096 are released.
		if q.ring == nil || sizes[i] == 0 || q.ring.free_count == 0 {
			continue
		}
		q.ring.free_count--
		frame := q.ring.free_frames[q.ring.free_count]
		q.packets[frame] = append(q.packets[frame][:0], packet[:sizes[i]]...)
		ip := (*C.uint8_t)(&q.packets[frame][0])
		entry := C.taut_packet{frame: frame, bytes: C.uint32_t(sizes[i] + overheadBytes)}
		C.taut_classify(&entry, ip, C.size_t(sizes[i]), false)
		C.taut_queue_enqueue(q.ring.queue, &entry, q.nowNs())
	}
	q.run()
}

// run releases packets while there is room.
func (q *queue) run() {
	if q.ring == nil {
		return
	}
	C.taut_queue_run(q.ring.queue, q.nowNs(), nil)
	if q.ring.released_count > 0 {
		q.changed.Broadcast()
	}
}

// read waits for released packets, and copies them into buffers of wireguard-go. It returns their
// number, or 0 after close.
func (q *queue) read(bufs [][]byte, sizes []int, offset int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.ring != nil && q.ring.released_count == 0 {
		q.changed.Wait()
	}
	if q.ring == nil {
		return 0
	}
	released := q.ring.released[:q.ring.released_count]
	count := min(len(bufs), len(released))
	for i, entry := range released[:count] {
		packet := q.packets[entry.frame]
		if entry.ecn == 3 {
			C.taut_mark_congestion((*C.uint8_t)(&packet[0]), C.size_t(len(packet)), false)
		}
		sizes[i] = copy(bufs[i][offset:], packet)
		buffer := unsafe.SliceData(bufs[i])
		if previous, ok := q.buffered[buffer]; ok {
			q.expire(buffer, previous) // The buffer has a new packet, so the previous was dropped.
		}
		q.buffered[buffer] = bufferedPacket{uint32(entry.frame), q.now()}
	}
	copy(released, released[count:])
	q.ring.released_count -= C.uint32_t(count)
	return count
}

// sent assigns datagrams to packets: wireguard-go encrypts a packet in the buffer that it passed to
// Read. A handshake or keepalive belongs to none.
func (q *queue) sent(bufs [][]byte) []datagram {
	q.mu.Lock()
	defer q.mu.Unlock()
	datagrams := make([]datagram, len(bufs))
	for i, buf := range bufs {
		buffer := unsafe.SliceData(buf)
		packet, ok := q.buffered[buffer]
		delete(q.buffered, buffer)
		datagrams[i] = datagram{frame: packet.frame, hasFrame: ok}
	}
	return datagrams
}

// complete counts packets as departed, and releases others.
func (q *queue) complete(frames []uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring == nil {
		return
	}
	for _, frame := range frames {
		q.depart(frame)
	}
	for buffer, packet := range q.buffered {
		if q.now()-packet.since >= expiry {
			q.expire(buffer, packet)
		}
	}
	C.taut_queue_complete(q.ring.queue, q.nowNs(), nil)
	q.ring.departed_count, q.ring.reaped_count = 0, 0
	q.run()
}

func (q *queue) depart(frame uint32) {
	q.ring.departed[q.ring.departed_count] = C.uint32_t(frame)
	q.ring.departed_count++
}

// expire counts a packet that wireguard-go dropped as departed: the C interface has no call for a
// packet that never reaches the device.
func (q *queue) expire(buffer *byte, packet bufferedPacket) {
	delete(q.buffered, buffer)
	q.depart(packet.frame)
	q.expired++
}

// waitUntilBusy returns true when a packet is released and has not departed, or false after close.
func (q *queue) waitUntilBusy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.ring != nil && q.ring.used_slots == 0 {
		q.changed.Wait()
	}
	return q.ring != nil
}

func (q *queue) stats() C.taut_queue_stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ring != nil {
		C.taut_queue_read_stats(q.ring.queue, &q.last)
	}
	return q.last
}
