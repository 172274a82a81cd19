package program

import (
	"net"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/workspace"
)

// TestServeThreads checks where threads are served: on loopback, and beyond it
// only with the flag.
func TestServeThreads(t *testing.T) {
	w, err := workspace.Open(t.TempDir(), workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	a := &cli.App{Getenv: func(string) string { return "" }}
	for _, tt := range []struct {
		listen        string
		ip            net.IP
		threads, want bool
	}{
		{"127.0.0.1:7420", net.IPv4(127, 0, 0, 1), false, true},
		{"[::1]:7420", net.IPv6loopback, false, true},
		{"0.0.0.0:7420", net.IPv4zero, false, false},
		{"192.0.2.7:7420", net.IPv4(192, 0, 2, 7), false, false},
		{"0.0.0.0:7420", net.IPv4zero, true, true},
	} {
		hosts := access.NewHosts(tt.listen, &net.TCPAddr{IP: tt.ip, Port: 7420})
		o := pageOptions(a, w, serveFlags{listen: tt.listen, threads: tt.threads}, "a-token-for-tests-only", hosts, tt.listen)
		if got := o.Source.Threads != nil; got != tt.want {
			t.Errorf("--listen %s, --threads=%t: threads are served: %t, want %t", tt.listen, tt.threads, got, tt.want)
		}
	}
}
