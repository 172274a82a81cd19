package reviews

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/sshsig"
)

// allowedKey returns a new key, and a file that allows it to sign reviews.
func allowedKey(t *testing.T) (key string, signers Signers) {
	t.Helper()
	if sshsig.Installed() != nil {
		t.Skip("ssh-keygen is not installed")
	}
	dir := t.TempDir()
	key = filepath.Join(dir, "key")
	b, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key).CombinedOutput()
	if err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, b)
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	allowed := filepath.Join(dir, "allowed")
	if err := os.WriteFile(allowed, []byte("alice@example.com "+string(public)), 0o600); err != nil {
		t.Fatal(err)
	}
	if signers, err = ReadSigners(allowed); err != nil {
		t.Fatal(err)
	}
	return key, signers
}

// TestSignatureOfAnother holds that a signature is accepted only with each value that it
// signs.
func TestSignatureOfAnother(t *testing.T) {
	key, signers := allowedKey(t)
	at := time.Date(2026, 11, 27, 7, 0, 0, 5, time.UTC)
	digest := func(c string) handoff.Digest {
		return handoff.Digest{Algorithm: handoff.SHA256, Value: strings.Repeat(c, 64)}
	}
	review := handoff.ArtifactReviewed{ArtifactID: "art_A", Digest: digest("a"), Decision: handoff.Approved,
		Comments: []string{"cmt_A"}}
	text, err := review.SignedText(at)
	if err != nil {
		t.Fatal(err)
	}
	value, err := sshsig.Sign(context.Background(), key, handoff.SignatureNamespace, text)
	if err != nil {
		t.Fatal(err)
	}
	other, err := sshsig.Sign(context.Background(), key, "git", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		edit  func(f *handoff.ArtifactReviewed)
		at    time.Time
		value string
		want  string
	}{
		{name: "as signed", want: "alice@example.com"},
		{name: "artifact", edit: func(f *handoff.ArtifactReviewed) { f.ArtifactID = "art_B" }},
		{name: "digest", edit: func(f *handoff.ArtifactReviewed) { f.Digest = digest("b") }},
		{name: "algorithm", edit: func(f *handoff.ArtifactReviewed) { f.Digest.Algorithm = handoff.SHA256Tar }},
		{name: "decision", edit: func(f *handoff.ArtifactReviewed) { f.Decision = handoff.Dismissed }},
		{name: "comments", edit: func(f *handoff.ArtifactReviewed) { f.Comments = nil }},
		{name: "time", at: at.Add(1)},
		{name: "namespace", value: other},
		{name: "large", value: strings.Repeat(value, handoff.MaxSignature)},
		{name: "no base64", value: "-----END SSH SIGNATURE-----"},
		{name: "no signature", value: "aaaa"},
		{name: "cut", value: value[:len(value)/8*4]},
	} {
		f := review
		if tt.edit != nil {
			tt.edit(&f)
		}
		s := handoff.Signature{At: at, Value: value}
		if !tt.at.IsZero() {
			s.At = tt.at
		}
		if tt.value != "" {
			s.Value = tt.value
		}
		got, err := signers.verify(context.Background(), *handoff.NewSigned(s, f.SignedText))
		if err != nil || got.By != tt.want || (got.Problem == "") != (tt.want != "") {
			t.Errorf("%s: verify = %q, problem %q, %v, want %q", tt.name, got.By, got.Problem, err, tt.want)
		}
	}
	comment := handoff.ArtifactCommented{ArtifactID: "art_A", Body: digest("a")}
	got, err := signers.verify(context.Background(),
		*handoff.NewSigned(handoff.Signature{At: at, Value: value}, comment.SignedText))
	if err != nil || got.By != "" {
		t.Errorf("a comment with the signature of a review = %q, %v, want none", got.By, err)
	}
}
