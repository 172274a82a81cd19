package places_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/places"
	"github.com/agent-handoff/handoff/workspace/threads"
	"github.com/agent-handoff/handoff/workspace/work"
)

// TestGoneDirectories renames, moves, clones, removes and creates repositories and worktrees at
// random. After each step, every thread is in the list of the repository that a model names, in
// that of a directory which exists, or counted as gone, and no token is missing or counted twice.
func TestGoneDirectories(t *testing.T) {
	sequences := 4
	if os.Getenv("HANDOFF_LONG") != "" {
		sequences = 100
	}
	for seed := range sequences {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newMoves(t, uint64(seed))
			for range 14 {
				m.step()
				m.check()
			}
		})
	}
}

// A repo is a repository of the model.
type repo struct {
	path   string // of the main worktree, "" once it was removed
	linked map[string]bool
	family int // clones have the same
}

// A moves is a machine with its model.
type moves struct {
	*testing.T
	*rand.Rand
	dir     string
	env     map[string]string
	o       workspace.Options
	set     *thread.Set
	repos   []*repo
	seen    map[string][]*repo // by the path of a worktree: the repositories that had it
	threads map[string]string  // URI to directory
	within  bool               // all directories are in a workspace, which has the threads that no repository has
	log     []string
}

func newMoves(t *testing.T, seed uint64) *moves {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &moves{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), dir: dir, seen: map[string][]*repo{},
		threads: map[string]string{}, env: map[string]string{"HOME": dir, "CODEX_HOME": filepath.Join(dir, "codex")}}
	for above := dir; above != "/"; above = filepath.Dir(above) {
		_, err := os.Stat(filepath.Join(above, ".handoff"))
		m.within = m.within || err == nil
	}
	m.o.Getenv = func(name string) string { return m.env[name] }
	m.set = thread.NewSet([]thread.Driver{codex.Driver()}, m.o.Getenv, dir)
	return m
}

func (m *moves) git(dir string, args ...string) {
	m.Helper()
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := c.CombinedOutput(); err != nil {
		m.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (m *moves) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// free returns a path that does not exist, often one that did.
func (m *moves) free() string {
	for most := 12; ; most++ {
		path := filepath.Join(m.dir, "src", fmt.Sprint("p", m.IntN(most)))
		if _, err := os.Lstat(path); err != nil {
			return path
		}
	}
}

func (m *moves) exist() []*repo {
	return slices.DeleteFunc(slices.Clone(m.repos), func(r *repo) bool { return r.path == "" })
}

func (m *moves) step() {
	exist := m.exist()
	if len(exist) == 0 || m.IntN(6) == 0 {
		r := &repo{path: m.free(), linked: map[string]bool{}, family: len(m.repos)}
		m.log = append(m.log, "init "+r.path)
		m.must(os.MkdirAll(r.path, 0o755))
		m.git(r.path, "init", "-q")
		m.git(r.path, "commit", "-q", "--allow-empty", "-m", fmt.Sprint(len(m.repos)))
		m.repos, exist = append(m.repos, r), append(exist, r)
	}
	r := exist[m.IntN(len(exist))]
	path := m.free()
	switch m.IntN(7) {
	case 0, 1:
		m.log = append(m.log, "mv "+r.path+" "+path)
		m.must(os.Rename(r.path, path))
		r.path = path
		for dir := range r.linked {
			m.git(r.path, "worktree", "repair", dir)
		}
	case 2:
		m.log = append(m.log, "rm "+r.path)
		for dir := range r.linked {
			m.must(os.RemoveAll(dir))
		}
		m.must(os.RemoveAll(r.path))
		r.path, r.linked = "", map[string]bool{}
	case 3:
		m.log = append(m.log, "clone "+r.path+" "+path)
		m.git(m.dir, "clone", "-q", r.path, path)
		m.repos = append(m.repos, &repo{path, map[string]bool{}, r.family})
	case 4:
		m.log = append(m.log, "worktree add "+r.path+" "+path)
		m.git(r.path, "worktree", "add", "-q", "-f", "--detach", path)
		r.linked[path] = true
	default:
		for dir := range r.linked {
			m.log = append(m.log, "worktree move or remove "+dir+" "+path)
			delete(r.linked, dir)
			switch m.IntN(3) {
			case 0:
				m.git(r.path, "worktree", "remove", "--force", dir)
			case 1:
				m.must(os.RemoveAll(dir))
			default:
				m.git(r.path, "worktree", "move", "-f", dir, path)
				r.linked[path] = true
			}
			break
		}
	}
	m.work()
}

// work writes a thread in a directory of some worktrees.
func (m *moves) work() {
	for _, r := range m.exist() {
		for _, dir := range append([]string{r.path}, keys(r.linked)...) {
			if last := m.seen[dir]; len(last) == 0 || last[len(last)-1] != r {
				m.seen[dir] = append(last, r)
			}
			if m.IntN(3) > 0 {
				continue
			}
			id := fmt.Sprintf("019c871c-b1f9-7f60-9c4f-%012d", len(m.threads))
			cwd := dir
			if m.IntN(2) == 0 {
				cwd = filepath.Join(dir, "sub")
			}
			writeThread(m.T, m.env["CODEX_HOME"], id, cwd)
			m.threads["agents://codex/"+id] = cwd
		}
	}
}

func keys(set map[string]bool) (list []string) {
	for key := range set {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

// owner returns the repository of the model that has the threads of a directory, nil for none.
func (m *moves) owner(cwd string) *repo {
	dir := cwd
	if filepath.Base(dir) == "sub" {
		dir = filepath.Dir(dir)
	}
	for _, r := range m.repos {
		if r.path == dir || r.linked[dir] {
			return r
		}
	}
	for _, r := range slices.Backward(m.seen[dir]) {
		if r.path != "" {
			return r
		}
		for _, clone := range m.repos {
			if clone.family == r.family && clone.path != "" {
				return clone
			}
		}
	}
	return nil
}

// check lists the threads of every repository, after a command ran in each, and compares them
// with the model.
func (m *moves) check() {
	m.Helper()
	exist := m.exist()
	for _, r := range exist {
		m.list(r.path, threads.ListOptions{Limit: 1})
	}
	got, gone := map[string]string{}, -1
	for _, r := range exist {
		page := m.list(r.path, threads.ListOptions{})
		gone = page.Gone
		for _, i := range page.Threads {
			uri := i.URI.String()
			if got[uri] != "" {
				m.Errorf("%s is in %s and %s", uri, got[uri], r.path)
			}
			got[uri] = r.path
		}
	}
	nowhere := 0
	for uri, dir := range m.threads {
		want := cmp.Or(m.owner(dir), &repo{})
		if want.path == "" && !m.within {
			nowhere++
		}
		if got[uri] != want.path {
			m.Errorf("%s of %s is in %q, want %q\n%q", uri, dir, got[uri], want.path, m.log)
		}
	}
	if gone >= 0 && gone != nowhere {
		m.Errorf("%d threads are gone, want %d\n%q", gone, nowhere, m.log)
	}
	if listed := m.list(m.dir, threads.ListOptions{Gone: true}); len(listed.Threads) != nowhere {
		m.Errorf("%d threads are listed as gone, want %d\n%q", len(listed.Threads), nowhere, m.log)
	}
	costs, err := places.Cost(m.Context(), m.dir, m.o, m.set, work.CostOptions{By: "thread"})
	tokens := int64(0)
	if costs.Total.TotalTokens != nil {
		tokens = *costs.Total.TotalTokens
	}
	if want := int64(1_000_000 * len(m.threads)); err != nil || tokens != want {
		m.Errorf("all places used %d tokens and %v, want %d\n%q", tokens, err, want, m.log)
	}
	if m.Failed() {
		m.FailNow()
	}
}

func (m *moves) list(dir string, o threads.ListOptions) transcript.Page {
	m.Helper()
	w, err := workspace.Open(dir, m.o)
	m.must(err)
	defer w.Close()
	page, err := w.Threads(m.set).List(m.Context(), o)
	m.must(err)
	w.Note()
	return page
}
