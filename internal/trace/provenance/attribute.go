package provenance

import (
	"context"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
)

// An Index answers what threads did from an index of them.
type Index interface {
	Known(ctx context.Context, do func(l threadindex.Lookup, compared func(thread string) time.Time) error) error
	Update(ctx context.Context, most int, threads []string) (warnings []string, err error)
	IsBehind(ctx context.Context, most int) (bool, error)
}

// attributeNow adds to artifacts who published them, as the index of threads shows it. It reads
// transcripts only for artifacts whose call may have been written since they were read.
func attributeNow(ctx context.Context, x Index, now time.Time, list []handoff.Artifact) error {
	due, err := attribute(ctx, x, now, list)
	if err != nil || len(due) == 0 {
		return err
	}
	if _, err := x.Update(ctx, threadindex.Quick, due); err != nil {
		return err
	}
	_, err = attribute(ctx, x, now, list)
	return err
}

// attribute adds to artifacts what the index has, and returns the threads of those that it
// may not have yet.
func attribute(ctx context.Context, x Index, now time.Time, list []handoff.Artifact) (due []string, err error) {
	never := func(string) time.Time { return time.Time{} }
	look := func(a handoff.Artifact, compared func(string) time.Time) {
		if a.Producer.Thread != "" && !slices.Contains(due, a.Producer.Thread) &&
			isDue(a.CreatedAt, compared(a.Producer.Thread), now) {
			due = append(due, a.Producer.Thread)
		}
	}
	known := false
	err = x.Known(ctx, func(l threadindex.Lookup, compared func(string) time.Time) error {
		known, due = true, nil
		r := newTracer(Sources{}, l)
		r.readReports(ctx, list...)
		for i, a := range list {
			by, shown := r.attribution(ctx, a)
			if list[i].Attributed = by; !shown {
				look(a, compared)
			}
		}
		return ctx.Err()
	})
	for _, a := range list {
		if !known {
			look(a, never)
		}
	}
	return due, err
}

// The times in which a transcript is written: soon after a publication, or when the command
// that made it ends.
const (
	soon     = 10 * time.Second
	longest  = time.Hour
	interval = time.Minute
)

// isDue reports whether the transcripts of a thread are read for an artifact that was
// published at a time.
func isDue(published, compared, now time.Time) bool {
	return compared.Before(published.Add(soon)) || compared.Before(published.Add(longest)) && now.Sub(compared) > interval
}

// dueOf returns the IDs of those of some artifacts, of which only the ID, the time and the thread are
// used, whose calls may have been written since the transcripts of their threads were read.
func dueOf(ctx context.Context, x Index, now time.Time, list []handoff.Artifact) (due []string, err error) {
	known := false
	err = x.Known(ctx, func(_ threadindex.Lookup, compared func(string) time.Time) error {
		known = true
		at := map[string]time.Time{}
		for _, a := range list {
			if _, ok := at[a.Producer.Thread]; !ok {
				at[a.Producer.Thread] = compared(a.Producer.Thread)
			}
			if isDue(a.CreatedAt, at[a.Producer.Thread], now) {
				due = append(due, a.ID)
			}
		}
		return ctx.Err()
	})
	for _, a := range list {
		if !known {
			due = append(due, a.ID)
		}
	}
	return due, err
}

// signsOf returns what records of artifacts that some subagents published may have of them.
func signsOf(ctx context.Context, x Index, of threadindex.Subagents) (s threadindex.Signs, err error) {
	err = x.Known(ctx, func(l threadindex.Lookup, _ func(string) time.Time) (err error) {
		s, err = l.Signs(ctx, of)
		return err
	})
	return s, err
}

// publishedSince returns the IDs, of artifacts of a time or later, in the outputs of calls that
// publish.
func publishedSince(ctx context.Context, x Index, since time.Time) (ids []string, err error) {
	err = x.Known(ctx, func(l threadindex.Lookup, _ func(string) time.Time) (err error) {
		ids, err = l.PublishedSince(ctx, since)
		return err
	})
	return ids, err
}

// mainsOf returns the main threads of those of some URIs that are of subagents.
func mainsOf(ctx context.Context, x Index, uris []string) (mains map[string]string, err error) {
	err = x.Known(ctx, func(l threadindex.Lookup, _ func(string) time.Time) (err error) {
		mains, err = l.Mains(ctx, uris)
		return err
	})
	return mains, err
}
