package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"

	"github.com/agent-handoff/handoff"
)

// compareLimit is the size of the largest content that is compared.
const compareLimit = 1 << 20

// text returns the beginning of what an artifact published: more than is compared.
func (s *Server) text(ctx context.Context, id string) ([]byte, error) {
	b, err := s.openBody(ctx, id)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return io.ReadAll(io.LimitReader(b, compareLimit+1))
}

func revisionName(a handoff.Artifact) string { return "v" + strconv.Itoa(a.Revision) }

// A pathError is the error of a path that names nothing that the viewer shows.
type pathError struct{ error }

func (e pathError) Unwrap() error { return e.error }

// openFile opens a file of a session's folder.
func (s *Server) openFile(r *http.Request) (*os.File, error) {
	id := r.PathValue("id")
	if _, err := s.findSession(r.Context(), id); errors.Is(err, handoff.NotFound) && !s.isUnrecorded(id) {
		return nil, err
	}
	f, err := s.o.Source.Sessions.OpenFile(r.Context(), id, r.PathValue("path"))
	if errors.Is(err, handoff.Invalid) {
		err = pathError{err}
	}
	return f, err
}

// sessionFile returns a file of a session's folder.
func (s *Server) sessionFile(r *http.Request) (download, error) {
	f, err := s.openFile(r)
	if err != nil {
		return download{}, err
	}
	d := download{name: path.Base(r.PathValue("path")), content: f}
	if r.URL.Query().Has("image") {
		d.image, err = imageType(f)
	}
	return d, err
}
