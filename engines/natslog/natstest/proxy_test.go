//go:build linux

package natstest

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A proxy is between clients and a server, and can delay, cut and change what they
// send.
type proxy struct {
	net.Listener
	target string

	delay   atomic.Int64                 // nanoseconds for each piece of data to the client
	lose    atomic.Int64                 // how many acknowledgements are lost, each with its connection
	refuse  atomic.Bool                  // new connections are closed
	rewrite func(toClient []byte) []byte // may be nil
	sending atomic.Pointer[func()]       // called before a record is sent to the server; may be nil

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, target: target}
	t.Cleanup(func() {
		l.Close()
		p.cut()
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *proxy) address() string { return p.Addr().String() }

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	if p.refuse.Load() {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns = append(p.conns, client, server)
	p.mu.Unlock()
	go func() {
		defer server.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := client.Read(buffer)
			if do := p.sending.Load(); do != nil && bytes.Contains(buffer[:n], []byte("HPUB handoff.")) {
				(*do)()
			}
			if _, failed := server.Write(buffer[:n]); err != nil || failed != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(p.delay.Load()))
		b := buffer[:n]
		if bytes.Contains(b, []byte(`"seq":`)) && p.lose.Add(-1) >= 0 {
			return
		}
		if p.rewrite != nil {
			b = p.rewrite(b)
		}
		if _, err := client.Write(b); err != nil {
			return
		}
	}
}
