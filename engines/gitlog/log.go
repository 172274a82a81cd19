// Package gitlog keeps a log in one ref of a git repository.
//
// A commit holds records and the bodies that they refer to:
//
//	000000000042.json     a record, named by its sequence number
//	<64 digits>           a body, named by its SHA-256
//
// Its message names the log and the records: "handoff log ID records 42-42". The
// commits are one line of history, and a push that is not a fast-forward is
// refused, so of several writers one has the next number and the others fetch
// and try again. Branches, index and work tree of a repository are not used:
// records are fetched into a private bare repository and pushed from there.
package gitlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// Options are where a log is and how it is used.
type Options struct {
	Fetch, Push string // URL of the repository; Push defaults to Fetch
	Name        string // of the log: the ref is refs/handoff/NAME

	// Remote is the name of a remote of the git repository at Work. It is used in
	// place of Fetch and Push, with the credentials in its HTTP headers.
	Remote, Work string

	// Runtime is the runtime directory, and Cache the user's cache, "" for none. The
	// private repository is in the folder git of the first, or of the second as long as
	// the first does not exist. It is a temporary one if neither can be written.
	Runtime, Cache string

	Poll    time.Duration // how long records of other machines may stay unseen
	Timeout time.Duration // of one git command; default 2 minutes
	MaxBody int64         // size of the largest body, in bytes; default DefaultMaxBody
	Rand    io.Reader     // for the ID of the log
}

// DefaultMaxBody is the size of the largest body that a log in git takes by
// default. Every machine fetches all bodies.
const DefaultMaxBody = 16 << 20

// defaultTimeout is how long a git command may take.
const defaultTimeout = 2 * time.Minute

// A writer appends records: those that wait while others are written share the next
// write.
type writer = remote.Writer

// A Log is a handoff.Log in a ref. Nothing is created and nobody is asked before
// it is first used.
type Log struct {
	*writer // Append and AppendAll

	o     Options
	ref   string
	local *filelog.Bodies

	mu        sync.Mutex
	repo      *repository
	temporary []string // directories that Close removes
	fresh     remote.Freshness
	asked     atomic.Bool // whether the server has such a repository
}

var (
	_ handoff.Log        = (*Log)(nil)
	_ handoff.Identifier = (*Log)(nil)
	_ handoff.Ender      = (*Log)(nil)
	_ handoff.LogChecker = (*Log)(nil)
	_ handoff.Repairer   = (*Log)(nil)

	_ handoff.BatchAppender = (*Log)(nil)
)

// Open returns the log at a location.
func Open(o Options) *Log {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.Push == "" {
		o.Push = o.Fetch
	}
	l := &Log{o: o, ref: "refs/handoff/" + o.Name, local: filelog.OpenCopies(o.Runtime, o.Rand)}
	l.writer = remote.NewWriter(l.push)
	return l
}

// Bodies returns the bodies of the log. They are in the commits of the records
// that refer to them, and copies of them in the runtime directory: it is a
// handoff.BodyFetcher.
func (l *Log) Bodies() handoff.Bodies { return remote.NewBodies(l.local, bodies{l}) }

// Close removes temporary repositories.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, dir := range l.temporary {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	l.repo, l.temporary = nil, nil
	return err
}

// repository opens the private repository, which it creates if necessary.
func (l *Log) repository(ctx context.Context) (*repository, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.repo != nil {
		return l.repo, nil
	}
	r, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	name := key(r.fetch, l.o.Name)
	if err := l.exists(r.fetch); err != nil && !l.isKnown(name) {
		return nil, err
	}
	for _, dir := range l.parents(name) {
		if dir == l.o.Cache {
			_ = os.MkdirAll(dir, 0o700) // what follows reports it
		}
		parent := filepath.Join(dir, "git")
		r.dir = filepath.Join(parent, name)
		if err = os.Mkdir(parent, filelog.DirMode(parent)); err == nil || plainfile.CheckDir(parent) == nil {
			err = r.create()
		}
		if err == nil || errors.Is(err, handoff.Corrupt) {
			break
		}
	}
	if err != nil && !errors.Is(err, handoff.Corrupt) {
		if r.dir, err = os.MkdirTemp("", "handoff-git-"); err != nil {
			return nil, r.failure("create private repository", err)
		}
		l.temporary = append(l.temporary, r.dir)
		err = r.create()
	}
	if err != nil {
		return nil, err
	}
	l.repo = r
	return r, nil
}

// isKnown reports whether this machine has a private repository for a log.
func (l *Log) isKnown(name string) bool {
	_, err := os.Lstat(filepath.Join(l.parents(name)[0], "git", name))
	return err == nil
}

// parents returns the directories that the folder of private repositories may be in,
// the best first. A machine that has only read has one in the cache, and keeps it.
func (l *Log) parents(name string) []string {
	if l.o.Cache == "" {
		return []string{l.o.Runtime}
	}
	has := func(dir string) bool { _, err := os.Lstat(filepath.Join(dir, "git", name)); return err == nil }
	if has(l.o.Cache) && !has(l.o.Runtime) {
		return []string{l.o.Cache, l.o.Runtime}
	}
	return []string{l.o.Runtime, l.o.Cache}
}

// settle leaves a temporary repository once the runtime directory exists. Readers
// may use it until Close.
func (l *Log) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if info, err := os.Lstat(l.o.Runtime); len(l.temporary) == 1 && err == nil && info.IsDir() {
		l.repo = nil
		l.fresh.Clear()
	}
}

// verifiedName is the name of the file with the newest commit of the log that
// was verified.
const verifiedName = "verified"

// verified returns the newest commit that was verified, the zero commit for none.
func (r *repository) verified() (c commit, err error) {
	b, err := plainfile.Read(filepath.Join(r.dir, verifiedName), 1<<10)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, r.failure("read private repository", err)
	}
	id, message, _ := strings.Cut(string(b), " ")
	var ok bool
	if c.log, c.first, c.last, ok = parseSubject(message); !ok || len(id) != len(noObject) {
		return c, handoff.E("open private repository", r.dir, handoff.Corrupt,
			fmt.Errorf("%s is damaged", verifiedName), handoff.Advice("rename the directory; another one is created"))
	}
	c.id = id
	return c, nil
}

func (r *repository) setVerified(c commit) error {
	return r.writeFile(verifiedName, c.id+" "+subject(c.log, c.first, c.last))
}

// update fetches the ref and verifies what is new. It returns the newest commit.
func (l *Log) update(ctx context.Context, r *repository) (tip commit, err error) {
	err = r.locked(ctx, "fetch.lock", func() error {
		known, err := r.verified()
		if err != nil {
			return err
		}
		tip, err = l.fetch(ctx, r, known)
		if err == nil && tip.id != known.id {
			err = r.setVerified(tip)
		}
		return err
	})
	if err == nil {
		l.fresh.Set(l.o.Poll)
	}
	return tip, err
}

// fetched is the ref of the private repository for what was fetched.
const fetched = "refs/handoff/fetched"

// fetch returns the newest commit of the remote, which must follow a known one.
func (l *Log) fetch(ctx context.Context, r *repository, known commit) (commit, error) {
	r.unlock(fetched)
	_, err := r.git(ctx, nil, "fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules",
		"--no-write-fetch-head", "--refmap=",
		"--", r.from, "+"+l.ref+":"+fetched)
	if err != nil && strings.Contains(err.Error(), "couldn't find remote ref") {
		if known.id != "" {
			return known, l.rewritten(fmt.Errorf("the ref does not exist any more; it had %d records", known.last))
		}
		return known, nil
	}
	if err != nil && known.id == "" {
		err = l.missing(r.fetch, err)
	}
	if err != nil {
		return known, err
	}
	id, err := r.git(ctx, nil, "rev-parse", "--verify", fetched)
	if err != nil || id == known.id {
		return known, err
	}
	o, err := r.objects(ctx)
	if err != nil {
		return known, err
	}
	defer o.close()
	args := []string{id}
	if known.id != "" {
		args = append(args, "^"+known.id)
	}
	list, err := r.commits(ctx, o, args...)
	if errors.Is(err, errForeign) && known.id == "" && len(list) == 0 {
		return known, handoff.E("open log", l.ref, handoff.Invalid,
			fmt.Errorf("belongs to another program: commit %s %w", id, errForeign),
			handoff.Advice("name another log with #name at the end of the location; this ref is left as it is"))
	}
	if err != nil {
		return known, err
	}
	if len(list) == 0 {
		return known, l.rewritten(errors.New("the ref was set back to an earlier commit"))
	}
	if err := list[0].follows(known); err != nil {
		return known, l.rewritten(fmt.Errorf("commit %s %w", list[0].id, err))
	}
	return list[len(list)-1], nil
}

func (l *Log) rewritten(err error) error { return damaged(l.ref, err) }

// tip returns the newest commit of the log, which is not older than Poll.
func (l *Log) tip(ctx context.Context) (*repository, commit, error) {
	if err := ctx.Err(); err != nil {
		return nil, commit{}, err
	}
	r, err := l.repository(ctx)
	if err != nil {
		return nil, commit{}, err
	}
	var c commit
	if l.fresh.Is() {
		c, err = r.verified()
	} else {
		c, err = l.update(ctx, r)
	}
	return r, c, err
}

// Refresh makes the next question ask the server.
func (l *Log) Refresh() { l.fresh.Clear() }

// ID implements handoff.Identifier.
func (l *Log) ID(ctx context.Context) (string, error) {
	_, c, err := l.tip(ctx)
	return c.log, err
}

// Newest implements handoff.Ender.
func (l *Log) Newest(ctx context.Context) (handoff.Seq, error) {
	_, c, err := l.tip(ctx)
	return c.last, err
}

// Read implements handoff.Log.
func (l *Log) Read(ctx context.Context, after handoff.Seq) iter.Seq2[handoff.Record, error] {
	return func(yield func(handoff.Record, error) bool) {
		stopped := false
		err := l.read(ctx, after, func(r handoff.Record) bool {
			stopped = ctx.Err() == nil && !yield(r, nil)
			return !stopped && ctx.Err() == nil
		})
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil && !stopped {
			yield(handoff.Record{}, err)
		}
	}
}

func (l *Log) read(ctx context.Context, after handoff.Seq, yield func(handoff.Record) bool) error {
	r, c, err := l.tip(ctx)
	if err != nil || c.last <= after {
		return err
	}
	o, err := r.objects(ctx)
	if err != nil {
		return err
	}
	defer o.close()
	// Each commit has at least one record.
	list, err := r.commits(ctx, o, fmt.Sprintf("--max-count=%d", c.last-max(after, 0)), c.id)
	if err != nil {
		return err
	}
	for len(list) > 0 && list[0].last <= after {
		list = list[1:]
	}
	return o.records(list, max(after, 0), yield)
}

// Wait implements handoff.Log.
func (l *Log) Wait(ctx context.Context, after handoff.Seq) error {
	return remote.Wait(ctx, l.Newest, after, l.o.Poll)
}

// Check implements handoff.LogChecker.
func (l *Log) Check(ctx context.Context, each func(handoff.Record)) (handoff.Report, error) {
	return remote.Check(ctx, l, each)
}
