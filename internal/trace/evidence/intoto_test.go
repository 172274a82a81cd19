package evidence

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/git"
)

// validate checks a document against the rules of in-toto for a Statement v1 with the
// predicate test-result v0.1, as far as they can be checked: the fields of both and of a
// ResourceDescriptor with their types, what is required, and the form of digests. .ci
// validates real statements with the public types of in-toto.
func validate(b []byte) error {
	type descriptor struct {
		Name, URI        string
		Digest           map[string]string
		Content          []byte
		DownloadLocation string
		MediaType        string
		Annotations      map[string]any
	}
	var s struct {
		Type          string `json:"_type"`
		Subject       []descriptor
		PredicateType string
		Predicate     *struct {
			Result                                string
			Configuration                         []descriptor
			URL                                   string
			PassedTests, WarnedTests, FailedTests []string
		}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return err
	}
	if s.Type != "https://in-toto.io/Statement/v1" ||
		s.PredicateType != "https://in-toto.io/attestation/test-result/v0.1" || s.Predicate == nil {
		return errors.New("wrong types")
	}
	if !slices.Contains([]string{"PASSED", "WARNED", "FAILED"}, s.Predicate.Result) || s.Predicate.Configuration == nil ||
		len(s.Subject) == 0 {
		return errors.New("a required field is missing")
	}
	sizes := map[string][]int{"sha256": {32}, "sha1": {20}, "gitCommit": {20, 32}, "gitTree": {20, 32}}
	for i, d := range slices.Concat(s.Subject, s.Predicate.Configuration) {
		if i < len(s.Subject) && len(d.Digest) == 0 || d.URI == "" && len(d.Digest) == 0 && len(d.Content) == 0 {
			return fmt.Errorf("descriptor %d identifies nothing", i)
		}
		if len(d.Content) > 1024 {
			return fmt.Errorf("descriptor %d has a content of %d bytes", i, len(d.Content))
		}
		if _, err := url.Parse(d.URI); err != nil {
			return err
		}
		for algorithm, value := range d.Digest {
			raw, err := hex.DecodeString(value)
			if want := sizes[algorithm]; err != nil || want != nil && !slices.Contains(want, len(raw)) ||
				strings.ToLower(value) != value {
				return fmt.Errorf("digest %s is %q", algorithm, value)
			}
		}
	}
	return nil
}

func TestInToto(t *testing.T) {
	tree := handoff.Tree{Digest: strings.Repeat("ab", 32), Commit: strings.Repeat("c", 40)}
	attested := func(status int, signal string, argv ...string) handoff.Artifact {
		a := handoff.Artifact{Record: handoff.Record{ID: "art_1"}}
		a.Digest, a.Tree = handoff.Digest{Algorithm: "sha256", Value: strings.Repeat("ef", 32)}, &tree
		a.Attestation = &handoff.Attestation{Argv: argv, ExitStatus: status, Signal: signal, StartedAt: consoleTime,
			DurationMS: 5}
		return a
	}
	for name, tt := range map[string]struct {
		artifact handoff.Artifact
		clean    bool
		want     []string
	}{
		"passed": {attested(0, "", "go", "test", "./..."), true,
			[]string{`"result":"PASSED"`, `"passedTests":["go test ./..."]`, `"gitCommit":"cccc`, `"handoffTree":"abab`}},
		"failed": {attested(1, "", "go", "test", "./..."), false,
			[]string{`"result":"FAILED"`, `"failedTests":["go test ./..."]`, `"exitStatus":1`, `"annotations":{"commit":"cccc`}},
		"interrupted": {attested(0, "terminated", "true"), false,
			[]string{`"result":"FAILED"`, `"signal":"terminated"`}},
		"long arguments":       {attested(0, "", "sh", "-c", strings.Repeat("x", 5000)), false, []string{`"sha256":"`}},
		"arguments with signs": {attested(0, "", "echo", "<é\"\n\x1b>"), false, []string{`"result":"PASSED"`}},
	} {
		s, err := InToto(tt.artifact, func(handoff.Tree) bool { return tt.clean })
		b, more := handoff.EncodeJSON(s)
		if err := errors.Join(err, more, validate(b)); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b)
		}
		if strings.Contains(string(b), "gitCommit") != tt.clean {
			t.Errorf("%s: the subject has a commit: want %t\n%s", name, tt.clean, b)
		}
		for _, part := range tt.want {
			if !strings.Contains(string(b), part) {
				t.Errorf("%s: got %s, want %s", name, b, part)
			}
		}
	}
	plain := attested(0, "", "true")
	plain.Attestation = nil
	bare := attested(0, "", "true")
	bare.Tree = nil
	for _, a := range []handoff.Artifact{plain, bare} {
		if _, err := InToto(a, nil); !errors.Is(err, handoff.Invalid) {
			t.Errorf("got %v, want invalid", err)
		}
	}
	for _, wrong := range []string{`{}`, `{"_type":"https://in-toto.io/Statement/v1","x":1}`, `[]`} {
		if validate([]byte(wrong)) == nil {
			t.Errorf("%s is valid", wrong)
		}
	}
}

// TestIsClean checks which trees are exactly those of their commit.
func TestIsClean(t *testing.T) {
	r := newRepository(t)
	trees := Trees{Git: git.Run, Own: []string{"out"}}
	clean := func() bool {
		tree, err := trees.At(t.Context(), r.dir)
		r.must(err)
		return trees.IsClean(t.Context(), r.dir, tree.Tree)
	}
	r.write("out/x", "x")
	if !clean() {
		t.Error("a worktree without changes is not clean")
	}
	r.write("new.txt", "")
	if clean() {
		t.Error("a worktree with an untracked file is clean")
	}
	r.git("add", ".")
	if clean() {
		t.Error("a worktree with a staged file is clean")
	}
	r.commit()
	if !clean() {
		t.Error("a worktree whose changes are committed is not clean")
	}
	if trees.IsClean(t.Context(), r.dir, handoff.Tree{Digest: "x", Commit: "--help"}) {
		t.Error("an unknown commit is clean")
	}
}
