package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/cmdline"
)

// A Command is one that is attested.
type Command struct {
	Argv     []string
	Dir      string // slash-separated, relative to the workspace, "" for its root
	Worktree string // the linked worktree that it runs in, "" for the main one
	OfCommit bool   // attest the commit; Invalid if a tracked file differs from it

	// Run runs the command, writes its output to w as it comes, and returns how it
	// ended. Errors of w must not end the command.
	Run func(w io.Writer) Ending

	Now func() time.Time
}

// An Ending is how a command ended.
type Ending struct {
	Status int    // exit status, 128+n for signal n
	Signal string // that ended it, or that handoff was asked to end with
	Err    error  // that prevented it from running; nothing is recorded
}

// Attest runs a command and publishes its output, which is kept, with an attestation.
// The output is not held in memory. If the error is not nil, nothing is recorded;
// the command may have run.
//
// Kinds: Invalid (the arguments), Unavailable (the tree), and those of Hub.Publish.
func (c *Checker) Attest(ctx context.Context, cmd Command) (handoff.Published, error) {
	at := &handoff.Attestation{Dir: cmd.Dir, OfCommit: cmd.OfCommit}
	at.Argv, at.ArgvDigest = redactArgv(cmd.Argv)
	var warnings []string
	d := handoff.Draft{Channel: ChannelAttested, Kind: KindAttested, Title: title(at.Argv), Filename: "output.log",
		Keep: handoff.KeepAlways, Attestation: at}
	before, err := c.before(ctx, cmd)
	switch {
	case err == nil:
		d.Tree = &before.Tree
		if cmd.OfCommit {
			d.Tree.Digest, at.Untracked = before.commit.digest(), before.Untracked
		}
	case errors.Is(err, handoff.NotFound) && !cmd.OfCommit:
		warnings = append(warnings, "this is not a git repository, so claims about its files can't be verified")
	default:
		return handoff.Published{}, err
	}
	out := &output{ended: make(chan Ending, 1), command: cmd}
	out.complete = func(e Ending) error {
		at.ExitStatus, at.Signal, at.DurationMS = e.Status, e.Signal, cmd.Now().Sub(out.started).Milliseconds()
		at.StartedAt = out.started.UTC().Truncate(time.Millisecond)
		if d.Tree == nil || e.Err != nil {
			return e.Err
		}
		changed, err := c.after(ctx, cmd, before, at)
		warnings = append(warnings, changed...)
		return err
	}
	d.Body = out
	done, err := c.Hub.Publish(ctx, d)
	done.Warnings = append(done.Warnings, warnings...)
	return done, errors.Join(err, out.close())
}

// before returns the state on which a command is run.
func (c *Checker) before(ctx context.Context, cmd Command) (*State, error) {
	s, err := c.Tree(ctx, cmd.Worktree)
	switch {
	case err != nil || !cmd.OfCommit:
		return s, err
	case s.Commit == "":
		return nil, handoff.E("attest", "", handoff.Invalid, errors.New("the repository has no commit"),
			handoff.Advice("commit the files first"))
	case !s.Clean:
		return nil, handoff.E("attest", "", handoff.Invalid, fmt.Errorf("tracked files differ from the commit: %s",
			sentence(named(compare(s.commit, s.tracked())))), handoff.Advice("commit them first, or attest the worktree"))
	}
	return s, nil
}

// after completes an attestation with the tree that the command left, and keeps the list
// of the files that differed from the commit.
func (c *Checker) after(ctx context.Context, cmd Command, before *State, at *handoff.Attestation) (warnings []string,
	err error) {
	after, err := before.again(ctx)
	if err != nil {
		return nil, err
	}
	same := slices.Equal(before.files, after.files)
	if cmd.OfCommit {
		after.compareCommit(ctx)
		same = after.Clean && after.Commit == before.Commit
	}
	if !same {
		at.TreeAfter = after.Digest
		warnings = append(warnings, "the tree changed while the command ran, so the attestation is stale: "+
			sentence(named(compare(before.files, after.files))))
	}
	if list := before.changes(); c.Bodies != nil && !cmd.OfCommit {
		if list == nil {
			return append(warnings, fmt.Sprintf("more than %d files differ from the commit, so the attestation has only a "+
				"digest of them", maxChanges)), nil
		}
		kept, err := c.Bodies.Put(ctx, bytes.NewReader(list))
		before.Changes = kept.Value
		return warnings, err
	}
	return warnings, nil
}

// maxTitle is the length of a title that is cut, in characters.
const maxTitle = handoff.MaxTitle - 1

// title returns a command line as a title.
func title(argv []string) string {
	text := cmdline.Join(argv)
	if utf8.RuneCountInString(text) <= handoff.MaxTitle {
		return text
	}
	return string([]rune(text)[:maxTitle]) + "…"
}

// An output is the output of a command, which starts when it is first read. At its
// end, the attestation is completed.
type output struct {
	command  Command
	complete func(Ending) error

	started time.Time
	pipe    *io.PipeReader // nil until the command was started
	ended   chan Ending
	end     error // what Read returns at the end
}

func (o *output) Read(b []byte) (int, error) {
	if o.end != nil {
		return 0, o.end
	}
	if o.pipe == nil {
		var w *io.PipeWriter
		o.pipe, w = io.Pipe()
		o.started = o.command.Now()
		go func() {
			e := o.command.Run(w)
			o.ended <- e
			w.Close()
		}()
	}
	n, err := o.pipe.Read(b)
	if err != io.EOF {
		return n, err
	}
	if err := o.complete(<-o.ended); err != nil {
		o.end = err
	} else {
		o.end = io.EOF
	}
	return n, o.end
}

// close waits for the end of a command whose output could not be stored.
func (o *output) close() error {
	if o.pipe == nil || o.end != nil {
		return nil
	}
	_, err := io.Copy(io.Discard, o.pipe)
	<-o.ended
	if err != nil {
		return fmt.Errorf("read the output: %w", err)
	}
	return nil
}
