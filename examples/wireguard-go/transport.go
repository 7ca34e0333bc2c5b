package main

import (
	"errors"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun"
)

// The level of a socket has no event. A link of 100 Mbit/s sends 12.5 KB in this time.
const pollInterval = time.Millisecond

// A limitedTun queues the packets of a TUN device, and returns those that the queue releases.
type limitedTun struct {
	tun.Device
	queue *queue
	err   error // set before the queue is closed
}

func newLimitedTun(inner tun.Device, queue *queue) *limitedTun {
	t := &limitedTun{Device: inner, queue: queue}
	go t.receive()
	return t
}

// receive reads the device as fast as it delivers, until it is closed.
func (t *limitedTun) receive() {
	bufs := make([][]byte, t.BatchSize())
	for i := range bufs {
		bufs[i] = make([]byte, device.MaxMessageSize)
	}
	sizes := make([]int, len(bufs))
	for t.err == nil {
		count, err := t.Device.Read(bufs, sizes, 0)
		t.queue.enqueue(bufs[:count], sizes)
		if !errors.Is(err, tun.ErrTooManySegments) {
			t.err = err
		}
	}
	t.queue.close()
}

func (t *limitedTun) Read(bufs [][]byte, sizes []int, offset int) (int, error) {
	if count := t.queue.read(bufs, sizes, offset); count > 0 {
		return count, nil
	}
	return 0, t.err
}

// A datagram is in the kernel.
type datagram struct {
	frame    uint32
	hasFrame bool
	memory   int
}

// A limitedBind observes when datagrams depart from the kernel.
type limitedBind struct {
	conn.Bind
	queue *queue
	level func() int // replaced by tests

	mu       sync.Mutex
	sockets  []int      // of the Bind, for IPv4 and IPv6
	inKernel []datagram // oldest first
	memory   int
}

func newLimitedBind(inner conn.Bind, queue *queue) *limitedBind {
	b := &limitedBind{Bind: inner, queue: queue}
	b.level = b.socketLevel
	go func() {
		for queue.waitUntilBusy() {
			time.Sleep(pollInterval)
			b.poll()
		}
	}()
	return b
}

func (b *limitedBind) Open(port uint16) ([]conn.ReceiveFunc, uint16, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	receive, port, err := b.Bind.Open(port)
	if err == nil {
		b.sockets = udpSockets(port)
	}
	return receive, port, err
}

func (b *limitedBind) Close() error {
	b.mu.Lock()
	b.sockets = nil
	frames := b.departed(0)
	b.mu.Unlock()
	b.queue.complete(frames)
	return b.Bind.Close()
}

func (b *limitedBind) Send(bufs [][]byte, endpoint conn.Endpoint) error {
	datagrams := b.queue.sent(bufs)
	b.mu.Lock()
	before := b.level()
	err := b.Bind.Send(bufs, endpoint)
	after := b.level()
	// The level rises by less if others depart in the meantime.
	memory := after - before
	payload := 0
	for _, buf := range bufs {
		payload += len(buf)
	}
	for i := range datagrams {
		datagrams[i].memory = max(memory, payload) / len(bufs)
		b.memory += datagrams[i].memory
	}
	b.inKernel = append(b.inKernel, datagrams...)
	frames := b.departed(after)
	b.mu.Unlock()
	b.queue.complete(frames)
	return err
}

func (b *limitedBind) poll() {
	b.mu.Lock()
	frames := b.departed(b.level())
	b.mu.Unlock()
	b.queue.complete(frames)
}

// departed removes the oldest datagrams whose memory is not part of the level. It returns their
// frames.
func (b *limitedBind) departed(level int) (frames []uint32) {
	count := 0
	for _, oldest := range b.inKernel {
		if level > 0 && level > b.memory-oldest.memory {
			break
		}
		b.memory -= oldest.memory
		if oldest.hasFrame {
			frames = append(frames, oldest.frame)
		}
		count++
	}
	b.inKernel = append(b.inKernel[:0], b.inKernel[count:]...)
	return frames
}

// socketLevel returns the memory of the datagrams that the kernel holds, in bytes.
func (b *limitedBind) socketLevel() (level int) {
	for _, socket := range b.sockets {
		if bytes, err := unix.IoctlGetInt(socket, unix.SIOCOUTQ); err == nil {
			level += bytes
		}
	}
	return level
}

// udpSockets returns the UDP sockets of this process with a port. StdNetBind returns its sockets on
// Android only.
func udpSockets(port uint16) (sockets []int) {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		socket, _ := strconv.Atoi(entry.Name())
		kind, _ := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE)
		bound := -1
		switch address, _ := unix.Getsockname(socket); at := address.(type) {
		case *unix.SockaddrInet4:
			bound = at.Port
		case *unix.SockaddrInet6:
			bound = at.Port
		}
		if kind == unix.SOCK_DGRAM && bound == int(port) {
			sockets = append(sockets, socket)
		}
	}
	return sockets
}
