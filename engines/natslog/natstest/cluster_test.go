//go:build linux

package natstest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/engines/natslog"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// roleVariable has, in a process that a test starts, what the process does: it is a
// node of a cluster, or writes records.
const roleVariable = "HANDOFF_NATSTEST_ROLE"

// A node is one server of a cluster, in a process of its own. It reaches each other
// node through a proxy.
type node struct {
	Name          string
	Client, Route int // ports
	Routes        []string
	Dir           string

	proxies map[int]*proxy // to the node with this number
	process *exec.Cmd
}

// runNode is the process of a node.
func runNode(config string) error {
	var n node
	if err := json.Unmarshal([]byte(config), &n); err != nil {
		return err
	}
	o := &server.Options{ServerName: n.Name, Host: "127.0.0.1", Port: n.Client, JetStream: true, StoreDir: n.Dir,
		SyncAlways: true, NoSigs: true, NoLog: true, MaxPayload: 2 << 20,
		// others use their proxy
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: n.Route, NoAdvertise: true,
			Advertise: "127.0.0.1:1"}}
	for _, r := range n.Routes {
		u, err := url.Parse("nats-route://" + r)
		if err != nil {
			return err
		}
		o.Routes = append(o.Routes, u)
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	s.WaitForShutdown()
	return nil
}

type cluster []*node

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func startCluster(t *testing.T) cluster {
	var c cluster
	dir := t.TempDir()
	for i := range 3 {
		c = append(c, &node{Name: fmt.Sprint("n", i), Client: freePort(t), Route: freePort(t),
			Dir: filepath.Join(dir, fmt.Sprint(i)), proxies: map[int]*proxy{}})
	}
	for i, n := range c {
		for j, other := range c {
			if i != j {
				n.proxies[j] = newProxy(t, fmt.Sprint("127.0.0.1:", other.Route))
				n.Routes = append(n.Routes, n.proxies[j].address())
			}
		}
	}
	for _, n := range c {
		n.start(t)
	}
	t.Cleanup(func() {
		for _, n := range c {
			n.kill()
		}
	})
	return c
}

func (n *node) start(t *testing.T) {
	config, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	n.process = exec.Command(os.Args[0])
	n.process.Env = append(os.Environ(), roleVariable+"=node "+string(config))
	n.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.process.Start(); err != nil {
		t.Fatal(err)
	}
}

func (n *node) kill() {
	n.process.Process.Kill()
	n.process.Wait()
}

// isolate cuts or restores every connection between a node and the others. Clients
// can still reach it.
func (c cluster) isolate(i int, cut bool) {
	for j, n := range c {
		for k, p := range n.proxies {
			if j == i || k == i {
				p.refuse.Store(cut)
				if cut {
					p.cut()
				}
			}
		}
	}
}

func (c cluster) servers() (list []string) {
	for _, n := range c {
		list = append(list, fmt.Sprint("nats://127.0.0.1:", n.Client))
	}
	return list
}

// leader returns the number of the node that leads the stream.
func (c cluster) leader(t *testing.T) int {
	for range 100 {
		if nc, err := nats.Connect(strings.Join(c.servers(), ",")); err == nil {
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			s, err := js.Stream(t.Context(), "HANDOFF_team")
			nc.Close()
			if err == nil && s.CachedInfo().Cluster != nil {
				for i, n := range c {
					if n.Name == s.CachedInfo().Cluster.Leader {
						return i
					}
				}
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Fatal("the stream has no leader")
	return 0
}

// A writing is what a process writes.
type writing struct {
	Servers          []string
	Dir              string
	Threads, Records int           // records of each thread
	Pause            time.Duration // after each, so that it takes longer than the faults
}

func openTeam(servers []string, dir string) *natslog.Log {
	return natslog.Open(natslog.Options{Servers: servers, Name: "team", Runtime: dir, Replicas: 3,
		Poll: 500 * time.Millisecond, Timeout: 20 * time.Second, Rand: rand.Reader})
}

// runWriter is the process of a writer. A record that could not be appended is
// appended again, as after a failed publish.
func runWriter(config string) error {
	var w writing
	if err := json.Unmarshal([]byte(config), &w); err != nil {
		return err
	}
	l := openTeam(w.Servers, w.Dir)
	defer l.Close()
	var wg sync.WaitGroup
	var out sync.Mutex
	for thread := range w.Threads {
		wg.Go(func() {
			for range w.Records {
				r, err := handoff.NewRecord(time.Now(), rand.Reader, handoff.Producer{},
					&handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file"})
				for tries := 0; err == nil && tries < 20; tries++ {
					seq, failed := l.Append(context.Background(), r)
					if failed == nil {
						out.Lock()
						fmt.Println("acknowledged", thread, seq, r.ID)
						out.Unlock()
						time.Sleep(w.Pause)
						break
					}
					if !errors.Is(failed, handoff.Unavailable) {
						err = failed
					}
				}
				if err != nil {
					fmt.Println("failed", err)
					return
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// write starts processes that write, and returns a function that waits for them.
func (c cluster) write(t *testing.T, h *logtest.History, processes int, w writing) (wait func()) {
	var wg sync.WaitGroup
	for i := range processes {
		w.Servers, w.Dir = c.servers(), t.TempDir()
		config, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		p := exec.Command(os.Args[0])
		p.Env = append(os.Environ(), roleVariable+"=writer "+string(config))
		p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := p.StdoutPipe()
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for s := bufio.NewScanner(out); s.Scan(); {
				var thread, id string
				var seq handoff.Seq
				if n, _ := fmt.Sscanf(s.Text(), "acknowledged %s %d %s", &thread, &seq, &id); n == 3 {
					h.Acknowledge(fmt.Sprint(i, "-", thread), id, seq)
				} else {
					t.Errorf("writer %d: %s", i, s.Text())
				}
			}
			if err := p.Wait(); err != nil {
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	return wg.Wait
}

// TestCluster writes to three replicas while one node after another is killed and
// started again, and the leader is cut off from the others: no acknowledged record
// is lost, stored twice or reordered, and every reader's index answers the same.
func TestCluster(t *testing.T) {
	records, rounds, pauses := 150, 1, 30*time.Millisecond
	if os.Getenv("HANDOFF_LONG") != "" {
		records, rounds, pauses = 2500, 3, 15*time.Millisecond
	}
	c := startCluster(t)
	first := openTeam(c.servers(), t.TempDir())
	defer first.Close()
	h := &logtest.History{}
	for range 10 { // until the cluster has a leader
		r := logtest.NewRecord("a.md")
		seq, err := first.Append(t.Context(), r)
		if err == nil {
			h.Acknowledge("first", r.ID, seq)
			break
		}
		t.Log(err)
	}
	if h.Len() != 1 {
		t.Fatal("the cluster did not start")
	}
	wait := c.write(t, h, 4, writing{Threads: 2, Records: records, Pause: pauses})
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	live := follow(t, c)
	for range rounds {
		for _, n := range c {
			pause(done, time.Second)
			n.kill()
			pause(done, 2*time.Second)
			n.start(t)
			if rounds == 1 {
				break
			}
		}
		i := c.leader(t)
		before := h.Len()
		c.isolate(i, true)
		pause(done, 12*time.Second)
		c.isolate(i, false)
		t.Logf("%s led and was cut off: %d records before, %d after", c[i].Name, before, h.Len())
	}
	<-done
	if want := 1 + 8*records; h.Len() != want {
		t.Errorf("%d records were acknowledged, want %d", h.Len(), want)
	}
	live(handoff.Seq(h.Len()))
	newIndex := func() handoff.Index {
		x, err := sqlindex.Open(t.Context(), filepath.Join(t.TempDir(), "index.db"), "log")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return x
	}
	var readers []handoff.Log
	for i := range c { // each reader asks another node
		l := openTeam(c.servers()[i:i+1], t.TempDir())
		t.Cleanup(func() { l.Close() })
		readers = append(readers, l)
	}
	if n := h.Check(t, newIndex, readers...); n != h.Len() {
		t.Errorf("%d records are stored, want the %d that were acknowledged", n, h.Len())
	}
}

// TestIsolatedServer appends over a server that is cut off from the others. It answers
// that the stream does not respond, and another server is asked.
func TestIsolatedServer(t *testing.T) {
	c := startCluster(t)
	first := openTeam(c.servers(), t.TempDir())
	defer first.Close()
	for i := 0; ; i++ { // until the cluster has a leader
		_, err := first.Append(t.Context(), logtest.NewRecord("a.md"))
		if err == nil {
			break
		}
		if i == 10 {
			t.Fatal(err)
		}
	}
	other := (c.leader(t) + 1) % len(c)
	servers := append(c.servers()[other:other+1:other+1], slices.Delete(c.servers(), other, other+1)...)
	l := natslog.Open(natslog.Options{Servers: servers, Connect: []nats.Option{nats.DontRandomize()}, Name: "team",
		Runtime: t.TempDir(), Timeout: 20 * time.Second, Rand: rand.Reader})
	defer l.Close()
	if _, err := l.Append(t.Context(), logtest.NewRecord("b.md")); err != nil {
		t.Fatal(err)
	}
	c.isolate(other, true)
	time.Sleep(500 * time.Millisecond) // a message on its way gets no answer at all
	if _, err := l.Append(t.Context(), logtest.NewRecord("c.md")); err != nil {
		t.Errorf("Append over a server that is cut off: %v", err)
	}
	c.isolate(other, false)
	if n, err := l.Newest(t.Context()); n != 3 || err != nil {
		t.Errorf("Newest = %d, %v, want 3", n, err)
	}
}

// pause waits for a time, at most until done.
func pause(done <-chan struct{}, d time.Duration) {
	select {
	case <-done:
	case <-time.After(d):
	}
}

// follow reads the log while it is written, as watch does, and returns a function
// that waits until a record was read.
func follow(t *testing.T, c cluster) func(handoff.Seq) {
	l := openTeam(c.servers(), t.TempDir())
	t.Cleanup(func() { l.Close() })
	reached := make(chan handoff.Seq, 1)
	go func() {
		defer close(reached)
		for n := handoff.Seq(0); ; {
			err := l.Wait(t.Context(), n)
			for r, failed := range l.Read(t.Context(), n) {
				if err = failed; err != nil {
					break
				}
				if r.Seq != n+1 {
					t.Errorf("record %d follows record %d", r.Seq, n)
				}
				n = r.Seq
			}
			if t.Context().Err() != nil {
				return
			}
			if err != nil && !errors.Is(err, handoff.Unavailable) {
				t.Errorf("a reader of a growing log: %v", err)
				return
			}
			select {
			case <-reached:
			default:
			}
			reached <- n
		}
	}()
	return func(want handoff.Seq) {
		limit := time.After(time.Minute)
		for {
			select {
			case n, ok := <-reached:
				if !ok || n >= want {
					return
				}
			case <-limit:
				t.Errorf("a reader of a growing log did not reach record %d", want)
				return
			}
		}
	}
}
