package filelog

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// intactLog returns a directory with a log of twelve artifacts, in shards of five,
// each with its ID link.
func intactLog(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "handoff")
	log := openQuick(dir)
	for range 12 {
		if err := log.Link(logtest.Append(t, log, "a.md")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A site is an intact log in which a fault is to be made.
type site struct {
	t   *testing.T
	dir string
	log *Log
}

func (s site) path(name string) string { return filepath.Join(s.dir, name) }

func (s site) number(n handoff.Seq) string { return s.path(s.log.name(n)) }

// second returns the ID link of record n.
func (s site) second(n handoff.Seq) string {
	return s.log.File(logtest.Collect(s.t, s.log, n-1)[0])
}

func (s site) content(file string) string {
	b, err := os.ReadFile(file)
	s.must(err)
	return string(b)
}

func (s site) must(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

func (s site) put(name, content string) { s.must(os.WriteFile(s.path(name), []byte(content), 0o600)) }

// faults are single faults: each is found under its name, and repaired where that
// needs no intact record to change.
var faults = map[string]struct {
	make     func(site)
	name     func(site) string // of the finding; the empty log's where nil
	text     string
	repaired bool
}{
	"bit flip": {
		make: func(s site) {
			b := []byte(s.content(s.number(7)))
			b[0] ^= 1
			overwrite(s.t, s.number(7), string(b))
		},
		name: func(s site) string { return s.log.name(7) }, text: "not a valid record", repaired: true,
	},
	"cut": {
		make: func(s site) { b := s.content(s.number(7)); overwrite(s.t, s.number(7), b[:len(b)/2]) },
		name: func(s site) string { return s.log.name(7) }, text: "not a valid record", repaired: true,
	},
	"empty": {
		make: func(s site) { overwrite(s.t, s.number(12), "") },
		name: func(s site) string { return s.log.name(12) }, text: "not a valid record", repaired: true,
	},
	"unreadable": {
		make: func(s site) { s.must(os.Remove(s.number(7)), os.Mkdir(s.number(7), 0o700)) },
		name: func(s site) string { return s.log.name(7) }, text: "can't be read",
	},
	"missing first": {
		make: func(s site) { s.must(os.Remove(s.second(1)), os.Remove(s.number(1))) },
		name: func(s site) string { return s.log.name(1) }, text: "record 1 is missing", repaired: true,
	},
	"missing": {
		make: func(s site) { s.must(os.Remove(s.second(7)), os.Remove(s.number(7))) },
		name: func(s site) string { return s.log.name(7) }, text: "record 7 is missing", repaired: true,
	},
	"missing shard": {
		make: func(s site) {
			for n := handoff.Seq(6); n <= 10; n++ {
				s.must(os.Remove(s.second(n)))
			}
			s.must(os.RemoveAll(s.path("log/00000001")))
		},
		name: func(s site) string { return s.log.name(6) }, text: "records 6 to 10 are missing", repaired: true,
	},
	"missing, found by its ID link": {
		make: func(s site) { s.must(os.Remove(s.number(12))) }, text: "belongs to no record", repaired: true,
		name: func(s site) string { return recordsDir },
	},
	"doubled id": {
		make: func(s site) {
			s.must(os.Remove(s.second(9)))
			b, _, err := unsealed([]byte(s.content(s.number(8))))
			s.must(err)
			overwrite(s.t, s.number(9), string(sealed(bytes.Replace(b, []byte("a.md"), []byte("b.md"), 1))))
		},
		name: func(s site) string { return s.log.name(9) }, text: "has the ID",
	},
	"ID link of another record": {
		make: func(s site) {
			name := s.second(3)
			s.must(os.Remove(name), os.Link(s.number(4), name))
		},
		name: func(s site) string { return recordsDir }, text: "differs from record 3", repaired: true,
	},
	"ID link with other bytes": {
		make: func(s site) { overwrite(s.t, s.second(3), "{}") },
		name: func(s site) string { return recordsDir }, text: "differs from record 3", repaired: true,
	},
	"ID link of nothing": {
		make: func(s site) { s.put(recordsDir+"/art_01K0000000000000000000000A.json", "{}") },
		name: func(s site) string { return recordsDir }, text: "belongs to no record", repaired: true,
	},
	"wrong number": {
		make: func(s site) { s.must(os.Rename(s.number(12), s.path("log/00000002/000000000014.json"))) },
		name: func(s site) string { return s.log.name(12) }, text: "records 12 to 13 are missing", repaired: true,
	},
	"far number": {
		make: func(s site) {
			s.must(os.Mkdir(s.path("log/90000000"), 0o700), os.Rename(s.number(12), s.path("log/90000000/000450000001.json")))
		},
		name: func(s site) string { return s.log.name(12) }, text: "records 12 to 450000000 are missing",
	},
	"wrong shard": {
		make: func(s site) { s.must(os.Rename(s.number(12), s.path("log/00000001/000000000012.json"))) },
		name: func(s site) string { return "log/00000001/000000000012.json" }, text: "does not belong",
	},
	"unpadded number": {
		make: func(s site) { s.put("log/00000002/13.json", "{}") },
		name: func(s site) string { return "log/00000002/13.json" }, text: "does not belong",
	},
	"foreign file in a shard": {
		make: func(s site) { s.put("log/00000001/notes.txt", "") },
		name: func(s site) string { return "log/00000001/notes.txt" }, text: "does not belong",
	},
	"foreign file in the log": {
		make: func(s site) { s.put("log/notes.txt", "") },
		name: func(s site) string { return "log/notes.txt" }, text: "does not belong",
	},
	"no identity": {
		make: func(s site) { s.must(os.Remove(s.path(idName))) },
		name: func(s site) string { return idName }, text: "invalid log ID", repaired: true,
	},
	"bad identity": {
		make: func(s site) { overwrite(s.t, s.path(idName), strings.Repeat("x", 32)) },
		name: func(s site) string { return idName }, text: "invalid log ID", repaired: true,
	},
	"no log, but records": {
		make: func(s site) { s.must(os.RemoveAll(s.path("log"))) },
		name: func(s site) string { return recordsDir }, text: "belongs to no record", repaired: true,
	},
}

func TestCheckFindsEachFault(t *testing.T) {
	for name, tt := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := site{t: t, dir: intactLog(t)}
			s.log = openQuick(s.dir)
			s.must(sound(t, s.log))
			tt.make(s)

			before := files(t, s.dir)
			report, err := checkAll(t, openQuick(s.dir))
			s.must(err)
			if report.OK() || !slices.ContainsFunc(report.Findings, func(f handoff.Finding) bool {
				return !f.Note && strings.HasPrefix(f.Name, tt.name(s)) && strings.Contains(f.Text, tt.text)
			}) {
				t.Errorf("check finds %+v, want %s %q", report.Findings, tt.name(s), tt.text)
			}
			if after := files(t, s.dir); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Error("check changed something")
			}

			err = repairAll(t, openQuick(s.dir))
			if tt.repaired && err != nil {
				t.Errorf("repair: %v", err)
			}
			unchanged(t, before, files(t, s.dir))
			if err := sound(t, openQuick(s.dir)); (err == nil) != tt.repaired {
				t.Errorf("after repair: %v, want sound: %v", err, tt.repaired)
			}
			if tt.repaired {
				s.must(lossless(t, s.dir, openQuick(s.dir), nil))
			}
		})
	}
}

// unchanged checks that a repair left every number as it was, or renamed its file.
func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, content := range before {
		if !strings.HasPrefix(name, "log/0") || after[name] == content {
			continue
		}
		quarantined := false
		for other := range after {
			quarantined = quarantined || strings.HasPrefix(other, name+quarantinedDamage) && after[other] == content
		}
		if !quarantined {
			t.Errorf("repair changed %s", name)
		}
	}
}

// TestRepairFillsHoles marks each lost record, and renews the log's
// identity, once.
func TestRepairFillsHoles(t *testing.T) {
	s := site{t: t, dir: intactLog(t)}
	s.log = openQuick(s.dir)
	lost := []handoff.Seq{1, 5, 6, 9}
	for _, n := range lost {
		s.must(os.Remove(s.second(n)))
	}
	for _, n := range lost {
		s.must(os.Remove(s.number(n)))
	}
	old, err := s.log.ID(t.Context())
	s.must(err)
	err = repairAll(t, openQuick(s.dir))
	s.must(err)
	for _, r := range logtest.Collect(t, openQuick(s.dir), 0) {
		if _, gap := r.Fact.(*handoff.Gap); gap != slices.Contains(lost, r.Seq) {
			t.Errorf("record %d: gap %v", r.Seq, gap)
		}
	}
	renewed, err := openQuick(s.dir).ID(t.Context())
	s.must(err)
	if renewed == old {
		t.Error("the log has its old identity: an index would not rebuild")
	}
	before := files(t, s.dir)
	err = repairAll(t, openQuick(s.dir))
	s.must(err)
	if after := files(t, s.dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("a second repair changed something")
	}
}

// TestRepairDies stops a repair ahead of each of its steps: the next one repairs
// the log, and the hole is not filled before the identity is new.
func TestRepairDies(t *testing.T) {
	died := errors.New("died")
	for at := 1; ; at++ {
		s := site{t: t, dir: intactLog(t)}
		s.log = openQuick(s.dir)
		s.must(os.Remove(s.second(7)), os.Remove(s.number(7)), os.Remove(s.second(8)))
		old, err := s.log.ID(t.Context())
		s.must(err)
		left := at
		d := &hooked{disk: quick(s.dir), before: func(step) error {
			if left--; left <= 0 {
				return died
			}
			return nil
		}}
		err = repairAll(t, newLog(s.dir, d, 5, rand.Reader))
		if err == nil {
			return
		}
		if id, _ := s.log.ID(t.Context()); id == old && s.there(7) {
			t.Errorf("step %d: the hole is filled, and the identity is old", at)
		}
		err = repairAll(t, openQuick(s.dir))
		s.must(err, lossless(t, s.dir, openQuick(s.dir), nil))
	}
}

func (s site) there(n handoff.Seq) bool {
	_, err := os.Lstat(s.number(n))
	return err == nil
}

// TestNotes holds that what is derived or left behind is no fault.
func TestNotes(t *testing.T) {
	for name, tt := range map[string]struct {
		make  func(site)
		text  string
		stays bool // a repair keeps it
	}{
		"ID link missing": {make: func(s site) { s.must(os.Remove(s.second(3))) }, text: "is missing"},
		"all ID links missing": {
			make: func(s site) { s.must(os.RemoveAll(s.path(recordsDir))) }, text: "is missing",
		},
		"copied": {make: func(s site) { overwrite(s.t, s.second(3), s.content(s.number(3))) }, text: "is a copy",
			stays: true},
		"appended twice": {
			make: func(s site) {
				_, err := s.log.Append(s.t.Context(), logtest.Collect(s.t, s.log, 7)[0])
				s.must(err)
			},
			text: "repeats record 8", stays: true,
		},
		"old temporary": {
			make: func(s site) {
				s.must(os.MkdirAll(s.path(tmpDir), 0o700))
				s.put(tmpDir+"/record-1", "")
				s.must(os.Chtimes(s.path(tmpDir+"/record-1"), time.Time{}, time.Now().Add(-2*time.Hour)))
			},
			text: "is a temporary",
		},
		"new temporary": {
			make: func(s site) { s.must(os.MkdirAll(s.path(tmpDir), 0o700)); s.put(tmpDir+"/record-1", "") },
			text: "is a temporary", stays: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := site{t: t, dir: intactLog(t)}
			s.log = openQuick(s.dir)
			tt.make(s)
			noted := func() bool {
				report, err := checkAll(t, openQuick(s.dir))
				s.must(err)
				if !report.OK() {
					t.Errorf("check finds %+v, want notes only", report.Findings)
				}
				return slices.ContainsFunc(report.Findings, func(f handoff.Finding) bool {
					return strings.Contains(f.Text, tt.text)
				})
			}
			before := files(t, s.dir)
			if !noted() {
				t.Errorf("check has no note %q", tt.text)
			}
			err := repairAll(t, openQuick(s.dir))
			s.must(err)
			unchanged(t, before, files(t, s.dir))
			if noted() != tt.stays {
				t.Errorf("after repair there is a note %q: %v, want %v", tt.text, !tt.stays, tt.stays)
			}
		})
	}
}

// TestCheckOfNothing checks directories in which no log is.
func TestCheckOfNothing(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Join(dir, "none")} {
		report, err := checkAll(t, openQuick(d))
		if err != nil || report.Records != 0 || len(report.Findings) != 0 {
			t.Errorf("check of nothing: %+v, %v", report, err)
		}
	}
}

// TestCheckMemory checks a log in which a record has a finding, and one in which each artifact has: a finding takes
// little more than its text.
func TestCheckMemory(t *testing.T) {
	const n = 500
	dir := filepath.Join(t.TempDir(), "handoff")
	log := newLog(dir, quick(dir), shardSize, rand.Reader)
	for range n {
		if _, err := log.Append(t.Context(), newRecord()); err != nil { // without its link
			t.Fatal(err)
		}
	}
	check := func(want int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		report, err := log.Check(t.Context(), nil)
		runtime.ReadMemStats(&after)
		if err != nil || len(report.Findings) != want {
			t.Fatalf("Check: %d findings, %v, want %d", len(report.Findings), err, want)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	with := check(n)
	if err := log.Repair(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	each := (int64(with) - int64(check(0))) / n
	t.Logf("%d bytes for each finding", each)
	if each > 900 {
		t.Errorf("%d bytes are allocated for each finding, want at most 900", each)
	}
}

// TestCheckWhileWriting checks and repairs a log that grows: there is nothing
// to find, and a repair disturbs nobody.
func TestCheckWhileWriting(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "handoff")
	open := func() *Log { return newLog(dir, quick(dir), shardSize, rand.Reader) } // one long listing
	var writers sync.WaitGroup
	for range 4 {
		log := open()
		writers.Go(func() {
			for range 300 {
				r := newRecord()
				var err error
				if r.Seq, err = log.Append(t.Context(), r); err == nil {
					err = log.Link(r)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if err := sound(t, open()); err != nil {
			t.Error(err)
		}
		if err := repairAll(t, open()); err != nil {
			t.Errorf("repair: %v", err)
		}
	}
	report, err := checkAll(t, open())
	if err != nil || report.Records != 1200 || len(report.Findings) != 0 {
		t.Errorf("check of the log: %d records, %v, %v; want 1200 and nothing found", report.Records, report.Findings, err)
	}
	for name, content := range files(t, dir) {
		if strings.Contains(name, quarantinedLink) || bytes.Contains([]byte(content), []byte("log.gap")) {
			t.Errorf("a repair made %s", name)
		}
	}
}
