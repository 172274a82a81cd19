package filelog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// full is a disk on which the first so many numbers exist. It counts the names
// that are looked at, those beyond the end that only guard against a hole apart.
type full struct {
	disk
	log           *Log
	newest        handoff.Seq
	looks, guards int
}

func (f *full) exists(name string) (bool, error) {
	var n handoff.Seq
	if _, err := fmt.Sscanf(path.Base(name), "%d.json", &n); err != nil {
		f.guards++ // a shard
		return false, nil
	}
	if n > f.newest+1 && n <= f.newest+1+lookahead && f.log.last == f.newest {
		f.guards++
		return false, nil
	}
	f.looks++
	return n <= f.newest, nil
}

func TestSearchLooksAtFewNames(t *testing.T) {
	for _, tt := range []struct {
		newest, last handoff.Seq
		looks        int
	}{
		{1_000_000, 0, 50},
		{1_000_000, 1, 50},
		{1_000_000, 999_999, 5},
		{1_000_000, 1_000_000, 2},
		{1_000_000, 990_000, 30},
		{1 << 40, 0, 90},
		{0, 0, 1},
		{1, 0, 4},
	} {
		d := &full{newest: tt.newest}
		log := newLog(t.TempDir(), d, shardSize, rand.Reader)
		log.last, d.log = tt.last, log
		n, err := log.search()
		if err != nil || n != tt.newest+1 {
			t.Errorf("search among %d from %d = %d, %v", tt.newest, tt.last, n, err)
		}
		if d.looks > tt.looks || d.guards != lookahead+1 {
			t.Errorf("search among %d from %d looks at %d names and %d beyond the end, want at most %d and %d",
				tt.newest, tt.last, d.looks, d.guards, tt.looks, lookahead+1)
		}
		t.Logf("among %d, from %d: %d names, and %d beyond the end", tt.newest, tt.last, d.looks, d.guards)
	}
}

// hollow returns a directory with a log of so many records, in shards of five,
// of which some are gone again.
func hollow(t *testing.T, records int, gone ...handoff.Seq) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "handoff")
	log := openQuick(dir)
	for range records {
		logtest.Append(t, log, "a.md")
	}
	for _, n := range gone {
		if err := os.Remove(filepath.Join(dir, log.name(n))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func stretch(first, last handoff.Seq) (list []handoff.Seq) {
	for n := first; n <= last; n++ {
		list = append(list, n)
	}
	return list
}

// TestHoleIsRefused tests holes with a process that has not seen the log before.
func TestHoleIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		records int
		gone    []handoff.Seq
		read    string // the error of a read, "" for none
		append  string // the error of an append, "" if the hole is not where a record would be put
	}{
		"the next":          {4, stretch(3, 3), "record 3 is missing: 4 exists", "record 3 is missing: 4 exists"},
		"64 before another": {67, stretch(3, 66), "record 3 is missing: 67 exists", "record 3 is missing: 67 exists"},
		"65 before another": {68, stretch(3, 67), "record 3 is missing: log/00000001 exists",
			"record 3 is missing: log/00000001 exists"},
		"first of all":     {2, stretch(1, 1), "record 1 is missing: 2 exists", "record 1 is missing: 2 exists"},
		"last of a shard":  {6, stretch(5, 5), "record 5 is missing: 6 exists", ""},
		"first of a shard": {7, stretch(6, 6), "record 6 is missing: 7 exists", ""},
		"the next shard alone": {6, stretch(5, 6), "record 5 is missing: log/00000001 exists",
			"record 5 is missing: log/00000001 exists"},
		"the newest": {4, stretch(4, 4), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := hollow(t, tt.records, tt.gone...)
			before := files(t, dir)
			var got error
			for r, err := range openQuick(dir).Read(t.Context(), 0) {
				if got = err; err == nil && r.Seq >= tt.gone[0] {
					t.Errorf("read goes on to %d", r.Seq)
				}
			}
			mustSay(t, "read", got, tt.read)
			if tt.append != "" {
				_, got = openQuick(dir).Append(t.Context(), newRecord())
				mustSay(t, "append", got, tt.append)
				if after := files(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("a refused append changed the log")
				}
				return
			}
			seq, err := openQuick(dir).Append(t.Context(), newRecord())
			if err == nil && tt.read != "" && int(seq) != tt.records+1 {
				t.Errorf("append fills the hole at %d", seq)
			}
			if err != nil && !errors.Is(err, handoff.Corrupt) {
				t.Errorf("append: %v", err)
			}
		})
	}
}

// TestSearchVerifiesTheEnd holds that a search does not trust the first free
// number: neither where others exist beyond it, nor where it is taken during the search.
func TestSearchVerifiesTheEnd(t *testing.T) {
	for _, gone := range []handoff.Seq{1, 2, 3} {
		dir := hollow(t, 5, gone)
		if n, err := openQuick(dir).Newest(t.Context()); gone == 1 && (n != 0 || !errors.Is(err, handoff.Corrupt)) {
			t.Errorf("without record %d, Newest = %d, %v, want kind Corrupt", gone, n, err)
		}
		log := openQuick(dir)
		log.last = gone - 1
		if n, err := log.search(); n != 0 || !errors.Is(err, handoff.Corrupt) {
			t.Errorf("without record %d, search = %d, %v, want kind Corrupt", gone, n, err)
		}
		if log.atEnd {
			t.Errorf("without record %d, the log is taken to end", gone)
		}
	}
	dir := hollow(t, 3)
	other, raced := openQuick(dir), false
	log := newLog(dir, &hooked{disk: quick(dir), after: func(s step) error {
		if s.op == "exists" && strings.HasSuffix(s.name, "000000000004.json") && !raced {
			raced = true
			logtest.Append(t, other, "a.md")
			logtest.Append(t, other, "a.md")
		}
		return nil
	}}, 5, rand.Reader)
	if n, err := log.Newest(t.Context()); n != 5 || err != nil {
		t.Errorf("Newest while others append = %d, %v, want 5", n, err)
	}
}

func mustSay(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v, want no error", what, err)
		}
		return
	}
	if !errors.Is(err, handoff.Corrupt) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want kind Corrupt and %q", what, err, want)
	}
}

// TestLostEnd takes records away that a log has shown: it must not put others
// in their places.
func TestLostEnd(t *testing.T) {
	dir := hollow(t, 12)
	log := openQuick(dir)
	logtest.Collect(t, log, 0)
	openQuick(dir).mustAppend(t)
	for _, n := range stretch(8, 13) {
		os.Remove(filepath.Join(dir, log.name(n)))
	}
	logtest.Collect(t, openQuick(dir), 12) // by itself the log doesn't know
	log.atEnd = false                      // another writer was here
	_, err := log.Append(t.Context(), newRecord())
	mustSay(t, "append", err, "record 12 is missing: it existed before")
}

func (l *Log) mustAppend(t *testing.T) handoff.Seq {
	t.Helper()
	return logtest.Append(t, l, "a.md").Seq
}

// TestReadBeyondTheEnd holds that a position that a reader only asks for does not
// become a hole.
func TestReadBeyondTheEnd(t *testing.T) {
	dir := hollow(t, 3)
	log := openQuick(dir)
	for _, after := range []handoff.Seq{4, 5, 1000} {
		if got := logtest.Collect(t, log, after); len(got) != 0 {
			t.Fatalf("Read(%d) = %v", after, got)
		}
	}
	if n := log.mustAppend(t); n != 4 {
		t.Errorf("append after a read beyond the end is record %d, want 4", n)
	}
	if got := logtest.Collect(t, openQuick(dir), 0); len(got) != 4 {
		t.Errorf("%d records, want 4", len(got))
	}
}

// TestNoFalseAlarm runs three writers and a reader a step at a time, in many
// orders: none may take for a hole what is only not written yet.
func TestNoFalseAlarm(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	for seed := range 100 / repeats(3) {
		dir := filepath.Join(parent, fmt.Sprint(seed), "handoff")
		open := func(yield func()) *Log {
			return newLog(dir, &hooked{disk: quick(dir), before: func(step) error { yield(); return nil }}, 5, rand.Reader)
		}
		write := func(yield func()) {
			log := open(yield)
			for range 4 {
				if _, err := log.Append(t.Context(), newRecord()); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				log.atEnd = false // search again
			}
		}
		read := func(yield func()) {
			log, last := open(yield), handoff.Seq(0)
			for range 20 {
				for r, err := range log.Read(t.Context(), last) {
					if err != nil || r.Seq != last+1 {
						t.Errorf("seed %d: read after %d: %d, %v", seed, last, r.Seq, err)
						return
					}
					last = r.Seq
				}
				yield()
			}
		}
		check := func(yield func()) {
			for range 20 {
				yield()
				if err := sound(t, openQuick(dir)); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
		}
		interleave(seed, write, write, write, read, check)
		if got := logtest.Collect(t, openQuick(dir), 0); len(got) != 12 {
			t.Fatalf("seed %d: %d records, want 12", seed, len(got))
		}
	}
}

// faulty is quick with an error for the steps that begin with what, ahead of
// the work or after it.
func faulty(dir, what string, ahead bool, err error) *hooked {
	fail := func(s step) error {
		if strings.HasPrefix(s.String(), what) {
			return err
		}
		return nil
	}
	if ahead {
		return &hooked{disk: quick(dir), before: fail}
	}
	return &hooked{disk: quick(dir), after: fail}
}

// TestLostReply makes every link succeed and report that the name is taken, as a
// server does whose first answer was lost.
func TestLostReply(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "handoff")
	log := newLog(dir, faulty(dir, "link ", false, &os.LinkError{Op: "link", Err: syscall.EEXIST}), 5, rand.Reader)
	for want := handoff.Seq(1); want <= 12; want++ {
		if got := log.mustAppend(t); got != want {
			t.Fatalf("record %d, want %d", got, want)
		}
	}
	if got := logtest.Collect(t, openQuick(dir), 0); len(got) != 12 {
		t.Errorf("%d records, want 12: one append, one record", len(got))
	}
}

// TestContention has another writer take the next 100 numbers just before each
// link: a writer steps over them, and then searches.
func TestContention(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "handoff")
	other, taken, looks := openQuick(dir), 0, 0
	log := newLog(dir, &hooked{disk: quick(dir), before: func(s step) error {
		switch {
		case s.op == "exists":
			looks++
		case s.op == "link" && strings.HasPrefix(s.name, "log/0") && taken == 0:
			for ; taken < 100; taken++ {
				other.mustAppend(t)
			}
		case s.op == "linked":
			taken++
		}
		return nil
	}}, 5, rand.Reader)
	if n := log.mustAppend(t); n != 101 {
		t.Errorf("record %d, want 101", n)
	}
	if stepped := taken - 100; stepped > contended {
		t.Errorf("%d links were tried in vain, want a search after %d", stepped, contended)
	}
	if got := logtest.Collect(t, openQuick(dir), 0); len(got) != 101 {
		t.Errorf("%d records, want 101", len(got))
	}
}

// TestNoHardLinks makes a log where the file system has no hard links: nothing
// stays.
func TestNoHardLinks(t *testing.T) {
	for _, no := range []error{syscall.EPERM, syscall.EOPNOTSUPP, syscall.EMLINK} {
		root := t.TempDir()
		dir := filepath.Join(root, "handoff")
		d := faulty(dir, "link ", true, &os.LinkError{Op: "link", Err: no})
		_, err := newLog(dir, d, 5, rand.Reader).Append(t.Context(), newRecord())
		var e *handoff.Error
		if !errors.As(err, &e) || e.Kind != handoff.Unsupported || !strings.Contains(e.Hint.String(), "HANDOFF_DIR") {
			t.Errorf("%v: %v, want kind Unsupported with a hint", no, err)
		}
		if left, _ := os.ReadDir(root); len(left) != 0 {
			t.Errorf("%v: left %v behind", no, left)
		}
	}
}

// TestDiskRefuses has the disk refuse each step of an append in turn: nothing
// is recorded, and the log goes on once there is room.
func TestDiskRefuses(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"create", "sync ", "link ", "syncDir log/00000000", "mkdir log/00000001",
		"syncDir log"} {
		for _, no := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EIO} {
			dir := hollow(t, 5) // the next is the first of a shard
			before := files(t, dir)
			log := newLog(dir, faulty(dir, what, true, &os.PathError{Op: what, Err: no}), 5, rand.Reader)
			seq, err := log.Append(t.Context(), newRecord())
			var e *handoff.Error
			if seq != 0 || !errors.As(err, &e) || e.Kind != handoff.Unavailable || !errors.Is(err, no) {
				t.Errorf("%s: %v: Append = %d, %v, want kind Unavailable", what, no, seq, err)
			}
			if full := no == syscall.ENOSPC || no == syscall.EDQUOT; full != (e != nil &&
				strings.Contains(e.Hint.String(), "free disk space")) {
				t.Errorf("%s: %v: hint %q", what, no, e.Hint)
			}
			if after := files(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s: %v: something was recorded", what, no)
			}
			if err := lossless(t, dir, openQuick(dir), nil); err != nil {
				t.Errorf("%s: %v: %v", what, no, err)
			}
		}
	}
}

// TestUncertain has the disk refuse the sync after the link. The record exists
// then, and the error states that.
func TestUncertain(t *testing.T) {
	dir := hollow(t, 1)
	log := newLog(dir, faulty(dir, "syncDir log/00000000", true, &os.PathError{Op: "sync", Err: syscall.ENOSPC}), 5,
		rand.Reader)
	seq, err := log.Append(t.Context(), newRecord())
	if seq != 2 || !errors.Is(err, handoff.Unavailable) || !strings.Contains(err.Error(), "recorded as") {
		t.Errorf("Append = %d, %v, want record 2 and kind Unavailable", seq, err)
	}
	if got := logtest.Collect(t, openQuick(dir), 0); len(got) != 2 {
		t.Errorf("%d records, want 2", len(got))
	}
}

// TestUnwritable appends where a file has the name of a parent of the runtime
// directory, which is refused to everybody.
func TestUnwritable(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"file/handoff", "file/new/handoff"} {
		_, err := openQuick(filepath.Join(root, dir)).Append(t.Context(), newRecord())
		if !errors.Is(err, handoff.Unavailable) {
			t.Errorf("append in %s: %v, want kind Unavailable", dir, err)
		}
	}
	if os.Getuid() == 0 {
		return // may write anywhere
	}
	locked := filepath.Join(root, "locked")
	if err := os.Mkdir(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := openQuick(filepath.Join(locked, "handoff")).Append(t.Context(), newRecord())
	if !errors.Is(err, handoff.Unavailable) {
		t.Errorf("append in a locked directory: %v, want kind Unavailable", err)
	}
}

// TestDamagedRecord reads over a record that is no record.
func TestDamagedRecord(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "cut": `{"version":1,"ty`, "no object": "[]",
		"too large": strings.Repeat(" ", handoff.MaxRecord+1)} {
		dir := hollow(t, 4)
		overwrite(t, filepath.Join(dir, openQuick(dir).name(2)), content)
		got := logtest.Collect(t, openQuick(dir), 0)
		if len(got) != 4 {
			t.Fatalf("%s: %d records, want 4", name, len(got))
		}
		for _, r := range got {
			if _, damaged := r.Fact.(*handoff.Damaged); damaged != (r.Seq == 2) {
				t.Errorf("%s: record %d: damaged %v", name, r.Seq, damaged)
			}
		}
		if n := openQuick(dir).mustAppend(t); n != 5 {
			t.Errorf("%s: the next record is %d, want 5", name, n)
		}
	}
}

// TestUnreadableRecord has a record that can't be read: it must not be taken
// for one that is not there.
func TestUnreadableRecord(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"directory":  func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		"permission": func(file string) error { return os.Chmod(file, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			if name == "permission" && os.Getuid() == 0 {
				t.Skip("root may read everything")
			}
			dir := hollow(t, 4)
			if err := spoil(filepath.Join(dir, openQuick(dir).name(2))); err != nil {
				t.Fatal(err)
			}
			var got error
			n := 0
			for _, err := range openQuick(dir).Read(t.Context(), 0) {
				if got = err; err == nil {
					n++
				}
			}
			if n != 1 || !errors.Is(got, handoff.Unavailable) {
				t.Errorf("read %d records, then %v, want 1 and kind Unavailable", n, got)
			}
			if n := openQuick(dir).mustAppend(t); n != 5 {
				t.Errorf("the next record is %d, want 5", n)
			}
		})
	}
}

// overwrite replaces a file, which is then a file of its own.
func overwrite(t *testing.T, name, content string) {
	t.Helper()
	if err := errors.Join(os.Remove(name), os.WriteFile(name, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestWaitAtAHole checks that a wait for a record that was lost ends: others
// write on behind it, and it would never come.
func TestWaitAtAHole(t *testing.T) {
	t.Parallel()
	l := Open(t.TempDir()+"/.handoff", rand.Reader)
	for range 3 {
		logtest.Append(t, l, "a.md")
	}
	if err := os.Remove(filepath.Join(l.dir, l.name(2))); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err := Open(l.dir, rand.Reader).Wait(ctx, 1)
	if !errors.Is(err, handoff.Corrupt) || !strings.Contains(fmt.Sprint(err), "record 2 is missing") {
		t.Errorf("Wait = %v, want kind Corrupt and record 2", err)
	}
}
