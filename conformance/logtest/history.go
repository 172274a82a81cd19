package logtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"crypto/rand"

	"github.com/agent-handoff/handoff"
)

// A History is what a log answered its writers: which records were acknowledged,
// as which number.
type History struct {
	mu      sync.Mutex
	writers map[string][]acknowledged // in the order of each writer
}

type acknowledged struct {
	id  string
	seq handoff.Seq
}

// Acknowledge notes that Append returned seq for a record of a writer.
func (h *History) Acknowledge(writer, id string, seq handoff.Seq) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writers == nil {
		h.writers = map[string][]acknowledged{}
	}
	h.writers[writer] = append(h.writers[writer], acknowledged{id, seq})
}

// Len returns the number of acknowledged records.
func (h *History) Len() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, list := range h.writers {
		n += len(list)
	}
	return n
}

// Check reads a log with several readers, each as another machine would, and reports
// an acknowledged record that is lost, has another number or comes before an earlier
// one of its writer, a record that is stored twice, and readers that read different
// records or whose indexes give different answers. It returns the number of records.
func (h *History) Check(t testing.TB, newIndex func() handoff.Index, readers ...handoff.Log) int {
	t.Helper()
	var stored []string
	var answers string
	for i, log := range readers {
		records := Collect(t, log, 0)
		got := ids(records)
		for n, r := range records {
			if r.Seq != handoff.Seq(n+1) {
				t.Fatalf("reader %d: record %d follows record %d", i, r.Seq, n)
			}
		}
		index := newIndex()
		if err := handoff.CatchUp(t.Context(), log, index); err != nil {
			t.Fatalf("reader %d: %v", i, err)
		}
		if a := answersOf(t, index); i == 0 {
			stored, answers = got, a
		} else if strings.Join(got, " ") != strings.Join(stored, " ") || a != answers {
			t.Errorf("reader %d reads %d records, reader 0 %d, or other ones, or their indexes differ", i, len(got),
				len(stored))
		}
	}
	seqs := map[string]handoff.Seq{}
	for i, id := range stored {
		if first := seqs[id]; first != 0 {
			t.Errorf("record %s is stored as %d and again as %d", id, first, i+1)
		}
		seqs[id] = handoff.Seq(i + 1)
	}
	for writer, list := range h.writers {
		last := handoff.Seq(0)
		for _, a := range list {
			switch seq := seqs[a.id]; {
			case seq == 0:
				t.Errorf("writer %s: record %s was acknowledged as %d and is lost", writer, a.id, a.seq)
			case seq != a.seq:
				t.Errorf("writer %s: record %s was acknowledged as %d and is %d", writer, a.id, a.seq, seq)
			case seq < last:
				t.Errorf("writer %s: record %s is %d, before its predecessor %d", writer, a.id, seq, last)
			}
			last = max(last, seqs[a.id])
		}
	}
	return len(stored)
}

// answersOf returns what an index answers to some questions.
func answersOf(t testing.TB, index handoff.Index) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	for _, q := range []handoff.ArtifactQuery{{}, {IncludeInactive: true}, {Channel: "design", Limit: 7},
		{Status: handoff.Superseded}} {
		page, err := index.Artifacts(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Encode(page); err != nil {
			t.Fatal(err)
		}
	}
	sessions, err := index.Sessions(t.Context(), handoff.SessionQuery{})
	if err == nil {
		err = e.Encode(sessions)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The variables of processes that Kill starts.
const (
	threadsVariable = "HANDOFF_LOGTEST_THREADS"
	runtimeVariable = "HANDOFF_LOGTEST_RUNTIME"
)

// Writers are processes that append to a log until they are killed.
type Writers struct {
	Test    string   // the name of the test, which calls Write first
	Env     []string // what a process needs to open the log
	Records int      // how many are to be acknowledged, at least
	Threads int      // goroutines of each process that append
}

// Write reports whether this is a process that Kill started. It then appends to the
// log that open opens with a runtime directory, until it is killed.
func Write(t *testing.T, open func(runtime string) handoff.Log) bool {
	var threads int
	if _, err := fmt.Sscan(os.Getenv(threadsVariable), &threads); err != nil {
		return false
	}
	log := open(os.Getenv(runtimeVariable))
	var wg sync.WaitGroup
	var out sync.Mutex
	for i := range threads {
		wg.Go(func() {
			var earlier []string
			for {
				f := &handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file"}
				if len(earlier) > 3 { // so that the order matters to an index
					f.Replaces, earlier = earlier[:1], nil
				}
				r, err := handoff.NewRecord(time.Now(), rand.Reader, handoff.Producer{}, f)
				if err != nil {
					t.Error(err)
					return
				}
				seq, err := log.Append(context.Background(), r)
				out.Lock()
				if err != nil {
					fmt.Println("failed", i, err)
				} else {
					fmt.Println("acknowledged", i, seq, r.ID)
					earlier = append(earlier, r.ID)
				}
				out.Unlock()
			}
		})
	}
	wg.Wait()
	return true
}

// Kill runs two writers at a time, on machines of their own, and kills them after a
// while, until enough records were acknowledged. A round without one doubles the while,
// for a slow machine. It returns what the log answered, and how many appends failed.
func (w Writers) Kill(t *testing.T) (*History, int) {
	t.Helper()
	h := &History{}
	failed := 0
	machines := []string{t.TempDir(), t.TempDir()}
	pace := time.Millisecond
	for round := 0; h.Len() < w.Records; round++ {
		before := h.Len()
		var running []*exec.Cmd
		var outputs []io.Reader
		for i := range machines {
			c := exec.Command(os.Args[0], "-test.run=^"+w.Test+"$", "-test.count=1")
			c.Env = append(append(os.Environ(), w.Env...), fmt.Sprintf("%s=%d", threadsVariable, max(w.Threads, 1)),
				runtimeVariable+"="+machines[i])
			out, err := c.StdoutPipe()
			if err == nil {
				err = c.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			running, outputs = append(running, c), append(outputs, out)
			after := time.Duration(700+370*((round+i)%4)+250*i) * pace
			time.AfterFunc(after, func() { c.Process.Kill() })
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		for i, out := range outputs {
			wg.Go(func() {
				for s := bufio.NewScanner(out); s.Scan(); {
					var thread, id string
					var seq handoff.Seq
					if n, _ := fmt.Sscanf(s.Text(), "acknowledged %s %d %s", &thread, &seq, &id); n == 3 {
						h.Acknowledge(fmt.Sprintf("%d-%d-%s", round, i, thread), id, seq)
					} else if strings.HasPrefix(s.Text(), "failed ") {
						mu.Lock()
						if failed++; failed%100 == 1 {
							t.Log(s.Text())
						}
						mu.Unlock()
					}
				}
			})
		}
		wg.Wait()
		for _, c := range running {
			_ = c.Wait() // it was killed
		}
		if h.Len() == before {
			if pace *= 2; pace > 256*time.Millisecond {
				t.Fatalf("%d records were acknowledged in %d rounds, none in the last", h.Len(), round+1)
			}
		}
		if round%10 == 9 {
			t.Logf("round %d: %d acknowledged", round+1, h.Len())
		}
	}
	return h, failed
}
