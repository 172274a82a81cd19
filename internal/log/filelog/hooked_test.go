package filelog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	randv2 "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
)

// A step is one piece of a disk's work.
type step struct {
	op   string // create, sync, link, linked; mkdir, second, exists, syncDir
	name string // as given to the disk
	old  string // of second
	file *hookedFile
	disk *hooked // which did it
}

func (s step) String() string { return s.op + " " + s.name }

// hooked is a disk that calls before ahead of each step and after once it
// worked. An error of theirs is the step's; with errSkip it does nothing and
// says that it worked.
type hooked struct {
	disk
	before, after func(step) error
}

var errSkip = errors.New("skip")

func (h *hooked) do(s step, work func() error) error {
	s.disk = h
	if h.before != nil {
		if err := h.before(s); errors.Is(err, errSkip) {
			return nil
		} else if err != nil {
			return err
		}
	}
	if err := work(); err != nil || h.after == nil {
		return err
	}
	return h.after(s)
}

func (h *hooked) create(content io.Reader, mode fs.FileMode) (temporary, error) {
	f := &hookedFile{disk: h}
	err := h.do(step{op: "create", file: f}, func() (err error) {
		f.temporary, err = h.disk.create(io.TeeReader(content, &f.content), mode)
		return err
	})
	if err != nil {
		if f.temporary != nil {
			f.close()
		}
		return nil, err
	}
	return f, nil
}

func (h *hooked) mkdir(name string) error {
	return h.do(step{op: "mkdir", name: name}, func() error { return h.disk.mkdir(name) })
}

func (h *hooked) link(old, new string) error {
	return h.do(step{op: "second", name: new, old: old}, func() error { return h.disk.link(old, new) })
}

func (h *hooked) exists(name string) (there bool, err error) {
	err = h.do(step{op: "exists", name: name}, func() (err error) {
		there, err = h.disk.exists(name)
		return err
	})
	return there, err
}

func (h *hooked) syncDir(name string) error {
	return h.do(step{op: "syncDir", name: name}, func() error { return h.disk.syncDir(name) })
}

type hookedFile struct {
	temporary
	disk    *hooked
	content strings.Builder
}

func (f *hookedFile) sync() error { return f.disk.do(step{op: "sync", file: f}, f.temporary.sync) }

func (f *hookedFile) link(name string) error {
	return f.disk.do(step{op: "link", name: name, file: f}, func() error { return f.temporary.link(name) })
}

func (f *hookedFile) linked() (ours bool, err error) {
	err = f.disk.do(step{op: "linked", file: f}, func() (err error) {
		ours, err = f.temporary.linked()
		return err
	})
	return ours, err
}

// quick is the system's disk without its waits: for tests that end before the
// machine does.
func quick(dir string) *hooked {
	return &hooked{disk: newSystem(dir), before: func(s step) error {
		if s.op == "sync" || s.op == "syncDir" {
			return errSkip
		}
		return nil
	}}
}

// openQuick opens a log with quick and few records a shard.
func openQuick(dir string) *Log { return newLog(dir, quick(dir), 5, rand.Reader) }

// interleave runs the writers a step at a time, in an order drawn from seed.
// Each calls its yield where another may take over.
func interleave(seed uint64, writers ...func(yield func())) {
	random := randv2.New(randv2.NewPCG(seed, 0))
	var running []func() (struct{}, bool)
	for _, w := range writers {
		next, stop := iter.Pull(func(yield func(struct{}) bool) { w(func() { yield(struct{}{}) }) })
		defer stop()
		running = append(running, next)
	}
	for len(running) > 0 {
		i := random.IntN(len(running))
		if _, more := running[i](); !more {
			running = slices.Delete(running, i, i+1)
		}
	}
}

// An ack is an acknowledgement: the record with this ID has this number.
type ack struct {
	id  string
	seq handoff.Seq
}

// lossless returns an error unless the log in dir opens, has each
// acknowledged record under its number, has no hole and no torn record, passes its
// check, and takes another record.
func lossless(t *testing.T, dir string, log *Log, acks []ack) error {
	t.Helper()
	var stored []handoff.Record
	for r, err := range log.Read(t.Context(), 0) {
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if _, torn := r.Fact.(*handoff.Damaged); torn {
			return fmt.Errorf("record %d is torn", r.Seq)
		}
		stored = append(stored, r)
	}
	for _, a := range acks {
		if int(a.seq) > len(stored) {
			return fmt.Errorf("acknowledged record %d is lost: there are %d", a.seq, len(stored))
		}
		if got := stored[a.seq-1].ID; got != a.id {
			return fmt.Errorf("record %d is %s, acknowledged was %s", a.seq, got, a.id)
		}
	}
	for _, open := range []*Log{log, newLog(dir, log.disk, log.shard, rand.Reader)} {
		if err := sound(t, open); err != nil {
			return err
		}
		seq, err := open.Append(t.Context(), newRecord())
		if err != nil {
			return fmt.Errorf("append afterwards: %w", err)
		}
		if int(seq) != len(stored)+1 {
			return fmt.Errorf("append afterwards: record %d, want %d", seq, len(stored)+1)
		}
		stored = append(stored, handoff.Record{})
	}
	return sound(t, log)
}

// checkAll verifies a log and its bodies as a workspace does.
func checkAll(t *testing.T, log *Log) (handoff.Report, error) {
	refs := new(content.References)
	report, err := log.Check(t.Context(), refs.Add)
	if err != nil {
		return report, err
	}
	found, err := content.CheckBodies(t.Context(), log.Bodies(), refs)
	report.Findings = append(report.Findings, found...)
	return report, err
}

// repairAll repairs a log and its bodies as a workspace does.
func repairAll(t *testing.T, log *Log) error {
	return errors.Join(log.Repair(t.Context(), time.Now()), log.Bodies().Repair(t.Context(), time.Now()))
}

// sound returns an error unless a check of the log finds nothing wrong.
func sound(t *testing.T, log *Log) error {
	report, err := checkAll(t, log)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if !report.OK() {
		return fmt.Errorf("check finds %+v", report.Findings)
	}
	return nil
}

// files returns the content of every regular file in dir.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		found[rel] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
