package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/conn/bindtest"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/tun/tuntest"
)

// It counts as 1,500 bytes, with its overhead.
const packetBytes = 1440

// A kernel is a Bind whose level is a variable.
type kernel struct {
	conn.Bind
	level, rise int
}

func (k *kernel) Send([][]byte, conn.Endpoint) error {
	k.level += k.rise
	return nil
}

func (k *kernel) Close() error { return nil }

// A path is a queue above a kernel, without threads.
type path struct {
	*limitedBind
	kernel *kernel
	now    time.Duration
	bufs   [][]byte
	sizes  []int
}

func newPath(t *testing.T, limit string) *path {
	q, err := newQueue(limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.close)
	p := &path{kernel: &kernel{}, sizes: make([]int, 16)}
	q.now = func() time.Duration { return p.now }
	level := func() int { return p.kernel.level }
	p.limitedBind = &limitedBind{Bind: p.kernel, queue: q, level: level}
	for range p.sizes {
		p.bufs = append(p.bufs, make([]byte, 2048))
	}
	return p
}

func (p *path) push(count int, flow byte) {
	packets, sizes := make([][]byte, count), make([]int, count)
	for i := range packets {
		packets[i], sizes[i] = ipPacket(flow), packetBytes
	}
	p.queue.enqueue(packets, sizes)
}

func (p *path) read() int {
	if p.queue.ring.released_count == 0 {
		return 0 // It would wait.
	}
	return p.queue.read(p.bufs, p.sizes, 16)
}

func (p *path) send(bufs [][]byte) { p.Send(bufs, bindtest.ChannelEndpoint(1)) }

// released returns the number of packets that the queue released until now.
func (p *path) released() int { return int(p.queue.stats().sent_packets) }

// ipPacket is a UDP packet that supports ECN.
func ipPacket(flow byte) []byte {
	packet := make([]byte, packetBytes)
	packet[0], packet[1], packet[9], packet[21] = 0x45, 2, 17, flow
	binary.BigEndian.PutUint16(packet[10:], ^checksum(packet[:20]))
	return packet
}

func checksum(header []byte) uint16 {
	sum := uint32(0)
	for at := 0; at < len(header); at += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[at:]))
	}
	return uint16(sum) + uint16(sum>>16) // Headers here are short: one carry.
}

func expect(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d, expected %d", what, got, want)
	}
}

func TestPacketsWaitAboveTheLimit(t *testing.T) {
	p := newPath(t, "6k")
	p.push(10, 1)
	expect(t, "first read", p.read(), 5) // The fifth exceeds 6,144 bytes.
	p.send(p.bufs[:2])
	expect(t, "read after two departed", p.read(), 2)
	expect(t, "expired", p.queue.expired, 0)
}

func TestDatagramsCountUntilTheLevelFalls(t *testing.T) {
	p := newPath(t, "6k")
	p.kernel.rise = 2 * 2304
	p.push(10, 1)
	p.read()
	p.send(p.bufs[:2])
	expect(t, "both in the kernel", p.released(), 5)
	p.kernel.level = 2304
	p.poll()
	expect(t, "one departed", p.released(), 6)
	p.kernel.level = 0
	p.poll()
	expect(t, "both departed", p.released(), 7)
}

func TestDatagramWithoutPacketHasMemory(t *testing.T) {
	p := newPath(t, "6k")
	p.kernel.rise = 2304
	p.push(10, 1)
	p.read()
	p.send([][]byte{make([]byte, 148)}) // A handshake.
	p.send(p.bufs[:1])
	p.kernel.level = 2304
	p.poll()
	expect(t, "the handshake departed", p.released(), 5)
	p.kernel.level = 0
	p.poll()
	expect(t, "the packet departed", p.released(), 6)
}

func TestSparseFlowOvertakesBulk(t *testing.T) {
	p := newPath(t, "6k")
	p.push(20, 1)
	p.read()
	p.push(1, 2)
	p.send(p.bufs[:5])
	p.read()
	expect(t, "flow of the next packet", int(p.bufs[0][16+21]), 2)
}

func TestDroppedPacketsExpire(t *testing.T) {
	p := newPath(t, "6k")
	p.push(10, 1)
	p.read()
	p.now = expiry - 1
	p.poll()
	expect(t, "released before the expiry", p.released(), 5)
	p.now = expiry
	p.poll()
	expect(t, "expired", p.queue.expired, 5)
	expect(t, "released after it", p.released(), 10)
}

func TestReusedBufferExpiresItsPacket(t *testing.T) {
	p := newPath(t, "off")
	for range 2 {
		p.push(1, 1)
		p.read()
	}
	expect(t, "expired", p.queue.expired, 1)
}

func TestCloseReturnsAllRoom(t *testing.T) {
	p := newPath(t, "6k")
	p.kernel.rise = 2304
	p.push(10, 1)
	p.read()
	p.send(p.bufs[:5])
	p.Close()
	expect(t, "released after close", p.released(), 10)
}

func TestMarkReachesTheHeader(t *testing.T) {
	p := newPath(t, "3k")
	p.push(100, 1)
	marked := 0
	for range 30 {
		count := p.read()
		for _, buf := range p.bufs[:count] {
			expect(t, "checksum", int(checksum(buf[16:36])), 0xffff)
			if buf[17]&3 == 3 {
				marked++
			}
		}
		p.now += 10 * time.Millisecond
		p.send(p.bufs[:count])
	}
	if marked == 0 {
		t.Error("no packet is marked after 300 ms in the queue")
	}
}

func TestUnknownLimitIsAnError(t *testing.T) {
	if _, err := newQueue("dqll"); err == nil {
		t.Error("dqll was accepted")
	}
}

func TestSocketsOfABindAreFound(t *testing.T) {
	q, err := newQueue("off")
	if err != nil {
		t.Fatal(err)
	}
	defer q.close()
	b := newLimitedBind(conn.NewStdNetBind(), q)
	if _, _, err := b.Open(0); err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if len(b.sockets) == 0 {
		t.Error("no socket was found")
	}
	expect(t, "level", b.level(), 0)
}

// The example depends on the buffers of wireguard-go: a packet is encrypted where Read put it.
func TestEachPacketOfADeviceBecomesADatagram(t *testing.T) {
	const packets = 100
	keys := [2]string{
		"a4e09292b651c278b9772c569f5fa9bb13d906b46ab68c9df9dc2b4409f8a209",
		"ce8d3ad1ccb633ec7b70c17814a5c76ecd029685050d344745ba05870e587d59",
	}
	var links [2]*tuntest.ChannelTUN
	var queues [2]*queue
	for side, bind := range bindtest.NewChannelBinds() {
		q, err := newQueue("off")
		if err != nil {
			t.Fatal(err)
		}
		q.now = func() time.Duration { return 0 } // No packet expires.
		limited := newLimitedBind(bind, q)
		limited.level = func() int { return 0 }
		link := tuntest.NewChannelTUN()
		logger := device.NewLogger(device.LogLevelError, "")
		wireguard := device.NewDevice(newLimitedTun(link.TUN(), q), limited, logger)
		t.Cleanup(wireguard.Close)
		private := strings.Repeat(fmt.Sprintf("%02x", side+1), 32)
		config := fmt.Sprintf("private_key=%s\npublic_key=%s\nendpoint=127.0.0.1:%d\n"+
			"allowed_ip=0.0.0.0/0\n", private, keys[1-side], side+1)
		if err := wireguard.IpcSet(config); err != nil {
			t.Fatal(err)
		}
		if err := wireguard.Up(); err != nil {
			t.Fatal(err)
		}
		links[side], queues[side] = link, q
	}
	ping := tuntest.Ping(netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.1"))
	go func() {
		for range packets {
			links[0].Outbound <- ping
		}
	}()
	for range packets {
		<-links[1].Inbound
	}
	// Send returns after the peer received the datagram.
	for range 1000 {
		if queues[0].stats().completed_packets == packets {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	expect(t, "completed", int(queues[0].stats().completed_packets), packets)
	expect(t, "expired", queues[0].expired, 0)
}
