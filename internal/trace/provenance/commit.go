package provenance

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// maxFiles is the number of files of a commit whose writers are searched.
const maxFiles = 200

// shownBlobs is the number of files that the hop of a thread has as evidence.
const shownBlobs = 20

// commit adds a commit, who made it, and who wrote its files, or only one of them.
func (r *tracer) commit(ctx context.Context, c git.Commit, only string) {
	h := trace.Hop{Kind: trace.HopCommit, Ref: c.ID, Text: c.Subject, At: c.AuthoredAt, Certainty: trace.Recorded,
		Evidence: []trace.Evidence{{Kind: "commit", Ref: c.ID}}}
	if len(c.Parents) > 1 {
		h.Text += " (a merge: its changes are in its parents)"
	}
	r.add(h)
	r.committers(ctx, c)
	files := slices.DeleteFunc(slices.Clone(c.Files), func(f git.File) bool {
		return f.New == "" || only != "" && f.Path != only
	})
	if len(files) > maxFiles {
		r.warn(fmt.Errorf("the commit changes %d files; the writers of the first %d are shown", len(files), maxFiles))
		files = files[:maxFiles]
	}
	written := r.periodOf(ctx, c)
	type part struct {
		credit
		paths []string
	}
	var parts []*part
	for _, f := range files {
		for _, by := range r.writersIn(ctx, f, written) {
			i := slices.IndexFunc(parts, func(p *part) bool { return sameThread(p.uri, by.uri) && p.certainty == by.certainty })
			if i < 0 {
				i, parts = len(parts), append(parts, &part{credit: by})
			} else if len(parts[i].paths) < shownBlobs {
				parts[i].evidence = append(parts[i].evidence, by.evidence...)
			}
			parts[i].paths = append(parts[i].paths, f.Path)
		}
	}
	for _, p := range parts {
		r.thread(ctx, trace.Hop{Kind: trace.HopWrote, Ref: p.uri.String(), Text: several(p.paths), At: p.at,
			Certainty: p.certainty,
			Evidence:  p.evidence})
	}
	r.artifactsIn(ctx, files)
}

// several names some files on one line.
func several(paths []string) string {
	const named = 3
	if len(paths) <= named {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:named-1], ", "), len(paths)-named+1)
}

// periodOf returns when the files of a commit were written. Before its first parent,
// they were written for an earlier commit. A commit that was amended or rebased has
// bytes that are newer than its author's time.
func (r *tracer) periodOf(ctx context.Context, c git.Commit) period {
	return period{c.CommittedAt, c.AuthoredAt, sync.OnceValue(func() time.Time {
		if len(c.Parents) == 0 {
			return time.Time{}
		}
		parent, err := r.Repository.Commit(ctx, c.Parents[0])
		if err != nil {
			r.warn(err)
		}
		return parent.CommittedAt
	})}
}

// contentOf returns a file of a commit.
func (r *tracer) contentOf(ctx context.Context, f git.File, written period) content {
	blob := func(id string) func() (string, bool) {
		return sync.OnceValues(func() (string, bool) {
			if id == "" {
				return "", true
			}
			b, err := r.Repository.Blob(ctx, id)
			return string(b), err == nil
		})
	}
	files, _ := r.places(filepath.Join(r.Repository.Top, filepath.FromSlash(f.Path)))
	return content{
		files: files, relative: filepath.FromSlash(f.Path), period: written, line: r.lineText,
		before: blob(f.Old), text: blob(f.New),
		is: func(file string) bool { return r.Repository.BlobID([]byte(file)) == f.New },
	}
}

// writersIn returns who wrote a file of a commit.
func (r *tracer) writersIn(ctx context.Context, f git.File, written period) []credit {
	list := r.writers(ctx, r.contentOf(ctx, f, written))
	for i := range list {
		list[i].evidence = append([]trace.Evidence{{Kind: "message", Ref: list[i].uri.String()}, {Kind: "blob",
			Ref: f.New}}, list[i].evidence...)
	}
	return list
}

// committers adds the message in whose call git printed that it made the commit.
func (r *tracer) committers(ctx context.Context, c git.Commit) {
	list, err := r.conversations.Mentions(ctx, c.ID)
	if err != nil {
		r.warn(err)
	}
	for _, m := range list {
		if m.Where == threadindex.Committed && r.printed(ctx, m, c) {
			evidence := []trace.Evidence{{Kind: "message", Ref: m.URI.String()}, {Kind: "commit", Ref: m.Name}}
			if m.Command != "" {
				evidence = append(evidence, trace.Evidence{Kind: "command", Ref: m.Command})
			}
			r.thread(ctx, trace.Hop{Kind: trace.HopCommitted, Ref: m.URI.String(), At: m.At, Certainty: trace.Recorded,
				Evidence: evidence})
			return
		}
	}
}

// printed reports whether a mention is of this commit. The ID is shortened, so in a
// thread that did not run in the repository the subject must be equal, too.
func (r *tracer) printed(ctx context.Context, m threadindex.Mention, c git.Commit) bool {
	item, err := r.conversations.Item(ctx, m.URI)
	if err != nil {
		r.warn(err)
		return false
	}
	if _, relative := r.places(item.Cwd); relative != "" {
		return true
	}
	found := false
	err = r.conversations.Read(ctx, m.URI, calls(func(at thread.URI, _ thread.Message, call thread.Call) {
		found = found || at == m.URI && strings.Contains(call.Output, m.Name+"] "+c.Subject)
	}, m.URI))
	if err != nil {
		r.warn(err)
	}
	return found
}

// maxPublished is the number of files of a commit that are compared with artifacts.
const maxPublished = 20

// artifactsIn adds the artifacts that have the bytes of files of a commit.
func (r *tracer) artifactsIn(ctx context.Context, files []git.File) {
	for _, f := range files[:min(len(files), maxPublished)] {
		page, err := r.Reader.Artifacts(ctx, handoff.ArtifactQuery{Paths: []string{f.Path}, IncludeInactive: true,
			Limit: maxPublished})
		if err != nil {
			r.warn(err)
			return
		}
		var b []byte
		for _, a := range page.Artifacts {
			if a.Root != "" || a.Digest.Algorithm != handoff.SHA256 {
				continue
			}
			if b == nil {
				if b, err = r.Repository.Blob(ctx, f.New); err != nil {
					break
				}
			}
			if digestOf(b) == a.Digest.Value {
				r.artifact(ctx, a, trace.Exact, trace.Evidence{Kind: "blob", Ref: f.New})
				break
			}
		}
	}
}
