package logtest

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Proxy forwards TCP connections to a server, with faults.
type Proxy struct {
	// Delay is how long a part of a message may be delayed.
	Delay atomic.Int64

	// Cut is one in how many parts of a request is lost with its connection, Lose the
	// same for replies: the server has then done what it was asked to do. 0 is none.
	Cut, Lose atomic.Int64

	// Cuts and Losses count what was lost.
	Cuts, Losses atomic.Int64

	listener net.Listener
	target   string
}

// NewProxy starts a proxy for a server, which is a host and port.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p := &Proxy{listener: listener, target: target}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// Addr returns the host and port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	var once sync.Once
	done := make(chan struct{})
	end := func() { once.Do(func() { close(done) }) }
	go func() { defer end(); p.forward(server, client, &p.Cut, &p.Cuts) }()
	go func() { defer end(); p.forward(client, server, &p.Lose, &p.Losses) }()
	<-done
}

// forward copies what from sends, until a part is lost.
func (p *Proxy) forward(to, from net.Conn, oneIn, lost *atomic.Int64) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if d := p.Delay.Load(); d > 0 {
				time.Sleep(time.Duration(rand.Int64N(d)))
			}
			if k := oneIn.Load(); k > 0 && rand.Int64N(k) == 0 {
				lost.Add(1)
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
