package hostile

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/session"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/workspace"
)

// planted is in every file that no command may write.
const planted = "PLANTED"

// hostileNames returns names in twelve forms that lead into .git, into .handoff, or out
// of the directory that they are relative to.
func hostileNames() (list []string) {
	title := func(s string) string { return s[:1] + strings.ToUpper(s[1:2]) + s[2:] }
	forms := []func(dir, short string) string{
		func(dir, _ string) string { return dir },
		func(dir, _ string) string { return "plans/" + dir },
		func(dir, _ string) string { return strings.ToUpper(dir) },
		func(dir, _ string) string { return title(dir) },
		func(dir, _ string) string { return dir + "." },
		func(dir, _ string) string { return dir + " " },
		func(_, short string) string { return short },
		func(dir, _ string) string { return dir + "::$INDEX_ALLOCATION" },
		func(dir, _ string) string { return dir[:2] + "\u200c" + dir[2:] },
		func(dir, _ string) string { return dir[:3] + "\u00ad" + dir[3:] + "\ufe0f" },
		func(dir, _ string) string { return `plans\` + dir },
		func(dir, _ string) string { return "../../../../../" + dir },
	}
	for _, form := range forms {
		for dir, short := range map[string]string{".git": "git~1", ".handoff": "HANDOF~1"} {
			for _, file := range []string{"config", "HEAD", "objects/x", "refs/x", "hooks/pre-commit", "info/exclude", "log/ID",
				"config.yaml", "index.db"} {
				list = append(list, form(dir, short)+"/"+file)
			}
		}
	}
	return list
}

// settings are those of a repository of which git status runs a program.
func settings(pwned string) string {
	return "# " + planted + "\n[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"touch '" + pwned +
		"'\"\n"
}

// TestHostileNames passes the names through every way by which others choose a name. No
// file with one of them may be written, and git runs no program in what was.
func TestHostileNames(t *testing.T) {
	names := hostileNames()
	if len(names) < 200 {
		t.Fatalf("%d names, want at least 200", len(names))
	}
	pwned := filepath.Join(t.TempDir(), "PWNED")
	text := settings(pwned)
	ways := map[string]func(t *testing.T, w *workspace.Workspace, names []string, text string) (recorded bool){
		"write": throughWrite, "publish": throughPublish, "import": throughImport, "adopt": throughAdopt,
		"read --to": throughSave, "check --repair": throughRepair, "mcp": throughMCP,
	}
	for way, pass := range ways {
		t.Run(way, func(t *testing.T) {
			outside := t.TempDir()
			dir := filepath.Join(outside, "a", "b", "ws")
			must(t, os.MkdirAll(dir, 0o755))
			if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
				t.Skipf("git: %v: %s", err, out)
			}
			w, err := workspace.Open(dir, workspace.Options{Getenv: func(name string) string {
				return map[string]string{"HANDOFF_WORKSPACE": dir, "HANDOFF_RUN": "r1", "HOME": outside,
					"PATH": os.Getenv("PATH")}[name]
			}})
			must(t, err)
			defer w.Close()
			if recorded := pass(t, w, names, text); !recorded {
				noArtifacts(t, w)
			}
			noneWritten(t, outside)
			gitStatus(t, outside)
			if _, err := os.Stat(pwned); err == nil {
				t.Error("git status ran a program")
			}
		})
	}
	// The names would be dangerous: else the test would prove nothing.
	dir := t.TempDir()
	for name, text := range map[string]string{"config": text, "HEAD": "ref: refs/heads/main\n", "objects/x": "",
		"refs/x": ""} {
		file := filepath.Join(dir, ".git", name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	gitStatus(t, dir)
	if _, err := os.Stat(pwned); err != nil {
		t.Errorf("git status does not run the program of a planted repository: %v", err)
	}
}

func noArtifacts(t *testing.T, w *workspace.Workspace) {
	t.Helper()
	page, err := w.Hub().Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
	for _, a := range page.Artifacts {
		t.Errorf("recorded %q", a.Path)
	}
	must(t, err)
}

// noneWritten checks that no file has the planted text, except those that the test made
// in a directory named source, and the bodies and indexes of handoff.
func noneWritten(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "source" || d.Name() == "bodies") {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		if bytes.Contains(b, []byte("# "+planted+"\n")) && !strings.Contains(name, "index.db") {
			t.Errorf("written: %q", name)
		}
		return err
	}))
}

// gitStatus runs git in each directory, as a prompt of a shell does.
func gitStatus(t *testing.T, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "source" || d.Name() == ".git" || d.Name() == ".handoff" {
			return fs.SkipDir
		}
		_ = exec.Command("git", "-C", name, "status", "--short").Run() // fails where there is no repository
		return nil
	}))
}

func throughWrite(t *testing.T, w *workspace.Workspace, names []string, text string) bool {
	for _, name := range names {
		if _, err := w.Write(t.Context(), handoff.Draft{Name: name, Body: strings.NewReader(text)}); err == nil {
			t.Errorf("write accepts %q", name)
		}
	}
	return false
}

// source makes a file with a name, as far as this file system can.
func source(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(text), 0o644))
}

func throughPublish(t *testing.T, w *workspace.Workspace, names []string, text string) bool {
	deep := filepath.Join(w.Root(), "source", "1", "2", "3", "4", "5", "6")
	for _, name := range names {
		source(t, deep, name, text)
		if _, err := w.Publish(t.Context(), handoff.Draft{Channel: "design",
			Path: filepath.Join(deep, name)}); err == nil {
			t.Errorf("publish accepts %q", name)
		}
		if _, err := w.Publish(t.Context(), handoff.Draft{Channel: "design", Body: strings.NewReader(text),
			Filename: name}); err == nil {
			t.Errorf("publish accepts the file name %q", name)
		}
	}
	return false
}

func throughImport(t *testing.T, w *workspace.Workspace, names []string, text string) bool {
	const folder = "docs/agent-outputs/" + sess
	record := `{"version":1,"type":"session.opened","id":"rec_01M8269ACW9ZX9J9DFT0FJQK2Y",` +
		`"createdAt":"2026-11-22T17:53:55.612Z","sessionId":"` + sess + `","agent":{"name":"a"},"workflow":{"name":"w"},"folder":"` + folder + `"}` + "\n"
	export := func(name string) string {
		sums := fmt.Sprintf("%x  records.jsonl\n%x  %s\n", sha256.Sum256([]byte(record)), sha256.Sum256([]byte(text)), name)
		manifest := `{"format":"handoff-session","version":1,"sessionId":"` + sess + `","folder":"` + folder +
			`","sessions":1,"records":1,"files":1}`
		file := filepath.Join(t.TempDir(), "s.tar")
		must(t, os.WriteFile(file, archive(t, "manifest.json", manifest, "checksums.txt", sums, "records.jsonl", record, name,
			text), 0o644))
		return file
	}
	for _, name := range names {
		if _, err := w.Sessions().Import(t.Context(), export("files/"+name)); err == nil {
			t.Errorf("import accepts %q", name)
		}
	}
	if _, err := w.Sessions().Import(t.Context(), export("files/notes.md")); err != nil {
		t.Errorf("import of an ordinary name: %v", err)
	}
	must(t, os.Remove(filepath.Join(w.Root(), filepath.FromSlash(folder), "notes.md")))
	return false
}

// archive returns a tar file with entries: names and contents in turn.
func archive(t *testing.T, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for i := 0; i < len(entries); i += 2 {
		must(t,
			tw.WriteHeader(&tar.Header{Name: entries[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(entries[i+1]))}))
		_, err := tw.Write([]byte(entries[i+1]))
		must(t, err)
	}
	must(t, tw.Close())
	return b.Bytes()
}

func throughAdopt(t *testing.T, w *workspace.Workspace, names []string, text string) bool {
	folder := filepath.Join(w.Root(), "source", sess)
	outputs := []map[string]any{}
	for _, name := range names {
		outputs = append(outputs, map[string]any{"file": name, "type": "document", "description": "d", "size_bytes": 1,
			"created_at": "2025-10-05T10:30:00Z"})
		if !strings.HasPrefix(name, "../") {
			source(t, folder, name, text)
		}
		source(t, filepath.Join(w.Root(), "source", "pi", "artifacts", "r1"), strings.TrimLeft(name, "./"), text)
		source(t, filepath.Join(w.Root(), "source", "pi", "artifacts", "r1"), filepath.Join("x", filepath.Clean("/"+name)),
			text)
	}
	manifest, err := json.Marshal(map[string]any{
		"version": "1.0.0", "session_id": sess, "agent": map[string]any{"bundle": "b", "name": "a", "title": "A"},
		"workflow":  map[string]any{"name": "w", "description": "d"},
		"execution": map[string]any{"started_at": "2025-10-05T10:00:00Z", "status": "running", "user": "u"},
		"inputs":    map[string]any{}, "outputs": outputs, "related_sessions": []string{}, "metadata": map[string]any{}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, "manifest.json"), manifest, 0o644))
	if _, err := w.Sessions().Adopt(t.Context(), "source/"+sess, session.AdoptOptions{}); err == nil {
		t.Error("adopt accepts outputs with such names")
	}
	_, err = w.Sessions().Adopt(t.Context(), "source/"+sess, session.AdoptOptions{Lenient: true})
	must(t, err)
	noArtifacts(t, w)
	_, err = w.Sessions().Adopt(t.Context(), "source/pi", session.AdoptOptions{})
	must(t, err)
	page, err := w.Hub().Artifacts(t.Context(), handoff.ArtifactQuery{IncludeInactive: true})
	must(t, err)
	for _, a := range page.Artifacts { // a name without its dot, such as git/config, is an ordinary one
		for _, element := range strings.Split(a.Path, "/") {
			if strings.HasPrefix(element, ".") || strings.Contains(element, "~1") {
				t.Errorf("adopt records %q", a.Path)
			}
		}
	}
	return true
}

// A body is a kept body in memory.
type body struct{ *bytes.Reader }

func (body) Close() error { return nil }

func throughSave(t *testing.T, w *workspace.Workspace, names []string, text string) bool {
	for i, name := range names {
		b := handoff.Content{ReadSeekCloser: body{bytes.NewReader(archive(t, name, text))}}
		b.Artifact.Digest = handoff.Digest{Algorithm: handoff.SHA256Tar}
		if err := content.Save(t.Context(), b, filepath.Join(w.Root(), fmt.Sprint("saved", i))); err == nil {
			t.Errorf("read --to writes %q", name)
		}
	}
	return false
}

func throughRepair(t *testing.T, w *workspace.Workspace, names []string, text string) bool {
	hub := w.Hub().As(handoff.Producer{RunID: "r1", Source: handoff.FromNone})
	const folder = "docs/agent-outputs/r1/artifacts/r1/"
	for _, name := range append(names, "context.md") {
		text := text
		if name == "context.md" {
			text = "ordinary"
		}
		_, err := hub.Publish(t.Context(), handoff.Draft{Channel: "handoff", Namespace: "r1", Name: name, Path: folder + name,
			RootDir: w.Root(), Body: strings.NewReader(text)})
		must(t, err)
	}
	_, err := w.Store().Repair(t.Context(), time.Now())
	must(t, err)
	if _, err := os.Stat(filepath.Join(w.Root(), folder, "context.md")); err != nil {
		t.Errorf("the repair does not write an ordinary name: %v", err)
	}
	return true
}

func throughMCP(t *testing.T, w *workspace.Workspace, names []string, text string) bool {
	ctx, cancel := context.WithTimeout(t.Context(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, build(t), "mcp")
	cmd.Dir, cmd.Env = w.Root(), []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "HANDOFF_RUN=r1"}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	go func() {
		e := json.NewEncoder(in)
		send := func(id int, method string, params any) {
			m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
			if id > 0 {
				m["id"] = id
			}
			_ = e.Encode(m)
		}
		send(1, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
			"clientInfo": map[string]any{"name": "x", "version": "1"}})
		send(0, "notifications/initialized", map[string]any{})
		for i, name := range names {
			send(2*i+2, "tools/call", map[string]any{
				"name": "write_artifact", "arguments": map[string]any{"name": name, "content": text}})
			send(2*i+3, "tools/call", map[string]any{"name": "artifact_publish",
				"arguments": map[string]any{"channel": "design", "content": text, "filename": name}})
		}
	}()
	answers := json.NewDecoder(out)
	for n := 0; n <= 2*len(names); n++ {
		var m struct {
			ID     int
			Result struct{ IsError bool }
			Error  any
		}
		if err := answers.Decode(&m); err != nil {
			t.Fatalf("after %d answers: %v", n, err)
		}
		if m.ID > 1 && !m.Result.IsError && m.Error == nil {
			t.Errorf("accepts %q", names[(m.ID-2)/2])
		}
	}
	must(t, in.Close())
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	return false
}
