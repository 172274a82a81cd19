package git

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrNone is the reason of an error for a directory that is in no repository.
var ErrNone = errors.New("not in a git repository")

// A Repository is a git repository, as seen from one of its worktrees.
type Repository struct {
	Top    string // root of the worktree, absolute
	sha256 bool   // how its objects are named
}

// Open returns the repository of a directory. The error is ErrNone if there is none,
// or ErrNotInstalled.
func Open(ctx context.Context, dir string) (Repository, error) {
	b, err := run(ctx, dir, "rev-parse", "--show-toplevel", "--show-object-format")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return Repository{}, ErrNotInstalled
	case ctx.Err() != nil:
		return Repository{}, ctx.Err()
	case err != nil:
		return Repository{}, ErrNone
	}
	top, format, _ := strings.Cut(strings.TrimSuffix(string(b), "\n"), "\n")
	return Repository{filepath.Clean(top), format == "sha256"}, nil
}

// BlobID returns the name that git gives to a file with some bytes.
func (r Repository) BlobID(content []byte) string {
	h := sha1.New()
	if r.sha256 {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// A Commit is a commit with the files that it changes. A merge has no files: its
// changes are those of its parents.
type Commit struct {
	ID          string
	Parents     []string
	AuthoredAt  time.Time // also kept when a commit is rebased
	CommittedAt time.Time
	Subject     string
	Files       []File
}

// A File is a file that a commit changes. Its blobs are "" before it is added and
// after it is deleted. A rename is two files.
type File struct {
	Path     string // relative to the root of the worktree, slash-separated
	Old, New string
}

// logOptions make git log print what parseLog reads, without running a program.
var logOptions = []string{"--format=%H%x00%P%x00%at%x00%ct%x00%s", "-z", "--raw", "--no-abbrev", "--no-renames",
	"--no-relative",
	"--diff-merges=off", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "-O/dev/null"}

// ErrNoCommit is the reason of an error for a text that names no commit.
var ErrNoCommit = errors.New("not a commit")

// Commit returns the commit that a revision names, or ErrNoCommit.
func (r Repository) Commit(ctx context.Context, revision string) (Commit, error) {
	id, err := r.Resolve(ctx, revision)
	if err != nil {
		return Commit{}, err
	}
	b, err := run(ctx, r.Top, append(append([]string{"log", "-1"}, logOptions...), id, "--")...)
	if err != nil {
		return Commit{}, err
	}
	list, err := parseLog(b)
	if err == nil && len(list) != 1 {
		err = errors.New("git log printed no commit")
	}
	if err != nil {
		return Commit{}, err
	}
	return list[0], nil
}

// Resolve returns the ID of the commit that a revision names, or ErrNoCommit.
func (r Repository) Resolve(ctx context.Context, revision string) (string, error) {
	b, err := run(ctx, r.Top, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", ErrNoCommit
	}
	return strings.TrimSpace(string(b)), nil
}

// History returns the commits of all branches, tags and worktrees that change a file,
// newest first, up to a maximum number. Each has this file only.
func (r Repository) History(ctx context.Context, path string, most int) ([]Commit, error) {
	args := append([]string{"log", "--all", "--full-history", "--max-count=" + strconv.Itoa(most)}, logOptions...)
	b, err := run(ctx, r.Top, append(args, "--", ":(top,literal)"+path)...)
	if err != nil {
		return nil, err
	}
	return parseLog(b)
}

// Between returns the commits that a commit has and a base does not have, newest first, up
// to a maximum number; without a base, all those of the commit.
func (r Repository) Between(ctx context.Context, base, head string, most int) ([]Commit, error) {
	args := append([]string{"log", "--max-count=" + strconv.Itoa(most)}, logOptions...)
	if base != "" {
		head = base + ".." + head
	}
	b, err := run(ctx, r.Top, append(args, "--end-of-options", head, "--")...)
	if err != nil {
		return nil, err
	}
	return parseLog(b)
}

// DefaultBranch returns a revision that names the default branch, as far as the names of
// branches show it, or ErrNoCommit.
func (r Repository) DefaultBranch(ctx context.Context) (string, error) {
	for _, name := range []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master",
		"refs/heads/main", "refs/heads/master"} {
		if _, err := r.Resolve(ctx, name); !errors.Is(err, ErrNoCommit) {
			return name, err
		}
	}
	return "", ErrNoCommit
}

// Since returns the commits of all branches that were committed at or after a time, newest
// first, up to a maximum number, without their files.
func (r Repository) Since(ctx context.Context, t time.Time, most int) ([]Commit, error) {
	b, err := run(ctx, r.Top, "log", "--branches", "--since="+t.UTC().Format(time.RFC3339), "-z", logOptions[0],
		"--max-count="+strconv.Itoa(most))
	if err != nil {
		return nil, err
	}
	return parseLog(b)
}

// parseLog parses the output of git log with logOptions.
func parseLog(b []byte) (list []Commit, err error) {
	fields := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	if len(b) == 0 {
		return nil, nil
	}
	for len(fields) > 0 {
		raw, ok := strings.CutPrefix(strings.TrimPrefix(fields[0], "\n"), ":")
		if ok {
			f, err := parseRaw(raw)
			if err != nil || len(fields) < 2 || len(list) == 0 {
				return nil, errLog
			}
			f.Path = fields[1]
			c := &list[len(list)-1]
			c.Files, fields = append(c.Files, f), fields[2:]
			continue
		}
		const perCommit = 5
		if len(fields) < perCommit {
			return nil, errLog
		}
		c := Commit{ID: fields[0], Parents: strings.Fields(fields[1]), Subject: fields[4]}
		if c.AuthoredAt, err = unix(fields[2]); err == nil {
			c.CommittedAt, err = unix(fields[3])
		}
		if err != nil {
			return nil, errLog
		}
		list, fields = append(list, c), fields[perCommit:]
	}
	return list, nil
}

var errLog = errors.New("unexpected output of git log")

// parseRaw parses a line of git log --raw after its colon: two modes, two blobs and a
// status.
func parseRaw(line string) (f File, err error) {
	part := strings.Fields(line)
	if len(part) != 5 {
		return f, errLog
	}
	const symlinks, regular = "12", "10"
	id := func(mode, id string) string {
		if (!strings.HasPrefix(mode, regular) && !strings.HasPrefix(mode, symlinks)) || strings.Trim(id, "0") == "" {
			return "" // absent, or a submodule
		}
		return id
	}
	return File{Old: id(part[0], part[2]), New: id(part[1], part[3])}, nil
}

// unix returns the time of a commit, the zero time if RFC 3339 can't express it: git
// stores any number.
func unix(text string) (time.Time, error) {
	const first, last = -62135596800, 253402300799 // of the years 1 and 9999
	n, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) || n < first || n > last {
		return time.Time{}, nil
	}
	return time.Unix(n, 0).UTC(), err
}

// maxBlob is the largest file that Blob returns.
const maxBlob = 4 << 20

// Blob returns the bytes of a file, if it has at most 4 MiB.
func (r Repository) Blob(ctx context.Context, id string) ([]byte, error) {
	b, err := run(ctx, r.Top, "cat-file", "-s", id)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err != nil || n > maxBlob {
		return nil, errors.New("the file is too large")
	}
	return run(ctx, r.Top, "cat-file", "blob", id)
}

// A Line is a line of a file, as the commit that last changed it had it.
type Line struct {
	Commit string // "" if the change is not committed
	Path   string // then, relative to the root of the worktree
	Number int    // then
}

// Blame returns which commit last changed a line of a file in the working tree. The
// path is relative to the root of the worktree. A file that is not in HEAD is not
// committed.
func (r Repository) Blame(ctx context.Context, path string, line int) (Line, error) {
	n := strconv.Itoa(line)
	args := []string{"blame", "--porcelain", "--no-textconv", "-L" + n + "," + n, "--", path}
	b, err := Run(ctx, r.Top, args...)
	if err != nil { // perhaps the setting blame.ignoreRevsFile names a file that this repository does not have
		b, err = Run(ctx, r.Top, slices.Insert(args, 1, "--no-ignore-revs-file")...)
	}
	if err != nil && ctx.Err() == nil && !r.inHead(ctx, path) {
		return Line{Path: filepath.ToSlash(path), Number: line}, nil
	}
	if err != nil {
		return Line{}, err
	}
	return parseBlame(b)
}

// inHead reports whether HEAD has a file, also if that can't be determined.
func (r Repository) inHead(ctx context.Context, path string) bool {
	if _, err := r.Resolve(ctx, "HEAD"); errors.Is(err, ErrNoCommit) {
		return false
	}
	b, err := run(ctx, r.Top, "ls-tree", "-z", "--full-tree", "HEAD", "--", filepath.ToSlash(path))
	return err != nil || len(b) > 0
}

// parseBlame parses the output of git blame --porcelain for one line.
func parseBlame(b []byte) (l Line, err error) {
	head, rest, _ := strings.Cut(string(b), "\n")
	part := strings.Fields(head)
	if len(part) < 3 {
		return l, errBlame
	}
	if l.Number, err = strconv.Atoi(part[1]); err != nil {
		return l, errBlame
	}
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "\t") {
			break
		}
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "filename "); ok {
			l.Path = name
			if text, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
				l.Path = text
			}
		}
	}
	if strings.Trim(part[0], "0") != "" {
		l.Commit = part[0]
	}
	if l.Path == "" {
		return l, errBlame
	}
	return l, nil
}

var errBlame = errors.New("unexpected output of git blame")
