package claims

import (
	"context"
	"fmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/trace/gitai"
	"github.com/agent-handoff/handoff/trace"
)

// GitAI returns who wrote the lines that commits add, of those whose writer is exact, as
// notes in the format of git-ai. With write, they are merged into the notes that the commits
// have in refs/notes/ai: a line that has a writer there keeps it.
//
// Kinds: those of Options.Lines, Conflict (a note that can't be merged), Unavailable (git
// can't write it).
func (c Checker) GitAI(ctx context.Context, revisions []string, write bool) (list []trace.Authorship, warnings []string,
	err error) {
	commits, warnings, err := c.o.Lines(ctx, revisions)
	if err != nil {
		return nil, nil, err
	}
	for _, commit := range commits {
		log := gitai.New(commit.Commit, commit.Lines)
		if write && log.Lines() > 0 {
			if err := c.writeNote(ctx, commit.Commit, log); err != nil {
				return list, warnings, err
			}
		}
		list = append(list, trace.Authorship{Commit: commit.Commit, Lines: log.Lines(), Note: log.String()})
	}
	return list, warnings, nil
}

// writeNote merges a log into the note of a commit.
func (c Checker) writeNote(ctx context.Context, commit string, log gitai.Log) error {
	repository, err := git.Open(ctx, c.o.Dir)
	if err != nil {
		return err
	}
	var conflict error
	err = repository.EditNote(ctx, gitai.Ref, commit, func(old []byte) (note []byte, err error) {
		if old == nil {
			return []byte(log.String()), nil
		}
		known, err := gitai.Parse(old)
		merged := known
		if err == nil {
			merged, err = known.Merge(log)
		}
		if err != nil {
			conflict = handoff.E("export", commit, handoff.Conflict,
				fmt.Errorf("its note in %s can't be merged: %w", gitai.Ref, err),
				handoff.Advice("see the note with git notes --ref=ai show"))
			return nil, conflict
		}
		if known.Lines() == merged.Lines() {
			return nil, nil // every line has a writer
		}
		return []byte(merged.String()), nil
	})
	if err != nil && conflict == nil {
		err = handoff.E("export", commit, handoff.Unavailable, err, handoff.Advice("check that git can commit here"))
	}
	return err
}
