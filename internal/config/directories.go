package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/settings"
)

// directoriesName is the name of the file with the repositories of the roots of worktrees, in the
// directory of the user's state: of a directory that no longer exists, git can't be asked. A line
// has the directory, the common git directory, the time at which that was created, IDs of root
// commits, and byHand or nothing, separated by tabs.
const directoriesName = "directories"

// byHand marks a line that SetMoved added.
const byHand = "moved"

// The limits of what is remembered: the newest lines, and the first root commits of a repository.
// A command adds at most maxOthers worktrees of other repositories, because git is started in each.
const (
	maxDirectories = 4000
	maxRootCommits = 3
	maxOthers      = 8
	maxRootsWait   = 2 * time.Second
)

// A repository identifies a git repository. Clones have the same root commits; the time at which the
// git directory was created stays when that is renamed or moved. A workspace outside git has
// its root as the common directory, and nothing else.
type repository struct {
	common  string
	created string // nanoseconds since 1970, "" if it is not known
	roots   string // IDs of root commits, separated by spaces; "" before the first commit, unread
}

// unread stands for root commits that git could not read in time, or at all.
const unread = "-"

// ids returns the IDs of the root commits, none if they are unread.
func (r repository) ids() []string { return strings.Fields(strings.TrimPrefix(r.roots, unread)) }

// createdAt returns when a common git directory was created, and whether it exists: git writes
// its description then, and never again.
func createdAt(common string) (created string, exists bool) {
	if info, err := os.Stat(filepath.Join(common, "description")); err == nil {
		return fmt.Sprint(info.ModTime().UnixNano()), true
	}
	_, err := os.Stat(common)
	return "", err == nil
}

// line returns the line of a directory of the repository, with a mark.
func (r repository) line(dir, mark string) string {
	return strings.Join([]string{dir, r.common, r.created, r.roots, mark}, "\t")
}

// isLike reports whether two repositories have a root commit in common or, if those of one are not
// known, were created at the same time.
func (r repository) isLike(o repository) bool {
	if min(len(r.roots), len(o.roots)) <= len(unread) {
		return r.created != "" && r.created == o.created
	}
	return slices.ContainsFunc(r.ids(), func(id string) bool { return strings.Contains(o.roots, id) })
}

// directories are what is remembered.
type directories struct {
	lines  []string
	dirs   []string                // in the order of the lines, each once
	of     map[string][]repository // by directory, the last one in the last line
	like   map[string][]repository // by root commit and by time of creation
	states memo[string, string]    // of common directories: when they were created, "-" if they don't exist
	owners memo[repository, string]
}

// A memo keeps the results of a function by its arguments.
type memo[K comparable, V any] map[K]V

func (m memo[K, V]) of(k K, f func(K) V) V {
	v, known := m[k]
	if !known {
		v = f(k)
		m[k] = v
	}
	return v
}

// readDirectories returns what the file in a state directory has, or has of some directories. Nothing if it
// can't be read: it is a convenience.
func readDirectories(state string, of ...string) *directories {
	d := &directories{of: map[string][]repository{}, like: map[string][]repository{}, states: memo[string, string]{},
		owners: memo[repository, string]{}}
	b, err := plainfile.Read(filepath.Join(state, directoriesName), maxConfig)
	if state == "" || err != nil {
		return d
	}
	for line := range strings.Lines(string(b)) {
		if dir, _, _ := strings.Cut(line, "\t"); len(of) == 0 || slices.Contains(of, dir) {
			d.add(strings.TrimSuffix(line, "\n"))
		}
	}
	return d
}

// isRemembered reports whether the last line of each worktree is up to date. It reads no other
// line: most commands have nothing to add.
func (w Workspace) isRemembered() bool {
	dirs := slices.DeleteFunc(w.existing(), IsGone)
	d := readDirectories(w.memory.state, dirs...)
	created, _ := createdAt(w.common)
	return !slices.ContainsFunc(dirs, func(dir string) bool {
		list := d.of[dir]
		if len(list) == 0 {
			return true
		}
		last := list[len(list)-1]
		return last.common != w.common || last.created != created || last.roots == ""
	})
}

// add adds a line. One that is malformed is left out.
func (d *directories) add(line string) {
	fields := strings.Split(line, "\t")
	if len(fields) != 5 || !filepath.IsAbs(fields[0]) || !filepath.IsAbs(fields[1]) {
		return
	}
	dir, r := fields[0], repository{fields[1], fields[2], fields[3]}
	if d.of[dir] == nil {
		d.dirs = append(d.dirs, dir)
	}
	d.lines, d.of[dir] = append(d.lines, line), append(d.of[dir], r)
	d.addLike(r)
}

func (d *directories) addLike(r repository) {
	for _, key := range append(r.ids(), r.created) {
		if key != "" && !slices.Contains(d.like[key], r) {
			d.like[key] = append(d.like[key], r)
		}
	}
}

// has reports whether the common directory of a repository exists and is the one that was remembered.
func (d *directories) has(r repository) bool {
	const gone = "-"
	now := d.states.of(r.common, func(common string) string {
		created, exists := createdAt(common)
		if !exists {
			return gone
		}
		return created
	})
	return now == r.created || (r.created == "" && now != gone)
}

// owner returns the common directory of a repository as it is now, or else of its clone that was
// remembered first; "" if none is known.
func (d *directories) owner(r repository) string {
	return d.owners.of(r, func(r repository) string {
		candidates := []repository{r}
		for _, id := range r.ids() {
			candidates = append(candidates, d.like[id]...)
		}
		for _, o := range candidates {
			if common := d.now(o); common != "" {
				return common
			}
		}
		return ""
	})
}

// now returns where a repository is now: where it was, or where one that was created at the same
// time is; "" if that is not known.
func (d *directories) now(r repository) string {
	if d.has(r) {
		return r.common
	}
	for _, o := range d.like[r.created] {
		if o.isLike(r) && d.has(o) {
			return o.common
		}
	}
	return ""
}

// home returns the common directory of the last repository of a directory of which the owner is known,
// "" for none.
func (d *directories) home(dir string) string {
	for _, r := range slices.Backward(d.of[dir]) {
		if common := d.owner(r); common != "" {
			return common
		}
	}
	return ""
}

// identify returns the repository of a worktree. git is started if it has commits and is not
// remembered.
func (d *directories) identify(ctx context.Context, dir, common string) repository {
	created, _ := createdAt(common)
	r := repository{common, created, ""}
	for _, known := range slices.Backward(d.like[created]) {
		if known.common == common {
			r = known
			break
		}
	}
	isEmpty := IsGone(filepath.Join(common, "logs", "HEAD")) && IsGone(filepath.Join(common, "packed-refs"))
	if r.roots != "" || isEmpty {
		return r
	}
	roots, _ := git.Roots(ctx, dir) // then they are unread
	r.roots = cmp.Or(strings.Join(roots[:min(len(roots), maxRootCommits)], " "), unread)
	return r
}

// A memory is what one process needs of the file.
type memory struct {
	state string

	mu     sync.Mutex
	own    *repository // the repository of the workspace
	others []string    // worktrees of others that are not remembered
}

// remembered reads what is remembered, and returns the repository of the workspace with it.
func (w Workspace) remembered() (*directories, repository) {
	d := readDirectories(w.memory.state)
	w.memory.mu.Lock()
	defer w.memory.mu.Unlock()
	if w.memory.own == nil {
		own := repository{common: w.Root}
		if w.common != "" {
			ctx, cancel := context.WithTimeout(context.Background(), maxRootsWait)
			defer cancel()
			own = d.identify(ctx, w.Root, w.common)
		}
		w.memory.own = &own
	}
	d.addLike(*w.memory.own)
	return d, *w.memory.own
}

// withFormer returns worktrees without those that are gone and were of another repository since, and
// with the directories that are gone and were roots of worktrees of this one.
func (w Workspace) withFormer(list []string) []string {
	d, own := w.remembered()
	list = slices.DeleteFunc(list, func(dir string) bool {
		home := d.home(dir)
		return home != "" && home != own.common && IsGone(dir)
	})
	isOwn := func(r repository) bool { return r.common == own.common || r.isLike(own) }
	for _, dir := range d.dirs {
		is := slices.ContainsFunc(d.of[dir], isOwn) && d.home(dir) == own.common && IsGone(dir)
		if is && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// IsGone reports whether nothing has a path. What can't be looked at is not gone.
func IsGone(dir string) bool {
	_, err := os.Lstat(dir)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Gone returns a function that reports whether a directory no longer exists and is not known to
// be of a repository or workspace that does. It notes the places of other directories for Remember, if
// they are not remembered. The function is for one goroutine.
func (w Workspace) Gone() func(dir string) bool {
	d, _ := w.remembered()
	places, gone := memo[string, string]{}, memo[string, bool]{}
	var place func(dir string) string // the nearest repository or workspace above a directory, "" for none
	place = func(dir string) string {
		switch parent := filepath.Dir(dir); {
		case d.of[dir] != nil || isPlace(dir):
			return dir
		case dir != parent:
			return places.of(parent, place)
		}
		return ""
	}
	return func(dir string) bool {
		if !filepath.IsAbs(dir) {
			return false
		}
		at := filepath.Clean(dir)
		missing := gone.of(at, IsGone)
		if missing {
			at = Resolve(at) // as what is remembered
		}
		for ; gone.of(at, IsGone); at = filepath.Dir(at) {
			if d.home(at) != "" {
				return false
			}
		}
		root := places.of(at, place)
		if root != "" && d.of[root] == nil {
			w.memory.mu.Lock()
			w.memory.others = append(w.memory.others, root)
			w.memory.mu.Unlock()
		}
		return root == "" && missing
	}
}

// Remember remembers the directories of the worktrees of the repository, and of those that Gone
// noted. A failure is ignored: the next command tries again.
func (w Workspace) Remember() {
	w.memory.mu.Lock()
	others := slices.Compact(slices.Sorted(slices.Values(w.memory.others)))
	w.memory.mu.Unlock()
	if len(others) == 0 && (w.common == "" || w.isRemembered()) {
		return
	}
	d, own := w.remembered()
	var lines []string
	add := func(dir string, r repository) {
		known := slices.Contains(d.of[dir], r) && d.home(dir) == r.common
		if !known && !strings.ContainsAny(dir+r.common, "\t\r\n") {
			lines = append(lines, r.line(dir, ""))
		}
	}
	if w.common != "" && d.has(own) {
		for _, dir := range w.existing() {
			if !IsGone(dir) {
				add(dir, own)
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxRootsWait) // for all of them
	defer cancel()
	for most := len(lines) + maxOthers; len(others) > 0 && len(lines) < most; others = others[1:] {
		g, ok := readGit(others[0])
		if !ok || g.missing {
			continue
		}
		if r := d.identify(ctx, others[0], g.common); ctx.Err() == nil {
			add(others[0], r)
		}
	}
	if len(lines) > 0 {
		state := w.memory.state
		add := func() []string { return append(readDirectories(state).lines, lines...) }
		_ = changeLines(context.Background(), state, directoriesName, maxDirectories, add)
	}
}

// SetMoved remembers that the directory from, which no longer exists, is of the repository or workspace
// that the directory to is in. If to is "", it removes what it has added for from.
//
// Kinds: Invalid (from exists, or has a tab or a line break), NotFound (to does not), Unavailable.
func SetMoved(ctx context.Context, getenv func(string) string, from, to string) error {
	from = Resolve(from)
	line := ""
	if to != "" {
		w, err := Find(to, getenv)
		if err != nil {
			return err
		}
		if strings.ContainsAny(from+w.Root, "\t\r\n") {
			threads := url.URL{Scheme: "agents", Path: from}
			return handoff.E("config set", from, handoff.Invalid, errors.New("has a tab or a line break"),
				handoff.Suggest("list its threads", handoff.ActionThread, threads.String()))
		}
		if !IsGone(from) {
			return handoff.E("config set", from, handoff.Invalid, errors.New("exists, so its threads are listed there"),
				handoff.Advice("name a directory that no longer exists, and then the one that it is now"))
		}
		_, r := w.remembered()
		line = r.line(from, byHand)
	}
	state := userdir.State(getenv)
	err := changeLines(ctx, state, directoriesName, maxDirectories, func() []string {
		lines := slices.DeleteFunc(readDirectories(state).lines, func(line string) bool {
			return strings.HasPrefix(line, from+"\t") && strings.HasSuffix(line, "\t"+byHand)
		})
		return append(lines, line)
	})
	if err != nil {
		return handoff.E("config set", filepath.Join(state, directoriesName), handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the directory writable").OrSet("XDG_STATE_HOME to another one"))
	}
	return nil
}

// MovedSettings returns what SetMoved has set.
func MovedSettings(getenv func(string) string) (list []settings.Entry) {
	state := userdir.State(getenv)
	for _, line := range readDirectories(state).lines {
		if fields := strings.Split(line, "\t"); fields[4] == byHand {
			to := strings.TrimSuffix(fields[1], "/.git")
			list = append(list, settings.Entry{Name: "moved", Value: fields[0] + " " + to,
				Source: filepath.Join(state, directoriesName)})
		}
	}
	return list
}

// changeLines replaces the lines of a file in the state directory by the last ones that change returns,
// at most so many and without empty ones; those that the user has set stay. A file that can't be read is
// not changed. It waits at most a second for another process that does.
func changeLines(ctx context.Context, state, name string, most int, change func() []string) error {
	if state == "" {
		return errNoDirectory
	}
	if err := durable.MakeDirs(state, 0o700); err != nil {
		return err
	}
	lock, err := os.Open(state)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := durable.Lock(ctx, lock, syscall.LOCK_EX, time.Second); err != nil {
		return err
	}
	root, err := os.OpenRoot(state)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := plainfile.Read(filepath.Join(state, name), maxConfig); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	lines := slices.DeleteFunc(change(), func(line string) bool { return line == "" })
	n, size := len(lines), len(strings.Join(lines, "\n"))+1
	lines = slices.DeleteFunc(lines, func(line string) bool {
		tooMuch := (n > most || size > maxConfig) && !strings.HasSuffix(line, "\t"+byHand)
		if tooMuch {
			n, size = n-1, size-len(line)-1
		}
		return tooMuch
	})
	text := strings.Join(lines, "\n") + "\n"
	return durable.Replace(root, name,
		func(out io.Writer) error { _, err := io.WriteString(out, text); return err })
}
