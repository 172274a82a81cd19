package reviews

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
	"github.com/agent-handoff/handoff/internal/tool/sshsig"
)

// sign signs a fact, if the draft is to be signed.
func (d Reviews) sign(ctx context.Context, r Draft, f handoff.Fact) error {
	if !r.Sign {
		return nil
	}
	key, err := d.signingKey(ctx)
	if err != nil {
		return err
	}
	s := handoff.Signature{At: d.c.Now().UTC()}
	var into *handoff.Signature
	var text []byte
	switch f := f.(type) {
	case *handoff.ArtifactReviewed:
		into = &f.Signature
		text, err = f.SignedText(s.At)
	case *handoff.ArtifactCommented:
		into = &f.Signature
		text, err = f.SignedText(s.At)
	}
	if err == nil {
		s.Value, err = sshsig.Sign(ctx, key, handoff.SignatureNamespace, text)
	}
	if err == nil && len(s.Value) > handoff.MaxSignature {
		err = fmt.Errorf("the signature has more than %d characters", handoff.MaxSignature)
	}
	switch {
	case err == nil:
		*into = s
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, sshsig.ErrNoKey):
		return handoff.E("sign", key, handoff.Invalid, err, handoff.Advice("set user.signingKey of git to an SSH key"))
	}
	return unusable("sign", key, err)
}

func unusable(op, name string, err error) error {
	if errors.Is(err, sshsig.ErrNotInstalled) {
		return handoff.E(op, "", handoff.Unavailable, err, handoff.Advice("install OpenSSH"))
	}
	return handoff.E(op, name, handoff.Unavailable, err, handoff.Advice("check that ssh-keygen can sign with the key"))
}

// signingKey returns the key that git signs with.
func (d Reviews) signingKey(ctx context.Context) (string, error) {
	b, err := git.Run(ctx, d.c.Dir, "config", "--type=path", "--get", "user.signingKey")
	key := strings.TrimSpace(string(b))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", handoff.E("sign", "", handoff.Unavailable, git.ErrNotInstalled, handoff.Advice("install git"))
	case err != nil || key == "":
		return "", handoff.E("sign", "", handoff.Invalid, errors.New("git has no user.signingKey"),
			handoff.Advice("set it to the file of an SSH key, such as ~/.ssh/id_ed25519.pub"))
	}
	return key, nil
}

// Signers are the allowed signers of a file, as ssh-keygen reads it.
type Signers struct{ file string }

// ReadSigners returns the allowed signers of a file. Kinds: NotFound, Invalid (not a regular
// file), Unavailable (ssh-keygen is not installed).
func ReadSigners(file string) (Signers, error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		return Signers{}, handoff.E("read allowed signers", file, handoff.Invalid, errors.New("not a regular file"),
			handoff.Advice("name a file with a line for each key: PRINCIPAL KEY"))
	}
	if err == nil {
		var f *os.File
		if f, err = os.Open(file); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return Signers{}, handoff.E("read allowed signers", file, handoff.NotFound, errors.Unwrap(err),
			handoff.Advice("name a file with a line for each key: PRINCIPAL KEY"))
	}
	if err := sshsig.Installed(); err != nil {
		return Signers{}, unusable("verify", "", err)
	}
	file, err = filepath.Abs(file)
	return Signers{file}, err
}

// keysOf returns the signers that the user's setting review_from names, and a function that
// removes what they need. Kinds: those of ReadSigners.
func (d Reviews) keysOf() (s Signers, remove func(), err error) {
	from := d.c.Settings.ReviewFrom
	if !sshsig.IsPublicKey(from) {
		if below, ok := strings.CutPrefix(from, "~/"); ok {
			from = filepath.Join(d.c.UserHome, below)
		}
		s, err = ReadSigners(from)
		return s, func() {}, err
	}
	dir, err := os.MkdirTemp("", "handoff-keys-")
	if err != nil {
		return s, nil, err
	}
	var lines []byte
	for key := range strings.Lines(from) {
		key = strings.TrimPrefix(strings.TrimSpace(key), "key::") // as git's user.signingKey has it
		lines = fmt.Appendf(lines, "* namespaces=%q %s\n", handoff.SignatureNamespace, key)
	}
	s.file = filepath.Join(dir, "keys")
	return s, func() { os.RemoveAll(dir) }, os.WriteFile(s.file, lines, 0o600)
}

// maxSigned is how many signatures of one artifact are verified.
const maxSigned = 200

// Authenticate verifies the signatures of reviews of an artifact, and sets what was found of
// each. Kinds: Unavailable, Conflict (there are too many).
func (s Signers) Authenticate(ctx context.Context, a *handoff.Artifact) error {
	if len(a.SignedReviews) > maxSigned {
		return handoff.E("verify", a.ID, handoff.Conflict, fmt.Errorf("more than %d signed reviews", maxSigned),
			handoff.Advice("publish it again"))
	}
	known := map[string]*handoff.Signed{}
	for i, r := range a.SignedReviews {
		signed, err := s.verify(ctx, *r.Signed)
		if err != nil {
			return err
		}
		known[r.ID], a.SignedReviews[i].Signed = &signed, &signed
	}
	for i, r := range a.Reviews {
		a.Reviews[i].Signed = cmp.Or(known[r.ID], r.Signed)
	}
	a.Authenticated = true
	return nil
}

// verify returns the signature with what was found of it.
func (s Signers) verify(ctx context.Context, signed handoff.Signed) (handoff.Signed, error) {
	signed.By, signed.Problem = "", ""
	if len(signed.Value) > handoff.MaxSignature {
		signed.Problem = fmt.Sprintf("it has more than %d characters", handoff.MaxSignature)
		return signed, nil
	}
	by, err := sshsig.Verify(ctx, s.file, handoff.SignatureNamespace, signed.Text, signed.Value, signed.At)
	switch {
	case ctx.Err() != nil:
		return signed, ctx.Err()
	case errors.Is(err, sshsig.ErrNotInstalled):
		return signed, unusable("verify", "", err)
	case err != nil:
		signed.Problem = strings.TrimPrefix(err.Error(), s.file+":")
	}
	signed.By = by
	return signed, nil
}
