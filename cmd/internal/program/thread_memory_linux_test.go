package program

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() { programs["peak"] = func() int { return peak(os.Args[1:]) } }

// peak runs a program and prints how much memory it took, in bytes. A test can't
// measure that itself: a process starts with the memory of the one that forks it.
func peak(args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout = os.Stdout
	err := cmd.Run()
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if err != nil || !ok {
		fmt.Fprintln(os.Stderr, "peak:", err)
		return 1
	}
	fmt.Fprintln(os.Stderr, usage.Maxrss<<10)
	return 0
}

// TestThreadMemory reads threads with one very long message and checks how much
// memory the process takes.
func TestThreadMemory(t *testing.T) {
	t.Parallel()
	const most = 256 << 20
	size, long := int64(64<<20), os.Getenv("HANDOFF_LONG") != ""
	if long {
		size = 300 << 20
	}
	home := t.TempDir()
	const uuid = "019c871c-b1f9-7f60-9c4f-87ed09f13592"
	for i, tt := range []struct{ uri, file, before, after string }{
		{"gemini/" + uuid, ".gemini/tmp/x/chats/session-2026-02-23T00-00-" + uuid[:8] + ".json",
			`{"sessionId":"` + uuid + `","messages":[{"id":"a","type":"user","content":"`,
			`"},{"id":"b","type":"gemini","content":"end of it"}]}`},
		{"amp/T-" + uuid, ".local/share/amp/threads/T-" + uuid + ".json",
			`{"id":"T-` + uuid + `","messages":[{"role":"user","content":"`, `"},{"role":"assistant","content":"end of it"}]}`},
		{"codex/" + uuid, ".codex/sessions/2026/02/23/rollout-2026-02-23T00-00-00-" + uuid + ".jsonl",
			`{"type":"session_meta","payload":{"id":"` + uuid + `"}}` + "\n" +
				`{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"`,
			`"}]}}` + "\n" +
				`{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"end of it"}]}}` + "\n"},
	} {
		path := filepath.Join(home, filepath.FromSlash(tt.file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, tt.before)
		random := rand.NewChaCha8([32]byte{})
		for n := int64(0); n < size; n += 1 << 20 {
			text := make([]byte, 1<<20)
			random.Read(text)
			for i, b := range text {
				text[i] = "etaoin shrdlucmf"[b%16]
			}
			f.Write(text)
		}
		io.WriteString(f, tt.after)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for n, flags := range []string{"-I", "--usage", "--tools --json"} {
			if n != i && !long {
				continue // each in one provider
			}
			t.Run(fmt.Sprint(tt.uri, " ", flags), func(t *testing.T) {
				cmd := exec.Command("peak", append([]string{"handoff", "thread", tt.uri}, strings.Fields(flags)...)...)
				var stderr strings.Builder
				cmd.Stderr = &stderr
				cmd.Env = append(os.Environ(), "HOME="+home)
				out, err := cmd.Output()
				if err != nil || !strings.Contains(string(out), "8 MiB") || flags != "-I" &&
					!strings.Contains(string(out), "end of it") {
					t.Errorf("got %d bytes, %v, want a warning and the last message", len(out), err)
				}
				var peak int64
				if _, err := fmt.Sscan(stderr.String(), &peak); err != nil || peak > most {
					t.Errorf("%d MiB of memory for a message of %d MiB, want at most %d (%v)", peak>>20, size>>20, most>>20, err)
				}
			})
		}
		t.Run("keep "+tt.uri, func(t *testing.T) {
			if !long {
				t.Skip("takes a while; HANDOFF_LONG=1 keeps a copy of each")
			}
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".handoff"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("peak", "handoff", "thread", "keep", tt.uri, "--redact")
			var stderr strings.Builder
			cmd.Dir, cmd.Stderr = dir, &stderr
			cmd.Env = append(os.Environ(), "HOME="+home)
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), "  kept  ") {
				t.Errorf("got %s, %v, %s, want that it is kept", out, err, stderr.String())
			}
			var peak int64
			if _, err := fmt.Sscan(stderr.String(), &peak); err != nil || peak > most {
				t.Errorf("%d MiB of memory for a transcript of %d MiB, want at most %d (%v)", peak>>20, size>>20, most>>20, err)
			}
			t.Logf("%d MiB", peak>>20)
		})
		os.Remove(path)
	}
}
