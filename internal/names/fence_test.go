package names_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/workspace"
)

const secret = "SECRET"

// A fence is a workspace in a directory with other files, none of which run-1
// may read or write.
type fence struct {
	*testing.T
	top, ws string
	w       *workspace.Workspace
	scope   names.Scope
}

func newFence(t *testing.T) *fence {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	f := &fence{T: t, top: top, ws: filepath.Join(top, "ws")}
	f.scope = scopeOf(f.ws, "run-1")
	for _, name := range []string{
		"etc/passwd", "outside/context.md", "outside/run-1/context.md", "outside/plans/context.md",
		"outside/artifacts/run-1/context.md",
		"outside/artifacts/run-9/found.md", "outside/" + session + "/artifacts/run-1/context.md",
		"ws/context.md", "ws/plans/context.md", "ws/docs/context.md", "ws/docs/agent-outputs/" + session + "/manifest.json",
		"ws/docs/agent-outputs/" + session + "/artifacts/context.md", "ws/docs/agent-outputs/" + session +
			"/artifacts/run-1-evil/x.md",
		"ws/docs/agent-outputs/" + session + "/artifacts/run-1-evil/context.md",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755))
		text := secret + " " + name
		if strings.Contains(name, "run-1-evil") {
			text = "another run's" // readable as run/name
		}
		must(t, os.WriteFile(filepath.Join(top, name), []byte(text), 0o644))
	}
	f.w = open(t, f.ws)
	for _, run := range []string{"run-1", "run-2"} {
		if err := f.write(run, "context.md", "written by "+run); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func (f *fence) write(run, name, text string) error {
	scope := f.scope
	scope.Run = run
	written, err := names.Writer{Hub: f.w.Hub(), Workspace: f.ws, Scope: scope}.Write(f.Context(),
		handoff.Draft{Channel: "handoff", Name: name, Body: strings.NewReader(text)})
	if err == nil && len(written.Warnings) > 0 {
		err = errors.New(written.Warnings[0])
	}
	return err
}

// read returns what run-1 gets under a ref.
func (f *fence) read(ref string) (string, error) {
	found, err := resolver(f.w.Hub(), f.scope).Latest(f.Context(), ref)
	if err != nil {
		return "", err
	}
	var r io.ReadCloser
	if found.Unrecorded() {
		r, err = found.Open()
	} else {
		r, err = f.w.Hub().Open(f.Context(), found.ID)
	}
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

// outside describes everything that is not run-1's: names, modes, sizes, times,
// links and content.
func (f *fence) outside() string {
	f.Helper()
	var b strings.Builder
	own := []string{filepath.Join(f.ws, ".handoff"), filepath.Join(f.scope.Dir, "artifacts", "run-1")}
	must(f.T, filepath.WalkDir(f.top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(own, name) && d.IsDir() {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, name, info.Mode(), info.Size(), info.ModTime().UnixNano())
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(name)
			fmt.Fprintf(&b, "%q %v\n", text, err)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			fmt.Fprintln(&b, to, err)
		}
		return nil
	}))
	return b.String()
}

// TestNameTable writes and reads names of every kind.
func TestNameTable(t *testing.T) {
	t.Parallel()
	f := newFence(t)
	for _, tt := range []struct {
		name, file string // its file in run-1, "" if the name is invalid
	}{
		{"context.md", "context.md"},
		{"./context.md", "context.md"},
		{"plans/x.md", "plans/x.md"},
		{"CONTEXT.md", "CONTEXT.md"},
		{"..hidden", "..hidden"},
		{"a b/Prüfung …", "a b/Prüfung …"},
		{strings.Repeat("n", 255), strings.Repeat("n", 255)},
		{"a/../../run-1/b.md", ""},
		{"../run-2/x.md", ""},
		{"../run-2/context.md", ""},
		{"../../etc", ""},
		{"../../manifest.json", ""},
		{"/etc/passwd", ""},
		{f.top + "/etc/passwd", ""},
		{"../run-1-evil/x.md", ""},
		{"../run-1/context.md", ""},
		{"", ""},
		{".", ""},
		{"..", ""},
		{"plans/", ""},
		{"con\x00x", ""},
		{`..\run-2\x.md`, ""},
		{strings.Repeat("n", 256), ""},
	} {
		before := f.outside()
		text := fmt.Sprintf("written as %q", tt.name)
		err := f.write("run-1", tt.name, text)
		if tt.file == "" && !errors.Is(err, handoff.Invalid) || tt.file != "" && err != nil {
			t.Errorf("write %q: %v", tt.name, err)
		}
		got, err := f.read(tt.name)
		if tt.file == "" && (err == nil || got != "") || tt.file != "" && (err != nil || got != text) {
			t.Errorf("read %q: %q, %v, want %q", tt.name, got, err, text)
		}
		if tt.file != "" {
			b, err := os.ReadFile(file(f.ws, "run-1", tt.file))
			if err != nil || string(b) != text {
				t.Errorf("file of %q = %q, %v", tt.name, b, err)
			}
		}
		if after := f.outside(); after != before {
			t.Errorf("%q changed files outside its namespace:\ngot\n%s\nwant\n%s", tt.name, after, before)
		}
	}
	if got, err := f.read("run-2/context.md"); err != nil || got != "written by run-2" {
		t.Errorf("read run-2/context.md: %q, %v", got, err)
	}
}

// TestLinks puts a symbolic link in every place of a name's path, and writes and
// reads through it.
func TestLinks(t *testing.T) {
	const artifacts = "ws/docs/agent-outputs/" + session + "/artifacts"
	for _, tt := range []struct {
		at, to string // relative to the top
		name   string
		text   string // what a read returns, "" for nothing
		inside bool   // the target is in the workspace, so a write succeeds
	}{
		{at: artifacts + "/run-1", to: "outside/run-1", text: "written by run-1"},
		{at: artifacts + "/run-1", to: artifacts + "/run-2", text: "written by run-1"},
		{at: artifacts + "/run-1", to: "nowhere", text: "written by run-1"},
		{at: artifacts + "/run-1", to: "outside", name: "run-1/context.md", text: "written by run-1"},
		{at: artifacts, to: "outside/artifacts", text: "written by run-1"},
		{at: artifacts, to: "outside/artifacts", name: "found.md"},
		{at: artifacts, to: "nowhere", text: "written by run-1"},
		{at: artifacts + "/run-1/plans", to: "outside/plans", name: "plans/context.md"},
		{at: artifacts + "/run-1/plans", to: artifacts + "/run-2", name: "plans/context.md"},
		{at: artifacts + "/run-1/plans", to: artifacts + "/run-1/deeper", name: "plans/context.md"},
		{at: artifacts + "/run-1/plans", to: "nowhere", name: "plans/context.md"},
		{at: artifacts + "/run-1/context.md", to: "outside/context.md", text: "written by run-1"},
		{at: artifacts + "/run-1/context.md", to: "ws/context.md", text: "written by run-1"},
		{at: artifacts + "/run-1/context.md", to: artifacts + "/run-2/context.md", text: "written by run-1"},
		{at: artifacts + "/run-1/context.md", to: "nowhere", text: "written by run-1"},
		{at: artifacts + "/run-1/fresh.md", to: "outside/context.md", name: "fresh.md"},
		{at: artifacts + "/run-1/fresh.md", to: "ws/context.md", name: "fresh.md"},
		{at: artifacts + "/run-7", to: "outside", name: "run-7/context.md"},
		{at: artifacts + "/run-8", to: artifacts + "/run-1-evil", name: "run-8/x.md"},
		{at: "ws/docs/agent-outputs/" + session, to: "outside/" + session, text: "written by run-1"},
		{at: "ws/docs/agent-outputs", to: "outside", text: "written by run-1"},
		{at: "ws/docs", to: "outside", text: "written by run-1"},
		{at: "ws/docs/agent-outputs/" + session, to: "ws/elsewhere", text: "written again", inside: true},
	} {
		for _, absolute := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s to %s %s %v", strings.TrimPrefix(tt.at, artifacts), tt.to, tt.name, absolute),
				func(t *testing.T) {
					t.Parallel()
					f := newFence(t)
					at, to := filepath.Join(f.top, tt.at), filepath.Join(f.top, tt.to)
					must(t, os.RemoveAll(filepath.Join(f.top, "was")))
					if _, err := os.Lstat(at); err == nil {
						must(t, os.Rename(at, filepath.Join(f.top, "was")))
					}
					if tt.inside {
						must(t, os.MkdirAll(to, 0o755))
					}
					if !absolute {
						rel, err := filepath.Rel(filepath.Dir(at), to)
						must(t, err)
						to = rel
					}
					must(t, os.Symlink(to, at))
					if tt.inside && absolute {
						return // os.Root rejects absolute links
					}
					name := tt.name
					if name == "" {
						name = "context.md"
					}
					before := f.outside()
					err := f.write("run-1", name, "written again")
					switch {
					case tt.inside && err != nil:
						t.Errorf("write: %v", err)
					case strings.HasPrefix(tt.at, artifacts+"/run-7"), strings.HasPrefix(tt.at, artifacts+"/run-8"): // another run's
					case !tt.inside && !errors.Is(err, handoff.Conflict):
						t.Errorf("write: %v, want kind Conflict", err)
					}
					if after := f.outside(); after != before && !tt.inside {
						t.Errorf("files outside the namespace changed:\ngot\n%s\nwant\n%s", after, before)
					}
					got, err := f.read(name)
					if strings.Contains(got, secret) || tt.text != "" && (err != nil || got != tt.text) || tt.text == "" &&
						err == nil && got != "written again" {
						t.Errorf("read: %q, %v, want %q", got, err, tt.text)
					}
				})
		}
	}
}

// TestFuzzedNames writes and reads 60 random names made of hostile segments;
// with HANDOFF_LONG, 10,000.
func TestFuzzedNames(t *testing.T) {
	t.Parallel()
	rounds := 60
	if os.Getenv("HANDOFF_LONG") != "" {
		rounds = 10_000
	}
	f := newFence(t)
	own := filepath.Join(f.scope.Dir, "artifacts", "run-1")
	for name, to := range map[string]string{"out": f.top + "/outside", "up": "..", "other": "../run-2", "here": ".",
		"leaf.md": f.top + "/outside/context.md", "evil": "../run-1-evil"} {
		must(t, os.Symlink(to, filepath.Join(own, name)))
	}
	pieces := []string{"..", ".", "", "...", "..;", "a", "b", "plans", "context.md", "x.md", "run-1", "run-2",
		"run-1-evil", "artifacts", "manifest.json", "outside",
		"out", "up", "other", "here", "leaf.md", "evil", ".handoff", ".git", "~", "~root", "$HOME", "%2e%2e", "..%2f", "․․",
		"‥", "⁄", "a\\..\\b", "..\\", "con\x00x", "\n", "\xff",
		" ", "C:", "-rf", "*", strings.Repeat("l", 255), strings.Repeat("l", 256), f.top, f.ws, "/etc/passwd", "/"}
	plain := []string{"a", "b", "plans", "context.md", "x.md", "run-2", "…"}
	random := rand.New(rand.NewPCG(1, 2))
	before, written := f.outside(), map[string]string{}
	for i := range rounds {
		name := ""
		for range 1 + random.IntN(5) {
			from := pieces
			if random.IntN(3) > 0 {
				from = plain
			}
			name += []string{"/", "/", "/", "/", "/", "", "//", `\`}[random.IntN(8)] + from[random.IntN(len(from))]
		}
		if random.IntN(4) > 0 {
			name = strings.TrimLeft(name, `/\`)
		}
		text := fmt.Sprint("text ", i%7)
		err := f.write("run-1", name, text)
		if err != nil && !errors.Is(err, handoff.Invalid) && !errors.Is(err, handoff.Conflict) {
			t.Errorf("write %q: %v", name, err)
		}
		clean, invalid := names.Clean(name)
		if (invalid != nil) != errors.Is(err, handoff.Invalid) {
			t.Errorf("write %q: %v, but Clean: %v", name, err, invalid)
		}
		if err == nil {
			written[clean] = text
			if b, err := os.ReadFile(filepath.Join(own, filepath.FromSlash(clean))); err != nil || string(b) != text {
				t.Errorf("file of %q = %q, %v, want %q", name, b, err, text)
			}
		}
		got, err := f.read(name)
		if want, ok := written[clean]; strings.Contains(got, secret) || ok && invalid == nil && got != want &&
			!errors.Is(err, handoff.Conflict) {
			t.Errorf("read %q: %q, %v, want %q", name, got, err, want)
		}
		if after := f.outside(); after != before {
			t.Fatalf("%q changed files outside its namespace:\ngot\n%s\nwant\n%s", name, after, before)
		}
	}
	if len(written) < rounds/20 {
		t.Errorf("only %[2]d of %[1]d names were written", rounds, len(written))
	}
	t.Logf("%d names, %d different ones written", rounds, len(written))
}
