package access

import (
	"net"
	"net/http/httptest"
	"testing"
)

// TestHosts checks under which names a server answers, by what it listens on.
func TestHosts(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420}
	everywhere := &net.TCPAddr{IP: net.IPv6unspecified, Port: 7420}
	lan := &net.TCPAddr{IP: net.IPv4(192, 168, 1, 5), Port: 7420}
	for _, tt := range []struct {
		configured   string
		listening    net.Addr
		host, origin string
		ok, remote   bool
	}{
		{"127.0.0.1:7420", loopback, "127.0.0.1:7420", "", true, false},
		{"127.0.0.1:7420", loopback, "localhost:7420", "http://localhost:7420", true, false},
		{"127.0.0.1:7420", loopback, "LOCALHOST", "", true, false},
		{"localhost:7420", &net.TCPAddr{IP: net.IPv6loopback, Port: 7420}, "[::1]:7420", "", true, false},
		{"127.0.0.1:7420", loopback, "192.168.1.5:7420", "", false, false},
		{"127.0.0.1:7420", loopback, "evil.example:7420", "", false, false},
		{"127.0.0.1:7420", loopback, "", "", false, false},
		{"127.0.0.1:7420", loopback, "127.0.0.1:7420", "null", false, false},
		{"127.0.0.1:7420", loopback, "127.0.0.1:7420", "https://evil.example", false, false},
		{":7420", everywhere, "192.168.1.5:7420", "http://192.168.1.5:7420", true, true},
		{":7420", everywhere, "[fd00::5]:7420", "", true, true},
		{":7420", everywhere, "evil.example", "", false, true}, // a name can be made to mean this machine
		{"devbox:7420", lan, "devbox:7420", "", true, true},
		{"devbox:7420", lan, "192.168.1.6", "", false, true},
	} {
		h := NewHosts(tt.configured, tt.listening)
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		if reason := h.Reject(r); (reason == "") != tt.ok || h.Remote() != tt.remote {
			t.Errorf("listening on %s as %s, host %q, origin %q: got %q, remote %v; want ok %v, remote %v", tt.configured,
				tt.listening, tt.host, tt.origin, reason, h.Remote(), tt.ok, tt.remote)
		}
	}
}

func TestHasToken(t *testing.T) {
	for header, want := range map[string]bool{"Bearer secret": true, "Bearer secre": false, "Bearer ": false,
		"secret": false, "": false, "Basic secret": false} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		if got := HasToken(r, "secret"); got != want {
			t.Errorf("HasToken(%q) = %v, want %v", header, got, want)
		}
	}
	if Equal("", "") {
		t.Error("no secret equals another")
	}
}
