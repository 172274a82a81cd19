package filelog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// repeats returns how often a test is shortened: n times, or not where
// HANDOFF_LONG is set.
func repeats(n uint64) uint64 {
	if os.Getenv("HANDOFF_LONG") != "" {
		return 1
	}
	return n
}

func newRecord() handoff.Record { return logtest.NewRecord("a.md") }

// A node is a file or directory of a disk that loses power.
type node struct {
	// Of a file: a sync puts its content and the number of its names on stable
	// storage.
	content            string
	synced             bool
	links, stableLinks int

	// Of a directory: a sync copies names to stable.
	names, stable map[string]*node
}

func newDir() *node { return &node{names: map[string]*node{}, stable: map[string]*node{}} }

// dirty reports whether n has something that is not on stable storage.
func (n *node) dirty(journal bool) bool {
	if n.names == nil {
		return !n.synced || !journal && n.stableLinks == 0
	}
	return !maps.Equal(n.names, n.stable)
}

// A history is what was done to a disk, in order, with the acknowledgements that
// the writers got. It starts with an empty directory, in which the runtime
// directory is "handoff".
type history struct {
	steps []step
	acks  []ack
	after []int // the number of steps before each ack

	// unnamed makes temporaries files that have no name before they are linked.
	unnamed bool
}

// acked returns the acknowledgements up to a step.
func (h *history) acked(cut int) []ack {
	i, _ := slices.BinarySearch(h.after, cut+1)
	return h.acks[:i]
}

// disk returns the disk after the first steps.
func (h *history) disk(cut int) *node {
	root, temporaries := newDir(), map[*hookedFile]*node{}
	at := func(name string) *node {
		n := root
		for _, part := range strings.Split(path.Join("handoff", name), "/") {
			if part != "." {
				n = n.names[part]
			}
		}
		return n
	}
	put := func(name string, n *node) { at(path.Dir(name)).names[path.Base(name)] = n }
	for _, s := range h.steps[:cut] {
		switch s.op {
		case "create":
			n := &node{content: s.file.content.String(), links: 1}
			if h.unnamed {
				n.links = 0
			}
			temporaries[s.file] = n
		case "sync":
			n := temporaries[s.file]
			n.synced, n.stableLinks = true, n.links
		case "link":
			n := temporaries[s.file]
			n.links++
			put(s.name, n)
		case "second":
			n := at(s.old)
			n.links++
			put(s.name, n)
		case "mkdir":
			if s.name == "." {
				root.names["handoff"] = newDir()
				continue
			}
			put(s.name, newDir())
		case "syncDir":
			d := at(s.name)
			d.stable = maps.Clone(d.names)
		}
	}
	return root
}

// crashes calls visit with every state in which a power loss can leave a disk:
// what is not on stable storage is kept or dropped, a file or directory at a
// time. Without a journal, a file that had no name when it was last synced loses
// the names that it got since: the repair of the file system takes it for
// deleted. A state is the content of each file and "/" for each directory.
func crashes(root *node, journal bool, visit func(map[string]*node)) {
	var dirty []*node
	var look func(n *node)
	look = func(n *node) {
		if n.dirty(journal) && !slices.Contains(dirty, n) {
			dirty = append(dirty, n)
		}
		for _, name := range slices.Sorted(maps.Keys(n.names)) {
			look(n.names[name])
		}
	}
	look(root)
	for mask := range 1 << len(dirty) {
		kept := func(n *node) bool {
			i := slices.Index(dirty, n)
			return i < 0 || mask>>i&1 == 1
		}
		state := map[string]*node{}
		var leave func(name string, n *node)
		leave = func(name string, n *node) {
			if n.names == nil {
				switch {
				case kept(n):
				case !journal && n.stableLinks == 0:
					return
				case !n.synced:
					n = &node{}
				}
				state[name] = n
				return
			}
			state[name] = n
			names := n.stable
			if kept(n) {
				names = n.names
			}
			for base, child := range names {
				leave(path.Join(name, base), child)
			}
		}
		leave(".", root)
		visit(state)
	}
}

// fingerprint distinguishes states.
func fingerprint(state map[string]*node) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(state)) {
		fmt.Fprintf(&b, "%s %q\n", name, state[name].content)
	}
	return b.String()
}

// write makes the state in dir. A file with two names is one file.
func write(t *testing.T, dir string, state map[string]*node) {
	t.Helper()
	names := map[*node]string{}
	for _, name := range slices.Sorted(maps.Keys(state)) {
		n, file := state[name], filepath.Join(dir, name)
		var err error
		switch first, again := names[n]; {
		case n.names != nil:
			err = os.Mkdir(file, 0o700)
		case again:
			err = os.Link(first, file)
		default:
			err = os.WriteFile(file, []byte(n.content), 0o400)
		}
		if err != nil {
			t.Fatal(err)
		}
		names[n] = file
	}
}

// log returns a log of which every step is recorded, unless before says that
// it is not done.
func (h *history) log(dir string, before func(step) error) *Log {
	return newLog(dir, &hooked{disk: quick(dir), before: before,
		after: func(s step) error {
			if s.op != "exists" && s.op != "linked" {
				h.steps = append(h.steps, s)
			}
			return nil
		},
	}, 3, rand.Reader)
}

// append appends a record, with a body where there is a text, and records the
// acknowledgement.
func (h *history) append(ctx context.Context, log *Log, text string) error {
	r := newRecord()
	if text != "" {
		d, err := log.Bodies().Put(ctx, strings.NewReader(text))
		if err != nil {
			return err
		}
		p := r.Fact.(*handoff.ArtifactPublished)
		p.Kept, p.Digest = true, d
	}
	var err error
	if r.Seq, err = log.Append(ctx, r); err != nil {
		return err
	}
	h.acks, h.after = append(h.acks, ack{r.ID, r.Seq}), append(h.after, len(h.steps))
	return log.Link(r)
}

// record runs writers that append each so many records, in an order drawn from
// seed, and returns what they did. Where they keep bodies, each record's is one
// that every writer keeps. A step that skip selects is not done.
func record(t *testing.T, seed uint64, writers, each int, keep bool, skip func(writer int, s step) bool) *history {
	t.Helper()
	h := &history{}
	dir := filepath.Join(t.TempDir(), "handoff")
	var list []func(func())
	for w := range writers {
		list = append(list, func(yield func()) {
			log := h.log(dir, func(s step) error {
				yield()
				if skip != nil && skip(w, s) {
					return errSkip
				}
				return nil
			})
			for i := range each {
				text := ""
				if keep {
					text = fmt.Sprint("body ", i)
				}
				if err := h.append(t.Context(), log, text); err != nil {
					t.Errorf("seed %d: %v", seed, err)
					return
				}
			}
		})
	}
	interleave(seed, list...)
	return h
}

// survives returns an error if a power loss at some point of the history can
// lose something, and how many states were looked at.
func survives(t *testing.T, h *history) (states int, err error) {
	t.Helper()
	seen, parent := map[string]bool{}, t.TempDir()
	// From the end: the same state must hold most when it is reached last.
	for cut := len(h.steps); cut >= 0 && err == nil; cut-- {
		visit := func(state map[string]*node) {
			print := fingerprint(state)
			if err != nil || seen[print] {
				return
			}
			seen[print] = true
			dir := filepath.Join(parent, fmt.Sprint(len(seen)))
			write(t, dir, state)
			dir = filepath.Join(dir, "handoff")
			if err = lossless(t, dir, newLog(dir, quick(dir), 3, rand.Reader), h.acked(cut)); err != nil {
				last := "nothing"
				if cut > 0 {
					last = h.steps[cut-1].String()
				}
				err = fmt.Errorf("after step %d, %s: %w\n%s", cut, last, err, print)
			}
		}
		for _, journal := range []bool{true, false} {
			crashes(h.disk(cut), journal, visit)
		}
	}
	return len(seen), err
}

// TestPowerLoss cuts the power at every point of real appends, from an empty
// directory over the ends of shards. HANDOFF_LONG tests more orders of writers.
func TestPowerLoss(t *testing.T) {
	for _, tt := range []struct {
		writers, each int
		keep          bool
		seeds         uint64
	}{{1, 8, false, 1}, {2, 4, false, 6}, {3, 3, false, 6}, {1, 4, true, 1}, {2, 2, true, 8}} {
		t.Run(fmt.Sprintf("%d/kept=%v", tt.writers, tt.keep), func(t *testing.T) {
			t.Parallel()
			total := 0
			for seed := range max(1, tt.seeds/repeats(2)) {
				h := record(t, seed, tt.writers, tt.each, tt.keep, nil)
				states, err := survives(t, h)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				total += states
			}
			t.Logf("%d states", total)
		})
	}
}

// TestPowerLossIsSeen leaves out one sync at a time: each is there for a
// reason, and the test above would notice.
func TestPowerLossIsSeen(t *testing.T) {
	for name, skip := range map[string]func(step) bool{
		"the record":            func(s step) bool { return s.op == "sync" },
		"the shard":             func(s step) bool { return s.op == "syncDir" && strings.HasPrefix(s.name, "log/") },
		"the log":               func(s step) bool { return s.op == "syncDir" && s.name == "log" },
		"the runtime directory": func(s step) bool { return s.op == "syncDir" && s.name == "." },
		"the one above":         func(s step) bool { return s.op == "syncDir" && s.name == ".." },
		"a body": func(s step) bool {
			return s.op == "sync" && strings.HasPrefix(s.file.content.String(), "body")
		},
		"a body's directory":    func(s step) bool { return s.op == "syncDir" && strings.HasPrefix(s.name, bodiesDir+"/") },
		"the bodies":            func(s step) bool { return s.op == "syncDir" && s.name == bodiesDir },
		"what holds the bodies": func(s step) bool { return s.op == "syncDir" && s.name == "bodies" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := survives(t, record(t, 0, 1, 2, true, func(_ int, s step) bool { return skip(s) })); err == nil {
				t.Errorf("leaving out the sync of %s loses nothing", name)
			}
		})
	}
}

// TestSharedBodyIsSynced lets a writer die before the name of its body is on stable
// storage, and before the directory that it created for it is: the next writer, which
// finds them there, sees to it.
func TestSharedBodyIsSynced(t *testing.T) {
	t.Parallel()
	died := errors.New("died")
	for _, sees := range []bool{true, false} {
		for name, fails := range map[string]func() func(step) bool{
			"the directory": func() func(step) bool {
				return func(s step) bool { return s.op == "syncDir" && strings.HasPrefix(s.name, bodiesDir+"/") }
			},
			"the directories": func() func(step) bool {
				created := false
				return func(s step) bool {
					created = created || s.op == "mkdir" && strings.HasPrefix(s.name, bodiesDir+"/")
					return created && s.op == "syncDir" && s.name == bodiesDir
				}
			},
		} {
			h, dir := &history{}, filepath.Join(t.TempDir(), "handoff")
			stop := func(as error) func(step) error {
				failed := fails()
				return func(s step) error {
					if failed(s) {
						return as
					}
					return nil
				}
			}
			if err := h.append(t.Context(), h.log(dir, stop(died)), "body"); err == nil {
				t.Fatal("the first writer did not die")
			}
			second := h.log(dir, nil)
			if !sees {
				second = h.log(dir, stop(errSkip))
			}
			if err := h.append(t.Context(), second, "body"); err != nil {
				t.Fatal(err)
			}
			if _, err := survives(t, h); (err == nil) != sees {
				t.Errorf("where the second writer syncs %s (%v): %v", name, sees, err)
			}
		}
	}
}

// TestSkippedShardIsSynced lets a writer die between the last record of a shard
// and the sync of that shard. The next writer finds the number taken and starts a
// new shard: no power loss may leave its record after a hole.
func TestSkippedShardIsSynced(t *testing.T) {
	t.Parallel()
	died := errors.New("died")
	for _, sees := range []bool{true, false} {
		h, dir := &history{}, filepath.Join(t.TempDir(), "handoff")
		log := h.log(dir, nil)
		for range 2 {
			if err := h.append(t.Context(), log, ""); err != nil {
				t.Fatal(err)
			}
		}
		oldShard := func(as error) func(step) error {
			return func(s step) error {
				if s.op == "syncDir" && s.name == "log/00000000" {
					return as
				}
				return nil
			}
		}
		second := h.log(dir, oldShard(errSkip))
		if sees {
			second = h.log(dir, nil)
		}
		if _, err := second.Newest(t.Context()); err != nil { // before the first one takes 3
			t.Fatal(err)
		}
		if err := h.append(t.Context(), h.log(dir, oldShard(died)), ""); err == nil {
			t.Fatal("the first writer did not die")
		}
		if err := h.append(t.Context(), second, ""); err != nil || h.acks[len(h.acks)-1].seq != 4 {
			t.Fatalf("the second writer: %v, %v, want record 4", h.acks, err)
		}
		if _, err := survives(t, h); (err == nil) != sees {
			t.Errorf("where the second writer syncs the old shard (%v): %v", sees, err)
		}
	}
}

// TestUnnamedTemporaryIsSeen checks that the tests above would notice temporaries
// without a name. A file system without a journal loses the records of an
// unnamed file that is not synced again after its link. With that sync, a record
// that another writer acknowledges in between still follows a hole.
func TestUnnamedTemporaryIsSeen(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		var found error
		for seed := range uint64(20) {
			h := record(t, seed, 2, 2, false, nil)
			h.unnamed = true
			if again {
				h.syncAfterLink()
			}
			if _, found = survives(t, h); found != nil {
				break
			}
		}
		if found == nil {
			t.Errorf("unnamed temporaries, synced again (%v), lose nothing", again)
		}
		t.Log(again, found)
	}
}

// syncAfterLink makes each writer sync what it linked again before it syncs a
// directory.
func (h *history) syncAfterLink() {
	var steps []step
	lengths := []int{0} // after so many of the old steps
	for _, s := range h.steps {
		if s.op == "syncDir" {
			for _, before := range steps {
				if before.op == "link" && before.file.disk == s.disk {
					steps = append(steps, step{op: "sync", file: before.file})
				}
			}
		}
		steps = append(steps, s)
		lengths = append(lengths, len(steps))
	}
	h.steps = steps
	for i, n := range h.after {
		h.after[i] = lengths[n]
	}
}
