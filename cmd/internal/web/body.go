package web

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/workspace"
)

// A download is a file that a browser saves.
type download struct {
	name    string
	content io.ReadSeekCloser
	image   string // the media type of an image that a page shows, otherwise ""
}

// file answers requests with a download, which a browser does not show unless it
// is an image: its type could be that of a page.
func (s *Server) file(find func(r *http.Request) (download, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, err := find(r)
		if d.content != nil {
			defer d.content.Close()
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
		h.Set("Content-Type", "application/octet-stream")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.name}))
		if d.image != "" {
			h.Set("Content-Type", d.image)
			h.Del("Content-Disposition")
		}
		http.ServeContent(w, r, "", s.o.Now(), d.content)
	})
}

// body returns what an artifact published.
func (s *Server) body(r *http.Request) (download, error) {
	b, err := s.openBody(r.Context(), r.PathValue("id"))
	if err != nil {
		return download{}, err
	}
	name := path.Base(b.Artifact.Path)
	if b.Artifact.TargetType == "directory" {
		name += ".tar"
	}
	d := download{name: name, content: b.ReadSeekCloser}
	if r.URL.Query().Has("image") {
		d.image, err = imageType(d.content)
	}
	return d, err
}

// imageType returns the media type of content that is an image, otherwise "".
func imageType(content io.ReadSeeker) (string, error) {
	head := make([]byte, 12)
	n, err := io.ReadFull(content, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return preview.ImageType(head[:n]), err
}

// openBody opens what the artifact with an ID published.
func (s *Server) openBody(ctx context.Context, id string) (workspace.Body, error) {
	if !handoff.IsArtifactID(id) {
		return workspace.Body{}, handoff.E("read", id, handoff.Invalid, errors.New("not the ID of an artifact"))
	}
	return s.o.Source.Bodies.Read(ctx, id, workspace.ReadOptions{})
}
