package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/sqlindex"
)

// TextLimit is how many bytes of a body are searched, from its beginning.
const TextLimit = 64 << 10

// Search returns the artifacts in whose texts all words of a query are found,
// newest first: titles, summaries, names or paths, tags, and of bodies that
// are text, and of at most handoff.KeepLimit bytes, the first TextLimit bytes.
//
// A body is searched as it was published: from the kept copy, or from the file
// where its digest is unchanged. It is read by the first search after its
// publish, and once; what can't be read then is found by its record only. The
// bodies of withdrawn artifacts are not searched.
//
// Its kinds are those of Query.Check and of reading the log.
func (w *Workspace) Search(ctx context.Context, q sqlindex.Query) ([]sqlindex.Match, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if _, err := w.Newest(ctx); err != nil { // which brings the index up to the log
		return nil, err
	}
	return ask(ctx, w.index, func(at handoff.Index) ([]sqlindex.Match, error) {
		if x, ok := at.(*sqlindex.Index); ok {
			return w.searchIn(ctx, x, q)
		}
		return w.searchAside(ctx, q)
	})
}

func (w *Workspace) searchIn(ctx context.Context, x *sqlindex.Index, q sqlindex.Query) ([]sqlindex.Match, error) {
	body := func(a handoff.Artifact) (string, error) { return w.text(ctx, a), ctx.Err() }
	if err := x.IndexText(ctx, body, w.index.reportProgress); err != nil {
		return nil, err
	}
	return x.Search(ctx, q)
}

// searchAside searches where the index lies in no file, in one that is made
// for this search.
func (w *Workspace) searchAside(ctx context.Context, q sqlindex.Query) ([]sqlindex.Match, error) {
	dir, err := os.MkdirTemp("", "handoff-index-")
	if err != nil {
		return nil, &handoff.Error{Op: "search", Kind: handoff.Unavailable, Err: err, Hint: handoff.Advice("set TMPDIR to a directory that can be written")}
	}
	defer os.RemoveAll(dir)
	x, err := sqlindex.Open(ctx, filepath.Join(dir, indexName), "")
	if err == nil {
		defer x.Close()
		err = handoff.CatchUp(ctx, w.Log, x)
	}
	var found []sqlindex.Match
	if err == nil {
		found, err = w.searchIn(ctx, x, q)
	}
	var trouble *sqlindex.Error
	if errors.As(err, &trouble) {
		return nil, &handoff.Error{Op: "search", Kind: handoff.Unavailable, Err: trouble.Err, Hint: handoff.Advice("set TMPDIR to a directory that can be written")}
	}
	return found, err
}

// text returns what is searched of an artifact's body, "" for none.
func (w *Workspace) text(ctx context.Context, a handoff.Artifact) string {
	if a.Digest.Algorithm != handoff.SHA256 || a.SizeBytes == nil || *a.SizeBytes > handoff.KeepLimit || !isText(a.MediaType) {
		return ""
	}
	var f io.ReadCloser
	if a.Kept {
		if kept, err := w.Bodies.Open(ctx, a.Digest); err == nil {
			f = kept
		}
	} else if _, _, file := w.published.Open(ctx, a); file != nil {
		f = file
	}
	if f == nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, TextLimit))
	if err != nil || bytes.IndexByte(b, 0) >= 0 {
		return ""
	}
	return string(b)
}

// isText reports whether a body of a media type is made of words.
func isText(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	major, minor, _ := strings.Cut(strings.TrimSpace(mediaType), "/")
	switch minor {
	case "json", "x-ndjson", "yaml", "toml", "xml", "sql":
		return major == "application"
	}
	return major == "text" || strings.HasSuffix(minor, "+json") || strings.HasSuffix(minor, "+xml") && major != "image"
}
