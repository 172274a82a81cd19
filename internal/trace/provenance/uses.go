package provenance

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// readSince returns the first call of each thread that read one of the files
// after a time.
func readSince(ctx context.Context, l threadindex.Lookup, files []string, since time.Time) (list []threadindex.Touch,
	err error) {
	touches, err := l.Touches(ctx, files, "")
	seen := map[thread.URI]bool{}
	for _, t := range touches {
		if uri := threadOf(t.URI); t.Access == action.Read && t.At.After(since) && !seen[uri] {
			seen[uri] = true
			list = append(list, t)
		}
	}
	return list, err
}

// AddUses adds to an artifact its uses that transcripts show: the first call of each thread
// that read one of its paths afterwards, without the thread that published it. It answers
// soon: without an index of threads that is almost up to date, it adds nothing.
func AddUses(ctx context.Context, c Conversations, a *handoff.Artifact) (warnings []string, err error) {
	recorded := a.UsedBy
	own := map[thread.URI]bool{}
	for _, name := range []string{a.Producer.Thread, a.PublishedBy().Thread} {
		uri, _ := thread.ParseURI(name) // the zero URI is no thread
		own[threadOf(uri)] = true
	}
	return c.Lookup(ctx, threadindex.Quick, func(l threadindex.Lookup) error {
		a.UsedBy = recorded
		touches, err := readSince(ctx, l, pathsOf(*a), a.CreatedAt)
		for _, t := range touches {
			if !own[threadOf(t.URI)] {
				a.UsedBy = append(a.UsedBy[:len(a.UsedBy):len(a.UsedBy)], inferred(ctx, l, t))
			}
		}
		return err
	})
}

// Used returns a page of the artifacts that q selects and that q.UsedBy has read: an
// agent, a session or a run. It adds the uses that transcripts show: by subagents with
// this name or role, and by the threads with some URIs. As with AddTranscripts, these need
// an index of threads that is almost up to date.
func (s Sources) Used(ctx context.Context, q handoff.ArtifactQuery, uris []string) (page handoff.ArtifactPage,
	err error) {
	var threads []thread.URI
	for _, uri := range uris {
		if u, err := thread.ParseURI(uri); err == nil {
			threads = append(threads, u)
		}
	}
	uses := map[string][]handoff.Use{} // by artifact
	if _, err = s.Conversations.Lookup(ctx, threadindex.Quick, func(l threadindex.Lookup) error {
		touches, err := l.TouchesOf(ctx, q.UsedBy, threads...)
		if err == nil {
			uses, err = s.usesOf(ctx, l, touches)
		}
		return err
	}); err != nil || len(uses) == 0 {
		page, more := s.Reader.Artifacts(ctx, q)
		return page, cmp.Or(err, more)
	}
	recorded, err := s.Reader.Artifacts(ctx, handoff.ArtifactQuery{UsedBy: q.UsedBy, IncludeInactive: true})
	if err != nil {
		return page, err
	}
	used := slices.Collect(maps.Keys(uses))
	for _, a := range recorded.Artifacts {
		used = append(used, a.ID)
	}
	q.UsedBy = ""
	if q.IDs == nil {
		q.IDs = used
	}
	q.IDs = slices.DeleteFunc(slices.Clone(q.IDs), func(id string) bool { return !slices.Contains(used, id) })
	page, err = s.Reader.Artifacts(ctx, q)
	for i, a := range page.Artifacts {
		page.Artifacts[i].UsedBy = append(a.UsedBy, uses[a.ID]...)
	}
	return page, err
}

// usesOf returns the uses that calls are of artifacts in the worktrees: the first read
// by each thread after the artifact was published.
func (s Sources) usesOf(ctx context.Context, l threadindex.Lookup,
	touches []threadindex.Touch) (map[string][]handoff.Use, error) {
	reads, paths := map[string][]threadindex.Touch{}, []string{}
	in := tracer{Sources: s}
	for _, t := range touches {
		if _, relative := in.places(t.Path); t.Access == action.Read && relative != "" {
			reads[t.Path] = append(reads[t.Path], t)
			paths = append(paths, filepath.ToSlash(relative))
		}
	}
	slices.Sort(paths)
	uses := map[string][]handoff.Use{}
	for part := range slices.Chunk(slices.Compact(paths), maxRevisions) {
		page, err := s.Reader.Artifacts(ctx, handoff.ArtifactQuery{Paths: part, IncludeInactive: true})
		if err != nil {
			return nil, err
		}
		for _, a := range page.Artifacts {
			publisher, _ := thread.ParseURI(a.Producer.Thread)
			seen := map[thread.URI]bool{threadOf(publisher): true}
			for _, file := range pathsOf(a) {
				for _, t := range reads[file] {
					if uri := threadOf(t.URI); t.At.After(a.CreatedAt) && !seen[uri] {
						seen[uri] = true
						uses[a.ID] = append(uses[a.ID], inferred(ctx, l, t))
					}
				}
			}
		}
	}
	return uses, nil
}

// inferred returns the use that a call is.
func inferred(ctx context.Context, l threadindex.Lookup, t threadindex.Touch) handoff.Use {
	u := handoff.Use{Thread: t.URI.String(), Inferred: true}
	if item, err := l.Item(ctx, t.URI); err == nil {
		u.Agent = item.ProducerAgent()
	}
	return u
}
