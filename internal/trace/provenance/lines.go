package provenance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/diff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/trace/gitai"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/trace"
	compare "github.com/rogpeppe/go-internal/diff"
)

// Lines returns the lines that commits add whose writer is exact: the recorded calls give
// the bytes of the file. The revisions are those of the repository of a directory.
//
// Kinds: NotFound (not a commit), Invalid (not in a repository), and those of reading threads.
func (s Sources) Lines(ctx context.Context, dir string, worktrees, revisions []string) (list []trace.CommitLines,
	warnings []string, err error) {
	at := s.in(ctx, dir, worktrees, dir, "")
	if at.err == nil && at.Repository == nil {
		at.err = handoff.E("export", dir, handoff.Invalid, git.ErrNone, handoff.Advice("name commits in a git repository"))
	}
	if at.err != nil {
		return nil, nil, at.err
	}
	var commits []git.Commit
	for _, revision := range revisions {
		c, err := at.Repository.Commit(ctx, revision)
		if errors.Is(err, git.ErrNoCommit) {
			err = handoff.E("export", revision, handoff.NotFound, err, handoff.Advice("name a commit of this repository"))
		}
		if err != nil {
			return nil, nil, err
		}
		commits = append(commits, c)
	}
	var of []string
	warnings, err = s.Conversations.Lookup(ctx, 0, func(l threadindex.Lookup) error {
		list, of = nil, nil
		for _, c := range commits {
			r := newTracer(at.Sources, l)
			list = append(list, trace.CommitLines{Commit: c.ID, Lines: r.linesOf(ctx, c)})
			of = append(of, r.trace.Warnings...)
		}
		return ctx.Err()
	})
	return list, append(warnings, of...), err
}

// linesOf returns the lines that a commit adds whose writer is exact.
func (r *tracer) linesOf(ctx context.Context, c git.Commit) (list []trace.WrittenLines) {
	for i, f := range c.Files {
		if i == maxFiles {
			r.warn(fmt.Errorf("the commit changes %d files; only the first %d are exported", len(c.Files), maxFiles))
			break
		}
		if f.New == "" {
			continue
		}
		file := r.contentOf(ctx, f, r.periodOf(ctx, c))
		before, ok := file.before()
		if !ok {
			continue
		}
		// What a rebased commit has was written before its author's time.
		for _, file.until = range []time.Time{c.AuthoredAt, c.CommittedAt} {
			if parts := r.partsOf(ctx, file); parts != nil {
				list = append(list, linesBy(f.Path, before, parts)...)
				break
			}
		}
	}
	return list
}

// linesBy returns the lines of a file after writes, of those that they wrote.
func linesBy(path, text string, parts []write) (list []trace.WrittenLines) {
	by := make([]*write, len(lines(text)))
	for i := range parts {
		next, _ := parts[i].edit.apply(text)
		by = carry(text, next, by, &parts[i])
		text = next
	}
	for i, w := range by {
		if w == nil {
			continue
		}
		n, message := len(list)-1, w.uri.String()
		if n >= 0 && list[n].To == i && list[n].Message == message {
			list[n].To++
			continue
		}
		list = append(list, trace.WrittenLines{Path: path, From: i + 1, To: i + 1, Message: message, Model: w.model})
	}
	return list
}

func lines(text string) []string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// carry returns who wrote each line of a text that a write made of an older one.
func carry(old, text string, by []*write, w *write) (list []*write) {
	changes := compare.Diff("a", []byte(old), "b", []byte(text))
	next := 0 // the next line of the old text
	for l := range diff.Lines(string(changes), false) {
		switch l.Kind {
		case diff.Hunk:
			list = append(list, by[next:l.Old-1]...)
			next = l.Old - 1
		case diff.Context:
			list = append(list, by[next])
			next++
		case diff.Removed:
			next++
		case diff.Added:
			list = append(list, w)
		}
	}
	return append(list, by[next:]...)
}

// noted adds who wrote a line of a file, or any line of any file, as the note of a commit
// in the format of git-ai states it.
func (r *tracer) noted(ctx context.Context, c git.Commit, path string, line int) {
	note, err := r.Repository.Note(ctx, gitai.Ref, c.ID)
	if err != nil || note == nil {
		return
	}
	log, err := gitai.Parse(note)
	if err != nil {
		r.warn(fmt.Errorf("the note of %s: %w", c.ID, err))
		return
	}
	evidence := []trace.Evidence{{Kind: "note", Ref: gitai.Ref + ":" + c.ID}}
	for _, w := range log.Writers(path, line) {
		h := trace.Hop{Kind: trace.HopWrote, Ref: "agents://" + w.Tool + "/" + w.ID, Text: w.Model, Agent: w.Tool,
			Certainty: trace.Recorded, Evidence: evidence}
		if w.Human != "" {
			h.Ref, h.Agent = w.Human, ""
		}
		if !r.shown[h.Ref] {
			r.shown[h.Ref] = true
			r.add(h)
		}
	}
}
