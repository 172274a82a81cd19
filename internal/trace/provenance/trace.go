package provenance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// maxBytes is the size of the largest file whose bytes are compared.
const maxBytes = 16 << 20

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// line adds a line of a file, and the commit that last changed it. A line that is not
// committed is traced in the working tree.
func (r *tracer) line(ctx context.Context, s Subject) {
	r.lineText = s.Line.Text
	h := trace.Hop{Kind: trace.HopLine, Ref: s.File + ":" + strconv.Itoa(s.Line.Number), Certainty: trace.Recorded,
		Evidence: []trace.Evidence{}}
	if s.Commit != nil {
		h.Evidence = append(h.Evidence, trace.Evidence{Kind: "commit", Ref: s.Commit.ID},
			trace.Evidence{Kind: "path", Ref: s.Line.Path + ":" + strconv.Itoa(s.Line.Line.Number)})
		r.add(h)
		r.commit(ctx, *s.Commit, s.Line.Path)
		r.noted(ctx, *s.Commit, s.Line.Path, s.Line.Line.Number)
		return
	}
	h.Text = "not committed"
	r.add(h)
	if b, err := plainfile.Read(s.File, maxBytes); err == nil {
		r.wrote(ctx, []string{s.File}, b, time.Time{}, r.history(ctx, r.gitPath(s.File), b))
	}
}

// file adds a file or an artifact with all that is known of it.
func (r *tracer) file(ctx context.Context, s Subject) error {
	a := s.Artifact
	b, err := r.bytes(ctx, s)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.warn(fmt.Errorf("the bytes can't be compared: %w", err))
	}
	if s.File != "" {
		h := trace.Hop{Kind: trace.HopFile, Ref: s.File, Certainty: trace.Recorded, Evidence: []trace.Evidence{}}
		if b != nil {
			h.Evidence = append(h.Evidence, trace.Evidence{Kind: "digest", Ref: handoff.SHA256 + ":" + digestOf(b)})
		}
		r.add(h)
	}
	files, at, until := []string{}, s.File, time.Time{}
	if at != "" {
		files = append(files, at)
	}
	if a != nil {
		same := r.revision(ctx, a, b)
		if files = append(files, pathsOf(*a)...); at == "" && len(files) > 0 {
			at = files[0]
		}
		if same {
			until = a.CreatedAt
		}
		r.artifactOf(ctx, *a, s.File, same)
	}
	var made []credit
	if b != nil {
		h := r.history(ctx, r.gitPath(at), b)
		if made = r.wrote(ctx, files, b, until, h); made == nil {
			made = r.copied(ctx, b)
		}
		r.commits(ctx, h)
	}
	if err := r.inputs(ctx, a, made); err != nil {
		return err
	}
	return r.uses(ctx, a, files, made)
}

// bytes returns the bytes that are traced: those of the file if there is one,
// otherwise those that were published.
func (r *tracer) bytes(ctx context.Context, s Subject) ([]byte, error) {
	b, err := []byte(nil), fs.ErrNotExist
	if s.File != "" {
		b, err = plainfile.Read(s.File, maxBytes)
	}
	if a := s.Artifact; err != nil && a != nil && a.TargetType == "file" {
		b, err = r.Published(ctx, *a, maxBytes)
	}
	if err == nil && b == nil {
		b = []byte{}
	}
	return b, err
}

// maxRevisions is the number of artifacts of a path that are compared.
const maxRevisions = 200

// revision replaces a by the artifact of its path that has the bytes, and reports
// whether there is one.
func (r *tracer) revision(ctx context.Context, a *handoff.Artifact, b []byte) bool {
	has := func(a handoff.Artifact) bool {
		return b != nil && a.Digest.Algorithm == handoff.SHA256 && a.Digest.Value == digestOf(b)
	}
	if has(*a) {
		return true
	}
	page, err := r.Reader.Artifacts(ctx, handoff.ArtifactQuery{Paths: []string{a.Path}, IncludeInactive: true,
		Limit: maxRevisions})
	if err != nil {
		r.warn(err)
	}
	for _, other := range page.Artifacts {
		if other.File == a.File && has(other) {
			*a = other
			return true
		}
	}
	return false
}

// pathsOf returns the paths on this machine at which an artifact is and was.
func pathsOf(a handoff.Artifact) (files []string) {
	if a.File == "" {
		return nil
	}
	files = append(files, a.File)
	p, ok := a.Record.Fact.(*handoff.ArtifactPublished)
	if !ok {
		return files
	}
	now, was := filepath.FromSlash(a.Path), filepath.FromSlash(p.Path)
	if root, ok := cutTail(a.File, now); ok && now != was {
		files = append(files, filepath.Join(root, was))
	}
	return files
}

// cutTail returns the directory in which a file has a relative path.
func cutTail(file, relative string) (string, bool) {
	root := file[:max(0, len(file)-len(relative))]
	return root, filepath.Join(root, relative) == file
}

// gitPath returns the path of a file in its repository, slash-separated, "" if it is
// in none.
func (r *tracer) gitPath(file string) string {
	if _, relative := r.places(file); r.Repository != nil && relative != "" {
		return filepath.ToSlash(relative)
	}
	return ""
}

// wrote adds the messages that wrote some bytes of a file, which existed at a time, zero
// for now.
func (r *tracer) wrote(ctx context.Context, files []string, b []byte, until time.Time, h history) []credit {
	var all []string
	for _, file := range files {
		in, _ := r.places(file)
		all = append(all, in...)
	}
	list := r.writers(ctx, content{
		files: all, relative: filepath.FromSlash(h.path), period: r.periodIn(ctx, h, until), line: r.lineText,
		is:   func(file string) bool { return file == string(b) },
		text: func() (string, bool) { return string(b), true },
		before: func() (string, bool) {
			if h.before == "" {
				return "", true
			}
			old, err := r.Repository.Blob(ctx, h.before)
			return string(old), err == nil
		},
	})
	for i, by := range list {
		list[i].evidence = append([]trace.Evidence{{Kind: "message", Ref: by.uri.String()}}, by.evidence...)
		if by.certainty == trace.Exact {
			list[i].evidence = append(list[i].evidence, trace.Evidence{Kind: "digest", Ref: handoff.SHA256 + ":" + digestOf(b)})
		}
		r.thread(ctx, trace.Hop{Kind: trace.HopWrote, Ref: by.uri.String(), Text: by.path, At: by.at, Certainty: by.certainty,
			Evidence: list[i].evidence})
	}
	return list
}

// copied adds the message of the thread that published an artifact, if it wrote
// the bytes to another file.
func (r *tracer) copied(ctx context.Context, b []byte) []credit {
	if r.publishedBy == (thread.URI{}) {
		return nil
	}
	for _, w := range slices.Backward(r.writesOf(ctx, threadOf(r.publishedBy))) {
		if before := w.uri.From <= r.publishedBy.From || r.publishedBy.From == 0; before && w.edit.complete &&
			w.edit.content == string(b) {
			by := credit{w, w.certainty(), []trace.Evidence{{Kind: "message", Ref: w.uri.String()}, {Kind: "digest",
				Ref: handoff.SHA256 + ":" + digestOf(b)}}}
			r.thread(ctx, trace.Hop{Kind: trace.HopWrote, Ref: w.uri.String(), Text: w.path, At: w.at,
				Certainty: by.certainty, Evidence: by.evidence})
			return []credit{by}
		}
	}
	return nil
}

// maxHistory is the number of commits of a file that are compared with its bytes, and
// shownCommits the number of them that a trace has.
const (
	maxHistory   = 200
	shownCommits = 3
)

// A history is what git has of some bytes of a file.
type history struct {
	path    string       // in the repository, "" if it is in none
	holding []git.Commit // in which the file got the bytes, the oldest first
	others  []git.Commit // in which it got other ones, the newest first
	before  string       // the blob before the bytes, "" if there was none
}

// history returns what git has of some bytes of a file.
func (r *tracer) history(ctx context.Context, path string, b []byte) history {
	h := history{path: path}
	if path == "" {
		return h
	}
	list, err := r.Repository.History(ctx, path, maxHistory)
	if err != nil {
		r.warn(err)
	}
	if len(list) == maxHistory {
		r.warn(fmt.Errorf("only the newest %d commits of the file were compared", maxHistory))
	}
	blob := r.Repository.BlobID(b)
	h.before = "HEAD:" + path
	for _, c := range list {
		if i := slices.IndexFunc(c.Files, func(f git.File) bool { return f.New == blob }); i >= 0 {
			h.holding, h.before = append(h.holding, c), c.Files[i].Old
		} else {
			h.others = append(h.others, c)
		}
	}
	slices.Reverse(h.holding)
	return h
}

// periodIn returns when the bytes that existed at a time, zero for now, were written.
func (r *tracer) periodIn(ctx context.Context, h history, until time.Time) period {
	if len(h.holding) > 0 && (until.IsZero() || h.holding[0].AuthoredAt.Before(until)) {
		p := r.periodOf(ctx, h.holding[0])
		if !until.IsZero() && until.Before(p.until) {
			p.until = until
		}
		return p
	}
	return period{until, until, func() time.Time {
		for _, c := range h.others {
			if until.IsZero() || !c.CommittedAt.After(until) {
				return c.CommittedAt
			}
		}
		return time.Time{}
	}}
}

// commits adds commits in which a file got the bytes.
func (r *tracer) commits(ctx context.Context, in history) {
	for _, c := range in.holding[:min(len(in.holding), shownCommits)] {
		h := trace.Hop{Kind: trace.HopCommit, Ref: c.ID, Text: c.Subject, At: c.AuthoredAt, Certainty: trace.Exact}
		for _, f := range c.Files {
			h.Evidence = append(h.Evidence, trace.Evidence{Kind: "blob", Ref: f.New})
		}
		h.Evidence = append(h.Evidence, trace.Evidence{Kind: "path", Ref: in.path})
		r.add(h)
		r.committers(ctx, c)
	}
}
