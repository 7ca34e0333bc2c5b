// wireguard-go, a user-space WireGuard, with and without taut.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"golang.zx2c4.com/wireguard/conn"
	"golang.zx2c4.com/wireguard/device"
	"golang.zx2c4.com/wireguard/ipc"
	"golang.zx2c4.com/wireguard/tun"
)

func main() {
	limit := flag.String("limit", "taut",
		"`LIMIT` of the bytes between the TUN device and the link, or plain for no taut")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: wireguard-taut [--limit LIMIT] INTERFACE")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *limit); err != nil {
		fmt.Fprintln(os.Stderr, "wireguard-taut:", err)
		os.Exit(1)
	}
}

// run serves a device until it is deleted or the user stops it. `wg` configures it.
func run(name, limit string) error {
	bind := conn.NewStdNetBind()
	var packets *queue
	if limit != "plain" {
		var err error
		if packets, err = newQueue(limit); err != nil {
			return fmt.Errorf("--limit %s: %w", limit, err)
		}
		bind = newLimitedBind(bind, packets)
	}
	link, err := tun.CreateTUN(name, device.DefaultMTU)
	if err != nil {
		return fmt.Errorf("creating the TUN device %s, which needs CAP_NET_ADMIN: %w", name, err)
	}
	if packets != nil {
		link = newLimitedTun(link, packets)
	}
	file, err := ipc.UAPIOpen(name)
	if err != nil {
		return err
	}
	control, err := ipc.UAPIListen(name, file)
	if err != nil {
		return err
	}
	defer control.Close()
	wireguard := device.NewDevice(link, bind, device.NewLogger(device.LogLevelError, name+": "))
	defer wireguard.Close()
	go serve(control, wireguard)
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	select {
	case <-stopped:
	case <-wireguard.Wait():
	}
	if packets != nil {
		it := packets.stats()
		fmt.Fprintf(os.Stderr, "%d packets sent, %d dropped, %d marked, %d expired; limit %d bytes\n",
			it.sent_packets, it.dropped_packets, it.marked_packets, packets.expired, it.limit)
	}
	return nil
}

// serve configures the device until its control socket is removed.
func serve(control net.Listener, wireguard *device.Device) {
	for {
		connection, err := control.Accept()
		if err != nil {
			return
		}
		go wireguard.IpcHandle(connection)
	}
}
