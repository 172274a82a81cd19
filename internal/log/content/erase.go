package content

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/order"
)

// An Eraser erases redacted bodies.
type Eraser struct {
	Hub    *handoff.Hub
	Bodies handoff.Bodies // as their backend opened them
	Files  *Files
}

// Erase removes bodies that were redacted, from the files that handoff wrote first, and
// then from the store, so that a body that is stored shows what a killed process left. It
// returns where copies remain.
func (e Eraser) Erase(ctx context.Context, list []handoff.Digest) (left []string, err error) {
	err = EachArtifact(ctx, e.Hub, handoff.ArtifactQuery{IncludeInactive: true}, func(a handoff.Artifact) error {
		if a.Redacted == nil || a.Redacted.Body == "" || !slices.Contains(list, StoredDigest(a.Digest)) {
			return nil
		}
		left, err = e.eraseFile(ctx, a, left)
		return err
	})
	if err != nil {
		return left, err
	}
	slices.Sort(left)
	left = slices.Compact(left)
	order.Sort(list, func(a, b handoff.Digest) int { return strings.Compare(a.Value, b.Value) })
	for _, d := range slices.Compact(list) {
		if d.Value == "" {
			continue
		}
		eraser, ok := e.Bodies.(handoff.BodyEraser)
		if !ok {
			left = append(left, "the body store, which keeps every body: "+d.Value)
			continue
		}
		if err := eraser.Erase(ctx, StoredDigest(d)); errors.Is(err, handoff.Unsupported) {
			left = append(left, err.Error())
		} else if err != nil {
			return left, err
		}
	}
	return left, nil
}

// eraseFile replaces or removes the file of an artifact whose body was redacted, if
// handoff wrote it. A file of the user is left alone and listed.
func (e Eraser) eraseFile(ctx context.Context, a handoff.Artifact, left []string) ([]string, error) {
	state, f := e.Files.Open(ctx, a)
	if f == nil {
		return left, nil // it is not as published
	}
	if err := f.Close(); err != nil {
		return left, err
	}
	if !IsOwn(a) {
		return append(left, "the file "+state.Path), nil
	}
	dir, err := os.OpenRoot(filepath.Dir(state.Path))
	if err != nil {
		return left, err
	}
	defer dir.Close()
	name := filepath.Base(state.Path)
	if a.Redacted.Body == handoff.BodyErased {
		return left, dir.Remove(name)
	}
	body, err := e.Hub.Open(ctx, a.ID)
	if err != nil {
		return left, errors.Join(err, dir.Remove(name))
	}
	defer body.Close()
	return left, durable.Replace(dir, name, func(to io.Writer) error {
		_, err := io.Copy(to, body)
		return err
	})
}

// EraseLeft erases the redacted bodies that are still on this machine: of a process that
// was killed, of a publish of the same bytes, or redacted on another machine.
func (e Eraser) EraseLeft(ctx context.Context, index interface {
	RedactedBodies(ctx context.Context) ([]handoff.Digest, error)
}) error {
	if _, err := e.Hub.Newest(ctx); err != nil { // which brings the index up to the log
		return err
	}
	list, err := index.RedactedBodies(ctx)
	if err != nil {
		return err
	}
	there := e.Bodies.Has
	if f, ok := e.Bodies.(handoff.BodyFetcher); ok {
		there = f.Fetched
	}
	list = slices.DeleteFunc(list, func(d handoff.Digest) bool {
		stored, err := there(ctx, d)
		return err != nil || !stored
	})
	if len(list) > 0 {
		_, err = e.Erase(ctx, list)
	}
	return err
}

// StoredDigest returns the digest under which a body is stored.
func StoredDigest(d handoff.Digest) handoff.Digest {
	if d.Value == "" {
		return d
	}
	return handoff.Digest{Algorithm: handoff.SHA256, Value: d.Value}
}
