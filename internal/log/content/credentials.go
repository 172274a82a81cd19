package content

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/secret"
)

// checkCredentials returns an error if a file, or a file in a directory, usually holds
// credentials. The name is that in the record, where is what it leads to.
func (s *Files) checkCredentials(ctx context.Context, d handoff.Draft, name, where string, dir bool) error {
	if d.AllowSecret {
		return nil
	}
	if !dir {
		if err := secret.CheckFile(name, nil); err != nil {
			return handoff.CredentialError(name, err)
		}
		return s.checkCredential(ctx, name, where)
	}
	return fs.WalkDir(s.Root.FS(), where, func(file string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil, !e.Type().IsRegular(): // what can't be read is not copied
			return nil
		case secret.MayHold(file):
			return s.checkCredential(ctx, file, file)
		}
		if err := secret.CheckFile(file, nil); err != nil {
			return handoff.CredentialError(file, err)
		}
		return nil
	})
}

// checkCredential is checkCredentials for one file, whose first bytes it reads.
func (s *Files) checkCredential(ctx context.Context, name, where string) error {
	f, err := openSteady(ctx, s.Root, where)
	if err != nil {
		return nil // whoever reads it reports the error
	}
	defer f.Close()
	head := make([]byte, secret.HeadSize)
	n, _ := io.ReadFull(f.f, head)
	if err := secret.CheckFile(where, head[:n]); err != nil {
		return handoff.CredentialError(name, err)
	}
	return nil
}

// withoutCredentials returns a reader of a body after it has checked its first bytes.
func withoutCredentials(d handoff.Draft, name string, body io.Reader) (io.Reader, error) {
	if d.AllowSecret || d.Attestation != nil { // an output of a command, which is recorded as it is
		return body, nil
	}
	r := bufio.NewReaderSize(body, secret.HeadSize)
	head, err := r.Peek(secret.HeadSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return r, nil // reading reports it
	}
	if err := secret.CheckFile(name, head); err != nil {
		return nil, handoff.CredentialError(path.Base(name), err)
	}
	return r, nil
}
