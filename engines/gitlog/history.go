package gitlog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
)

// A commit is a part of the log: the records first to last.
type commit struct {
	id, parent, tree string
	log              string // the ID of the log
	first, last      handoff.Seq
}

// maxObject is the size of the largest commit or tree, in bytes.
const maxObject = 1 << 20

// subject is the message of a commit, in the form that parseSubject reads.
func subject(log string, first, last handoff.Seq) string {
	return fmt.Sprintf("handoff log %s records %d-%d\n", log, first, last)
}

func parseSubject(message string) (log string, first, last handoff.Seq, ok bool) {
	f := strings.Fields(message)
	if len(f) != 5 || f[0] != "handoff" || f[1] != "log" || f[3] != "records" {
		return "", 0, 0, false
	}
	from, to, ok := strings.Cut(f[4], "-")
	a, err1 := strconv.ParseInt(from, 10, 64)
	b, err2 := strconv.ParseInt(to, 10, 64)
	first = handoff.Seq(a)
	last = handoff.Seq(b)
	log = f[2]
	raw, err3 := hex.DecodeString(log)
	ok = ok && errors.Join(err1, err2, err3) == nil && len(raw) == idSize && first >= 1 && last >= first &&
		last-first < remote.MaxBatch &&
		message == subject(log, first, last)
	return log, first, last, ok
}

// parseCommit reads a commit object. A merge and any commit that this package
// does not write are errors.
func parseCommit(id string, b []byte) (commit, error) {
	c := commit{id: id}
	head, message, found := bytes.Cut(b, []byte("\n\n"))
	if !found {
		return c, errors.New("has no message")
	}
	for line := range strings.Lines(string(head)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case name == "tree":
			c.tree = value
		case name == "parent" && c.parent != "":
			return c, errors.New("is a merge")
		case name == "parent":
			c.parent = value
		}
	}
	var ok bool
	if c.log, c.first, c.last, ok = parseSubject(string(message)); !ok {
		return c, errForeign
	}
	return c, nil
}

// errForeign means that a commit was written by another program.
var errForeign = errors.New("was not written by handoff")

// follows returns an error unless c comes after before, which is the zero commit
// before the first one.
func (c commit) follows(before commit) error {
	switch {
	case c.parent != before.id:
		return errors.New("does not follow the last known record: the history was rewritten")
	case c.first != before.last+1:
		return fmt.Errorf("has records %d-%d after record %d", c.first, c.last, before.last)
	case before.id != "" && c.log != before.log:
		return errors.New("has the ID of another log")
	}
	return nil
}

// A treeEntry is a record or a body of a commit.
type treeEntry struct{ mode, name, id string }

// parseTree reads a tree object.
func parseTree(b []byte) (list []treeEntry, err error) {
	for len(b) > 0 {
		head, rest, found := bytes.Cut(b, []byte{0})
		mode, name, ok := strings.Cut(string(head), " ")
		if !found || !ok || len(rest) < sha1.Size {
			return nil, errors.New("is not a tree")
		}
		list = append(list, treeEntry{mode, name, hex.EncodeToString(rest[:sha1.Size])})
		b = rest[sha1.Size:]
	}
	return list, nil
}

const regularMode = "100644"

// recordName is the name of a record in the tree of its commit.
func recordName(seq handoff.Seq) string { return fmt.Sprintf("%012d.json", seq) }

// objects reads objects of the private repository and verifies them.
type objects struct {
	r    *repository
	c    *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	stop context.CancelFunc
}

func (r *repository) objects(ctx context.Context) (*objects, error) {
	ctx, stop := context.WithCancel(ctx)
	o := &objects{r: r, c: r.command(ctx, "cat-file", "--batch"), stop: stop}
	in, err := o.c.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		o.in = in
		out, err = o.c.StdoutPipe()
	}
	if err == nil {
		err = o.c.Start()
	}
	if err != nil {
		stop()
		return nil, r.failure("git cat-file", err)
	}
	o.out = bufio.NewReaderSize(out, 1<<16)
	return o, nil
}

func (o *objects) close() {
	o.in.Close()
	o.stop()
	_ = o.c.Wait() // it was stopped
}

// errTooLarge is the error of an object that is larger than the limit.
var errTooLarge = errors.New("is too large")

// each reads objects and calls do for each, in order, with its content. An object
// that is larger than limit has errTooLarge, one that is missing or differs from
// its ID another error. If do returns an error, so does each, and o can't be used
// any more.
func (o *objects) each(ids []string, limit int64, do func(i int, content []byte, err error) error) error {
	sent := make(chan error, 1)
	go func() {
		w := bufio.NewWriter(o.in)
		for _, id := range ids {
			w.WriteString(id + "\n")
		}
		sent <- w.Flush()
	}()
	for i, id := range ids {
		content, err := o.next(id, limit)
		if errors.Is(err, errBroken) {
			return o.r.failure("git cat-file", err)
		}
		if err := do(i, content, err); err != nil {
			return err
		}
	}
	return <-sent
}

// errBroken is the error of a git that ended early or printed something else.
var errBroken = errors.New("git ended early")

// next reads the next answer, which is for an object.
func (o *objects) next(id string, limit int64) ([]byte, error) {
	line, err := o.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	f := strings.Fields(line)
	if len(f) == 2 && f[1] == "missing" {
		return nil, errors.New("is missing")
	}
	if len(f) != 3 || f[0] != id {
		return nil, errBroken
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || size < 0 {
		return nil, errBroken
	}
	if size > limit {
		if _, err := io.CopyN(io.Discard, o.out, size+1); err != nil {
			return nil, fmt.Errorf("%w: %w", errBroken, err)
		}
		return nil, errTooLarge
	}
	content := make([]byte, size+1)
	if _, err := io.ReadFull(o.out, content); err != nil {
		return nil, fmt.Errorf("%w: %w", errBroken, err)
	}
	content = content[:size:size]
	sum := sha1.New()
	fmt.Fprintf(sum, "%s %d\x00", f[1], size)
	sum.Write(content)
	if hex.EncodeToString(sum.Sum(nil)) != id {
		return nil, errors.New("does not have the content that its ID names")
	}
	return content, nil
}

// commits returns the commits that the arguments of git rev-list select, oldest
// first, after it has checked that each follows the one before it.
func (r *repository) commits(ctx context.Context, o *objects, args ...string) ([]commit, error) {
	args = append(append([]string{"rev-list", "--first-parent", "--reverse"}, args...), "--")
	printed, err := r.git(ctx, nil, args...)
	if err != nil {
		return nil, err
	}
	ids := strings.Fields(printed)
	list := make([]commit, 0, len(ids))
	err = o.each(ids, maxObject, func(i int, content []byte, err error) error {
		var c commit
		if err == nil {
			c, err = parseCommit(ids[i], content)
		}
		if err == nil && i > 0 {
			err = c.follows(list[i-1])
		}
		if err != nil {
			return damaged("commit "+ids[i], err)
		}
		list = append(list, c)
		return nil
	})
	return list, err
}

// damaged returns an error of kind Corrupt.
func damaged(name string, err error) error {
	return handoff.E("read log", name, handoff.Corrupt, err,
		handoff.Advice("compare the ref with the one on another machine; a copy of the log under another name can be "+
			"continued"))
}

// chunk is the number of commits whose records are read at a time.
const chunk = 512

// records yields the records of commits after a sequence number. A record that
// is missing, too large, not a regular file or not a record is yielded as
// Damaged.
func (o *objects) records(list []commit, after handoff.Seq, yield func(handoff.Record) bool) error {
	for part := range slices.Chunk(list, chunk) {
		trees := make([]string, len(part))
		for i, c := range part {
			trees[i] = c.tree
		}
		var seqs []handoff.Seq
		var blobs []string
		err := o.each(trees, maxObject, func(i int, content []byte, err error) error {
			var entries []treeEntry
			if err == nil {
				entries, err = parseTree(content)
			}
			if err != nil {
				return damaged("commit "+part[i].id, err)
			}
			for seq := max(part[i].first, after+1); seq <= part[i].last; seq++ {
				seqs, blobs = append(seqs, seq), append(blobs, recordID(entries, seq))
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = o.each(blobs, handoff.MaxRecord, func(i int, content []byte, err error) error {
			if err != nil {
				content = nil
			}
			if !yield(handoff.StoredRecord(seqs[i], content)) {
				return errStopped
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// errStopped means that the reader of a log wants no more records.
var errStopped = errors.New("stopped")

// noObject is the ID of an object that does not exist.
var noObject = strings.Repeat("0", 2*sha1.Size)

// recordID returns the ID of the blob of a record, or noObject if its entry is
// missing or not a regular file.
func recordID(entries []treeEntry, seq handoff.Seq) string {
	name := recordName(seq)
	i := slices.IndexFunc(entries, func(e treeEntry) bool { return e.name == name && e.mode == regularMode })
	if i < 0 {
		return noObject
	}
	return entries[i].id
}
