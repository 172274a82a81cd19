//go:build linux

package natstest

import (
	"crypto/rand"
	"net/url"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/natslog"
	"github.com/nats-io/nats-server/v2/server"
)

// start starts a server with JetStream, without a cluster.
func start(t testing.TB, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true,
		NoLog: true, MaxPayload: 2 << 20}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server did not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

// machine opens the log of a workspace with a runtime directory.
func machine(t testing.TB, address, name, runtime string, change func(*natslog.Options)) *natslog.Log {
	t.Helper()
	o := natslog.Options{Servers: []string{"nats://" + address}, Name: name, Runtime: runtime, Poll: time.Second,
		Timeout: 20 * time.Second, Rand: rand.Reader}
	if change != nil {
		change(&o)
	}
	l := natslog.Open(o)
	t.Cleanup(func() { l.Close() })
	return l
}

func address(t testing.TB, s *server.Server) string {
	u, err := url.Parse(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func machines(t *testing.T) func() handoff.Log {
	at := address(t, start(t, nil))
	return func() handoff.Log { return machine(t, at, "team", t.TempDir(), nil) }
}

func TestLog(t *testing.T) { logtest.Run(t, machines) }

func TestLogAbilities(t *testing.T) { logtest.RunLogAbilities(t, machines) }

func bodiesOpener(t *testing.T) func() handoff.Bodies {
	at, dir := address(t, start(t, nil)), t.TempDir()
	return func() handoff.Bodies { return machine(t, at, "team", dir, nil).Bodies() }
}

func TestBodies(t *testing.T) { logtest.RunBodies(t, bodiesOpener) }

func TestBodyAbilities(t *testing.T) { logtest.RunBodyAbilities(t, bodiesOpener) }
