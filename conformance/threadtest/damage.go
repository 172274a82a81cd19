package threadtest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// damages modify the lines of a transcript after the first.
var damages = []struct {
	name string
	do   func(file []byte) []byte
	all  bool // every message must still be read
	warn bool // there must be a warning
}{
	{"torn", func(b []byte) []byte { return append(b, `{"type":"mess`...) }, true, true},
	{"no last newline", func(b []byte) []byte { return bytes.TrimRight(b, "\n") }, true, false},
	{"half", func(b []byte) []byte { return b[:len(b)/2] }, false, false},
	{"empty", func([]byte) []byte { return nil }, false, false},
	{"noise", func(b []byte) []byte { return insert(b, "\x00\xff\xfe not json at all \x01") }, true, true},
	{"an array", func(b []byte) []byte { return insert(b, `[1,2,3]`) }, true, true},
	{"a number", func(b []byte) []byte { return insert(b, `17`) }, true, true},
	{"wrong kinds", func(b []byte) []byte {
		return insert(b, `{"type":{"a":[]},"payload":7,"message":[[]],"timestamp":{},"id":1,"usage":"x","sessionId":null}`)
	}, true, false},
	{"bad UTF-8", func(b []byte) []byte { return insert(b, "{\"type\":\"\xff\xfe\",\"payload\":{\"type\":\"\xc3\"}}") },
		true, false},
	{"deep", func(b []byte) []byte {
		return insert(b, `{"type":"x","payload":`+strings.Repeat("[", 200000)+strings.Repeat("]", 200000)+"}")
	}, true, false},
	{"deep and open", func(b []byte) []byte { return insert(b, strings.Repeat(`{"payload":`, 100000)) }, true, true},
	{"long", func(b []byte) []byte { return insert(b, `{"type":"x","payload":"`+strings.Repeat("x", 3<<20)+`"}`) }, true,
		false},
	{"longer than the maximum", func(b []byte) []byte {
		return insert(b, `{"type":"x","payload":"`+strings.Repeat("x", jsonl.MaxLine+1<<20)+`"}`)
	}, true, true},
	{"blank lines", func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n\n \n")) }, true,
		false},
}

// insert inserts a line after the first.
func insert(b []byte, line string) []byte {
	i := bytes.IndexByte(b, '\n') + 1
	return append(append(append([]byte{}, b[:i]...), line+"\n"...), b[i:]...)
}

func (s Suite) damaged(t *testing.T) {
	if !s.Lines {
		t.Skip("a transcript is not a file of lines")
	}
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			home := t.TempDir()
			want := s.Write(t, home)
			p := s.provider(t, s.set(home))
			sources := map[string]string{}
			for _, w := range want {
				th, err := p.Thread(t.Context(), w.ID)
				if err != nil {
					t.Fatal(err)
				}
				sources[w.ID] = th.Source
			}
			for _, source := range sources {
				if b, err := os.ReadFile(source); filepath.Ext(source) == ".jsonl" {
					if err != nil || os.WriteFile(source, d.do(b), 0o600) != nil {
						t.Fatal(err)
					}
				}
			}
			CheckUnchanged(t, home)
			for _, w := range want {
				if filepath.Ext(sources[w.ID]) == ".jsonl" {
					s.checkDamaged(t, w, s.provider(t, s.set(home)), d.all, d.warn)
				}
			}
		})
	}
}

// checkDamaged reads a thread whose transcript was damaged.
func (s Suite) checkDamaged(t *testing.T, w Thread, p thread.Provider, all, warn bool) {
	t.Helper()
	th, err := p.Thread(t.Context(), w.ID)
	if errors.Is(err, handoff.NotFound) && !all {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", w.ID, err)
	}
	got, _ := Messages(t, th)
	if all && strings.Join(got, "\n") != strings.Join(w.Messages, "\n") {
		t.Errorf("%s: got messages %q, want %q", w.ID, got, w.Messages)
	}
	if warn && len(th.Warnings) == 0 {
		t.Errorf("%s: got no warning", w.ID)
	}
	if _, err := p.Agents(t.Context(), th); err != nil {
		t.Errorf("%s: agents: %v", w.ID, err)
	}
	for _, err := range p.Threads(t.Context()) {
		if err != nil {
			t.Errorf("threads: %v", err)
		}
	}
}

// big reads a transcript that is larger than the memory that reading may use.
func (s Suite) big(t *testing.T) {
	if s.Big == nil || testing.Short() {
		t.Skip("no large transcript")
	}
	const most = 48 << 20
	size := int64(2 * most)
	if os.Getenv("HANDOFF_LONG") != "" {
		size *= 4
	}
	home := t.TempDir()
	id := s.Big(t, home, size)
	CheckUnchanged(t, home)
	th, err := s.provider(t, s.set(home)).Thread(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // memory is measured
	runtime.GC()
	base := heap()
	peak, n := base, 0
	err = th.Read(t.Context(), thread.Tools, func(thread.Message) error {
		if n++; n%256 == 0 {
			peak = max(peak, heap())
		}
		return nil
	})
	if err != nil || n == 0 {
		t.Fatalf("got %d messages, %v", n, err)
	}
	if grown := peak - base; grown > most {
		t.Errorf("reading %d MiB took %d MiB of memory, want at most %d", size>>20, grown>>20, most>>20)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
