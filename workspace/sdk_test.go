package workspace_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSDK builds a program in a module of its own, without a network, and runs
// it: publishing, listing, reading, watching, a session and a thread take fewer
// than 40 lines.
func TestSDK(t *testing.T) {
	source, err := os.ReadFile("testdata/sdk/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(source, []byte("\n")); lines >= 40 {
		t.Errorf("the program has %d lines, want fewer than 40", lines)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	program := buildOutside(t, root, source)

	dir, home := t.TempDir(), t.TempDir()
	const threadID = "019c871c-b1f9-7f60-9c4f-87ed09f13592"
	rollout := filepath.Join(home, ".codex/sessions/2026/02/22/rollout-2026-02-22T10-00-00-"+threadID+".jsonl")
	writeFile(t, filepath.Join(dir, "design.md"), "# Retry policy\n")
	writeFile(t, rollout, `{"timestamp":"2026-02-22T10:00:00.000Z","type":"session_meta","payload":{"id":"`+threadID+
		`","cwd":"/home/u/project"}}
{"timestamp":"2026-02-22T10:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Why does the build fail?"}]}}
`)
	cmd := exec.Command(program)
	cmd.Dir, cmd.Env = dir, []string{"HANDOFF_WORKSPACE=" + dir, "HOME=" + home, "CODEX_THREAD_ID=" + threadID}
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %.2000s", err, failed.String())
	}
	for _, want := range []string{"Built.\n# Retry policy\n", "Why does the build fail?"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the program prints %.2000q, want it to contain %q", out, want)
		}
	}
}

// TestOwnLog builds a program in a module of its own that has its own log and the public
// index: it publishes, waits and lists.
func TestOwnLog(t *testing.T) {
	source, err := os.ReadFile("testdata/own/main.go")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	const want = "waited for plan of builder\nlisted active: Build it.\n"
	cmd := exec.Command(buildOutside(t, root, source))
	cmd.Dir = t.TempDir()
	if out, err := cmd.CombinedOutput(); string(out) != want || err != nil {
		t.Errorf("the program prints %q, %v, want %q", out, err, want)
	}
}

// buildOutside builds a program in a new module that requires this one.
func buildOutside(t *testing.T, root string, source []byte) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector's run would compile all packages again, without it")
	}
	const module = "github.com/agent-handoff/handoff"
	requirements, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := strings.Replace(string(requirements), "module "+module+"\n", "module example.com/sdk\n", 1)
	writeFile(t, filepath.Join(dir, "go.mod"), text+"\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+root+"\n")
	writeFile(t, filepath.Join(dir, "go.sum"), string(sums))
	writeFile(t, filepath.Join(dir, "main.go"), string(source))
	cmd := exec.Command("go", "build", "-o", "sdk", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod",
		"GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%.2000s", err, out)
	}
	return filepath.Join(dir, "sdk")
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
