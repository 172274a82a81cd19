package workspace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
	"github.com/agent-handoff/handoff/internal/session/manifest"
)

// TestContainment holds what can be an output of a session against both ways
// of making it one: adding a file, and adopting a folder whose manifest lists
// it. A kind of nil means that it can be.
func TestContainment(t *testing.T) {
	w := openDir(t, t.TempDir())
	const theirs = "e3f2c9d1-4b5e-4789-81ab-cdef12345678"
	opened, err := w.Sessions().Open(t.Context(),
		session.OpenOptions{Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "w"}})
	if err != nil {
		t.Fatal(err)
	}
	ours := opened.Folder
	theirFolder := filepath.Join(filepath.Dir(ours), theirs)
	if err := os.WriteFile(filepath.Join(w.c.Dirs.Root, "secret.md"), []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{ours, theirFolder} {
		furnish(t, folder, w.c.Dirs.Root)
	}
	long := strings.Repeat("n", 255)
	for _, tt := range []struct {
		file string
		kind error
	}{
		{"inside.md", nil}, {"sub/deep.md", nil}, {"a..b.md", nil}, {"..c", nil}, {"INSIDE.md", nil}, {"hard.md", nil},
		{"link-in", nil}, {"sub", nil}, {"sub/manifest.json", nil}, {long, nil}, {"%2e%2e", nil},
		{"", handoff.Invalid}, {".", handoff.Invalid}, {"..", handoff.Invalid}, {"./inside.md", handoff.Invalid},
		{"sub//deep.md", handoff.Invalid},
		{"/etc/passwd", handoff.Invalid}, {filepath.Join(ours, "inside.md"), handoff.Invalid},
		{"//inside.md", handoff.Invalid},
		{"../../../secret.md", handoff.Invalid}, {"sub/../inside.md", handoff.Invalid},
		{"sub/../../../../secret.md", handoff.Invalid},
		{`..\..\..\secret.md`, handoff.Invalid}, {`sub\deep.md`, handoff.Invalid}, {"inside.md\x00", handoff.Invalid},
		{"\x00", handoff.Invalid},
		{"../" + filepath.Base(ours) + "-evil/x.md", handoff.Invalid},
		{"link-out", handoff.Invalid}, {"absolute", handoff.Invalid}, {"dir-out/passwd", handoff.Invalid},
		{"dir-out/made-up", handoff.Invalid},
		{"sub/up/secret.md", handoff.Invalid}, {"loop", handoff.Invalid}, {"loop/x", handoff.Invalid},
		{"manifest.json", handoff.Invalid}, {".handoff-1234", handoff.Invalid},
		{"%2e%2e/%2e%2e/%2e%2e/secret.md", handoff.NotFound}, {"missing.md", handoff.NotFound}, {"Sub", handoff.NotFound},
		{"inside.md/x", handoff.NotFound}, {long + "n", handoff.NotFound}, {"dangling", handoff.NotFound},
	} {
		before, err := w.c.Anonymous.Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.sessions.Add(t.Context(), opened.ID, handoff.Producer{}, lifecycle.Addition{File: tt.file,
			Type: "artifact"})
		if tt.kind == nil && err != nil || !errors.Is(err, tt.kind) {
			t.Errorf("add %.40q: %v, want %v", tt.file, err, tt.kind)
		}
		writeManifest(t, theirFolder, theirs, tt.file)
		if tt.kind != nil {
			// A folder is adopted as a whole or not at all, and its reasons are its own.
			if _, _, err := w.sessions.Adopt(t.Context(), "docs/agent-outputs/"+theirs,
				session.AdoptOptions{Lenient: false}); !errors.Is(err,
				handoff.Invalid) || !refuses(err, "/outputs/0/file") {
				t.Errorf("adopt %.40q: %v, want it refused", tt.file, err)
			}
			if after, err := w.c.Anonymous.Newest(t.Context()); err != nil || after != before {
				t.Errorf("%.40q was refused, but there is a record %d, %v", tt.file, after, err)
			}
		}
		if _, _, err := w.sessions.Adopt(t.Context(), "docs/agent-outputs/"+theirs,
			session.AdoptOptions{Lenient: true}); err != nil {
			t.Errorf("adopt %.40q leniently: %v", tt.file, err)
		}
		_, made, err := w.sessions.Read(t.Context(), theirs)
		if err != nil {
			t.Fatal(err)
		}
		has := false
		for _, a := range made {
			has = has || a.Path == "docs/agent-outputs/"+theirs+"/"+tt.file
		}
		if has != (tt.kind == nil) {
			t.Errorf("adopt %.40q made it an output: %t", tt.file, has)
		}
	}
}

// furnish fills a session's folder with files, and with links that lead in and
// out.
func furnish(t *testing.T, folder, root string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inside.md", "INSIDE.md", "a..b.md", "..c", "%2e%2e", "sub/deep.md", "sub/manifest.json",
		".handoff-1234", strings.Repeat("n", 255)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(folder, "inside.md"), filepath.Join(folder, "hard.md")); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"link-in": "inside.md", "link-out": "../../../secret.md", "absolute": filepath.Join(root, "secret.md"),
		"dir-out": "/etc",
		"sub/up":  "../../../..", "loop": "loop", "dangling": "nothing",
	} {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// writeManifest writes a manifest that lists one output.
func writeManifest(t *testing.T, folder, id, file string) {
	t.Helper()
	b, err := json.Marshal(map[string]any{
		"version": "1.0.0", "session_id": id, "agent": map[string]string{"name": "e", "title": "E", "bundle": ""},
		"workflow": map[string]string{"name": "w", "description": ""}, "execution": map[string]string{
			"started_at": "2025-10-05T23:01:45Z", "status": "running", "user": "u"},
		"outputs": []map[string]string{
			{"file": file, "type": "artifact", "description": "", "created_at": "2025-10-05T23:05:20Z"}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, manifest.Name), b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// refuses reports whether a single problem of an error has the given pointer.
func refuses(err error, pointer string) bool {
	var e *handoff.Error
	return errors.As(err, &e) && slices.ContainsFunc(e.Details, func(text string) bool {
		return strings.HasPrefix(text, pointer)
	})
}
