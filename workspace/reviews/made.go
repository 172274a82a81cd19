package reviews

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// maxNoted is the size in bytes of a file with IDs of comments.
const maxNoted = 1 << 20

// madeWait is how long another process may hold the file with the comments that were made here.
const madeWait = 5 * time.Second

// madeID names a comment with its text, which another record with the ID can't have changed.
func madeID(r handoff.Reply) string { return r.ID + " " + r.Body.Value }

// made returns the file with the IDs of the comments that were made here on a log that
// other machines may use: they can write any origin into a record.
func (d Reviews) made() string { return d.noted("") + ".made" }

// decided returns a decision as what madeID names.
func decided(id string, decision handoff.Decision, of handoff.Digest) handoff.Reply {
	return handoff.Reply{ID: id, Body: handoff.Digest{Value: string(decision) + " " + of.Value}}
}

// noted returns a file of the user's state directory about the workspace and a thread,
// without its extension.
func (d Reviews) noted(thread string) string {
	key := d.c.Dirs.Home()
	if thread != "" {
		key += "\x00" + thread
	}
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(d.c.State, "reviews", hex.EncodeToString(sum[:16]))
}

// noteMade notes that a comment or a decision was made here.
func (d Reviews) noteMade(ctx context.Context, r handoff.Reply) error {
	if !d.c.Remote || d.c.State == "" {
		return nil
	}
	name := d.made()
	if err := durable.MakeDirs(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	const flags = os.O_APPEND | os.O_CREATE | os.O_RDWR | syscall.O_NOFOLLOW
	lock, err := os.OpenFile(name+".lock", flags, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := durable.Lock(ctx, lock, syscall.LOCK_EX, madeWait); err != nil {
		return err
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(madeID(r) + "\n")
	size, seekErr := f.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, seekErr, f.Close()); err != nil || size <= maxNoted {
		return err
	}
	return d.shortenMade(ctx, name)
}

// shortenMade shortens the file with the IDs of the comments that were made here to half of its
// limit: the oldest of those that are not open any more go and, if it is still longer than the
// limit, the oldest of all. Those that are not in the log yet are open.
func (d Reviews) shortenMade(ctx context.Context, name string) error {
	page, err := d.c.Hub.Artifacts(ctx, handoff.ArtifactQuery{Discussed: true, IncludeInactive: true})
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, a := range page.Artifacts {
		for _, r := range a.Reviews {
			done[r.ID] = a.Status != handoff.Active
		}
		for _, c := range a.Comments {
			for _, r := range remarks(c) {
				done[r.ID] = c.State != handoff.CommentOpen
			}
		}
	}
	b, err := plainfile.Read(name, 2*maxNoted)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer root.Close()
	return durable.ReplaceUnsynced(root, filepath.Base(name), func(out io.Writer) error {
		_, err := io.WriteString(out, shortened(string(b), done, maxNoted))
		return err
	})
}

// shortened returns lines that begin with IDs without the oldest ones that are done, so that
// they have half of the limit, and if they still have more than the limit without the oldest of all.
func shortened(text string, done map[string]bool, limit int) string {
	lines, size := slices.Collect(strings.Lines(text)), len(text)
	drop := func(is func(line string) bool) {
		lines = slices.DeleteFunc(lines, func(line string) bool {
			if size <= limit/2 || !is(line) {
				return false
			}
			size -= len(line)
			return true
		})
	}
	drop(func(line string) bool {
		id, _, _ := strings.Cut(line, " ")
		return done[id]
	})
	if size > limit {
		drop(func(string) bool { return true })
	}
	return strings.Join(lines, "")
}

// local returns what reports whether a comment or an answer was made here.
func (d Reviews) local() (func(handoff.Reply) bool, error) {
	here, err := d.c.RuntimeDir.Origin()
	if err != nil || !d.c.Remote {
		return func(r handoff.Reply) bool { return r.Origin == here || r.Origin == "" }, err
	}
	made := map[string]bool{}
	b, err := plainfile.Read(d.made(), 2*maxNoted)
	if err != nil { // none was made here, or all are counted
		return func(handoff.Reply) bool { return false }, nil
	}
	for id := range strings.Lines(string(b)) {
		made[strings.TrimSuffix(id, "\n")] = true
	}
	return func(r handoff.Reply) bool { return made[madeID(r)] }, nil
}
