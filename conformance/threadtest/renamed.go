package threadtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// renamed renames every type, member with usage and table of the transcripts of the
// suite, one at a time. No thread may be exact with another total.
func (s Suite) renamed(t *testing.T) {
	home := t.TempDir()
	s.Write(t, home)
	r := renamer{t: t, driver: s.Driver, home: home, most: 50}
	if os.Getenv("HANDOFF_LONG") != "" {
		r.most = 1 << 20
	}
	r.all()
	r.report()
}

// CheckRenamed does the same for the threads that the program wrote in the directories
// of Transcripts, Clients and Ledgers: for all of them if HANDOFF_LONG is set, otherwise
// for some.
func CheckRenamed(t *testing.T, d thread.Driver) {
	t.Helper()
	homes := realHomes(t, d)
	if len(homes) == 0 {
		t.Skipf("no homes of %s", d.Name)
	}
	r := renamer{t: t, driver: d, most: 40, files: 4, beside: 4}
	if os.Getenv("HANDOFF_LONG") != "" {
		r = renamer{t: t, driver: d, most: 1 << 20}
	}
	for _, home := range homes {
		r.home = t.TempDir()
		if err := os.CopyFS(r.home, os.DirFS(home)); err != nil {
			t.Fatal(err)
		}
		r.all()
	}
	r.report()
}

// realHomes returns the home directories in the directories of real threads in which the
// driver finds some.
func realHomes(t *testing.T, d thread.Driver) (homes []string) {
	var candidates []string
	for env, patterns := range map[string][]string{"HANDOFF_TRANSCRIPTS": {d.Name + "/*"},
		"HANDOFF_CLIENTS": {"*", "../*/*/home"}} {
		for _, pattern := range patterns {
			found, err := filepath.Glob(filepath.Join(os.Getenv(env), pattern))
			if err != nil {
				t.Fatal(err)
			}
			if os.Getenv(env) != "" {
				candidates = append(candidates, found...)
			}
		}
	}
	slices.Sort(candidates)
	for _, home := range candidates {
		roots := d.Roots(func(string) string { return "" }, home)
		if slices.ContainsFunc(roots, func(root string) bool { _, err := os.Stat(root); return err == nil }) {
			homes = append(homes, home)
		}
	}
	return homes
}

// A renamer renames parts of the transcripts in a home directory.
type renamer struct {
	t      *testing.T
	driver thread.Driver
	home   string
	most   int // renamings of a file
	files  int // files of a home, 0 for all
	beside int // threads that are read for a file that has none, 0 for all

	tried int
	wrong []string // renamings after which a thread is exact with another total
}

// all renames parts of all files.
func (r *renamer) all() {
	all := r.totals()
	for _, path := range sampled(r.transcripts(), r.files) {
		threads := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.source != path })
		if len(threads) == 0 {
			threads = sampled(all, r.beside)
		}
		r.file(path, []byte(ReadFile(r.t, path)), threads)
	}
}

// transcripts returns the files of JSON and the databases of the home directory.
func (r *renamer) transcripts() (files []string) {
	err := filepath.WalkDir(r.home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && slices.Contains([]string{".json", ".jsonl", ".db", ".sqlite", ".vscdb",
			".sqlite3"}, filepath.Ext(path)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

// sampled returns at most n elements of a list, 0 for all.
func sampled[E any](list []E, n int) []E {
	if n == 0 || len(list) <= n {
		return list
	}
	var some []E
	for i := range n {
		some = append(some, list[i*len(list)/n])
	}
	return some
}

// file renames parts of one file, and reads the threads after each.
func (r *renamer) file(path string, content []byte, threads []found) {
	if isDatabase(content) {
		mergeLog(r.t, path)
		content = []byte(ReadFile(r.t, path))
		for _, c := range sampled(changes(r.t, path), r.most) {
			if c.apply(r.t, path) {
				r.compare(path, c.what, threads)
			}
			r.write(path, content)
		}
		return
	}
	for _, n := range sampled(renamings(content), r.most) {
		r.write(path, n.apply(content))
		r.compare(path, n.what, threads)
	}
	r.write(path, content)
}

func (r *renamer) write(path string, content []byte) {
	if err := os.WriteFile(path, content, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// A found is a thread and its usage.
type found struct {
	id, source string
	usage      thread.Usage
}

// totals returns all threads. Those that can't be read are left out.
func (r *renamer) totals() (list []found) {
	for s, err := range thread.StoredIn(r.t.Context(), r.driver.Name, Open(r.t, r.driver, r.home)) {
		if err != nil {
			continue
		}
		threads, err := s.Open(r.t.Context())
		if err != nil {
			continue
		}
		for _, th := range threads {
			if err := th.Load(r.t.Context()); err == nil {
				list = append(list, found{th.ID, th.Source, th.Usage})
			}
		}
	}
	return list
}

// compare notes a renaming in a file after which a thread of threads is exact with
// another total than before.
func (r *renamer) compare(path, what string, threads []found) {
	r.tried++
	p := Open(r.t, r.driver, r.home)
	for _, before := range threads {
		th, err := p.Thread(r.t.Context(), before.id)
		if err == nil {
			err = th.Load(r.t.Context())
		}
		if err != nil || th.Source != before.source || th.Usage.Completeness != thread.Exact ||
			th.Usage.Total() == before.usage.Total() {
			continue
		}
		name, _ := filepath.Rel(r.home, path)
		r.wrong = append(r.wrong, fmt.Sprintf("%s: %s: thread %s is exact with %d tokens, was %s with %d", name, what,
			before.id, th.Usage.Total(), before.usage.Completeness, before.usage.Total()))
		return
	}
}

// report fails the test if the program is misread.
func (r *renamer) report() {
	r.t.Helper()
	if len(r.wrong) > 0 {
		r.t.Error(strings.Join(r.wrong, "\n"))
	}
	r.t.Logf("%d renamings, %d of them change a total that is exact", r.tried, len(r.wrong))
}
