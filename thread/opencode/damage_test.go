package opencode_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/opencode"
)

// store writes a database with its write-ahead log and returns both.
func store(t testing.TB) (dir string, db, wal []byte) {
	t.Helper()
	dir = t.TempDir()
	books, _ := family()
	path := filepath.Join(dir, "opencode.db")
	write(t, path, true, books...)
	var err error
	if db, err = os.ReadFile(path); err == nil {
		wal, err = os.ReadFile(path + "-wal")
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, db, wal
}

// readAll reads all threads. Damage must be an error with a kind, or a warning.
func readAll(t testing.TB, dir string) {
	t.Helper()
	p := provider(t, dir)
	for _, err := range p.Threads(t.Context()) {
		tolerable(t, err)
	}
	th, err := p.Thread(t.Context(), parentID)
	if tolerable(t, err); err != nil {
		return
	}
	n := 0
	err = th.Read(t.Context(), thread.Tools, func(m thread.Message) error {
		if m.N > 0 {
			n++
		}
		if m.N > 0 && m.N != n {
			t.Errorf("message %d has number %d", n, m.N)
		}
		return nil
	})
	if tolerable(t, err); err != nil {
		return
	}
	if n != th.Messages || th.State.Status == "" || th.Usage.Completeness == "" {
		t.Errorf("got %d messages, %+v", n, th.Facts)
	}
	if u := th.Usage.Tokens; u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Output < 0 || u.Reasoning < 0 {
		t.Errorf("got usage %+v", u)
	}
	_, err = p.Agents(t.Context(), th)
	tolerable(t, err)
}

func tolerable(t testing.TB, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, handoff.NotFound) && !errors.Is(err, handoff.Unavailable) &&
		!errors.Is(err, handoff.Unsupported) {
		t.Errorf("got %v, want not found, unavailable or unsupported", err)
	}
}

// TestDamagedDatabase damages a database in many ways.
func TestDamagedDatabase(t *testing.T) {
	dir, _, wal := store(t)
	flat := filepath.Join(t.TempDir(), "opencode.db")
	books, _ := family()
	write(t, flat, false, books...)
	db, err := os.ReadFile(flat)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "opencode.db")
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	seed := rand.New(rand.NewPCG(5, 8))
	for i := range 120 {
		b := append([]byte(nil), db...)
		switch i % 3 {
		case 0:
			b = b[:seed.IntN(len(b))]
		case 1:
			for range 1 + seed.IntN(40) {
				b[seed.IntN(len(b))] ^= 1 << seed.IntN(8)
			}
		default:
			at := seed.IntN(len(b) - 2000)
			clear(b[at : at+2000])
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		readAll(t, dir)
	}
	for _, b := range [][]byte{nil, []byte("x"), []byte(strings.Repeat("SQLite format 3\x00", 500)), wal} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		readAll(t, dir)
	}
}

// TestTruncatedDatabase checks that a truncated thread is read as far as possible and
// has not ended.
func TestTruncatedDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "opencode.db")
	b := session(parentID, "", 0)
	for range 400 {
		b.user(strings.Repeat("words ", 200)).step("stop", one, said("yes"))
	}
	write(t, path, false, b)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	threadtest.CheckUnchanged(t, dir)
	th, err := provider(t, dir).Thread(t.Context(), parentID)
	if err == nil {
		err = th.Load(t.Context())
	}
	if errors.Is(err, handoff.Unavailable) {
		return
	}
	if err != nil || len(th.Warnings) == 0 || th.State.Status.Ended() || th.Usage.Completeness != thread.LowerBound {
		t.Errorf("got %v, %+v", err, th.Facts)
	}
}

// TestUnreadableStore checks that an unreadable database does not hide threads of
// another store, and that other threads are unavailable instead of not found.
func TestUnreadableStore(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "opencode")
	old(t, filepath.Join(dir, "storage"))
	if err := os.WriteFile(filepath.Join(dir, "opencode.db"), []byte(strings.Repeat("nonsense", 1000)),
		0o600); err != nil {
		t.Fatal(err)
	}
	threadtest.CheckUnchanged(t, home)
	p := provider(t, dir)
	th, err := p.Thread(t.Context(), oldID)
	if err != nil || len(th.Warnings) == 0 {
		t.Errorf("got %+v, %v, want a thread and a warning", th, err)
	}
	var e *handoff.Error
	if _, err := p.Thread(t.Context(), parentID); !errors.Is(err, handoff.Unavailable) || !errors.As(err, &e) ||
		e.Hint.IsZero() {
		t.Errorf("got %v, want unavailable and a hint", err)
	}
}

// TestModified checks the warnings about a checkpoint while a thread is read, and
// about an interrupted write.
func TestModified(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "opencode.db")
	write(t, path, false, session(parentID, "", 0).user("one").step("stop", one, said("two")))
	p := provider(t, dir)
	th, err := p.Thread(t.Context(), parentID)
	if err != nil {
		t.Fatal(err)
	}
	touch := func(thread.Message) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) }
	if err := th.Read(t.Context(), thread.Texts, touch); err != nil || len(th.Warnings) != 1 || th.State.Status.Ended() {
		t.Errorf("got %v, %+v", err, th.Facts)
	}
	if err := th.Load(t.Context()); err != nil || len(th.Warnings) != 0 || th.State.Status != thread.Completed {
		t.Errorf("read again: got %v, %+v", err, th.Facts)
	}
	if err := os.WriteFile(path+"-journal", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := th.Load(t.Context()); err != nil || len(th.Warnings) != 1 {
		t.Errorf("got %v, %v, want a warning", th.Warnings, err)
	}
}

// TestAnotherSchema checks that a database of another tool is not supported.
func TestAnotherSchema(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "opencode.db")
	write(t, path, false)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw = []byte(strings.ReplaceAll(string(raw), "session_id", "xession_id"))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := provider(t, dir).Thread(t.Context(), parentID); !errors.Is(err, handoff.Unsupported) {
		t.Errorf("got %v, want not supported", err)
	}
}

// TestNamedDatabase checks the variable that names the database, by its path or
// relative to the directory of the tool.
func TestNamedDatabase(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "opencode", "mine.db"), false, session(otherID, "", 0).user("hello"))
	for _, name := range []string{"mine.db", filepath.Join(dir, "opencode", "mine.db")} {
		env := map[string]string{"XDG_DATA_HOME": dir, "OPENCODE_DB": name}
		p := provider(t, opencode.Driver().Roots(func(k string) string { return env[k] }, "/nowhere")...)
		if _, err := p.Thread(t.Context(), otherID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzMessage reads any bytes as a message and as its part.
func FuzzMessage(f *testing.F) {
	books, _ := family()
	more, _ := lone()
	for _, b := range append(books, more...) {
		for _, p := range b.pages {
			for _, part := range p.parts {
				f.Add([]byte(text(p.data)), []byte(text(part)))
			}
		}
	}
	f.Add([]byte(`{"role":"assistant","tokens":{"input":-1,"output":1e300,"cache":[]},"cost":-1,"time":{"created":9e18}}`),
		[]byte(`{"type":"tool","tool":"task","state":{"metadata":{"sessionId":"`+parentID+`"}}}`))
	dir := f.TempDir()
	session(parentID, "", 0).user("x").files(f, filepath.Join(dir, "storage"), func(string, int) string {
		return "none.json"
	})
	put(f, filepath.Join(dir, "storage", "part", "m", "p.json"), obj{})
	f.Fuzz(func(t *testing.T, message, part []byte) {
		for name, b := range map[string][]byte{"message/" + parentID + "/m.json": message, "part/m/p.json": part} {
			if err := os.WriteFile(filepath.Join(dir, "storage", name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		readAll(t, dir)
	})
}

// FuzzDatabase reads any bytes as a database and its log.
func FuzzDatabase(f *testing.F) {
	dir, db, wal := store(f)
	f.Add(db, wal)
	f.Add(db, wal[:len(wal)/2])
	f.Add(db, []byte(nil))
	path := filepath.Join(dir, "opencode.db")
	f.Fuzz(func(t *testing.T, db, wal []byte) {
		if os.WriteFile(path, db, 0o600) != nil || os.WriteFile(path+"-wal", wal, 0o600) != nil {
			t.Fatal("can't write")
		}
		readAll(t, dir)
	})
}
