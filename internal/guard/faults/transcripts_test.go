//go:build linux && amd64

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestTranscriptCalls counts the system calls with which a search finds that no
// transcript has changed, and a list without an index finds the newest: one for each
// transcript, and none for the missing metadata of a subagent. More transcripts in a
// directory need no further call, and none of them is opened.
func TestTranscriptCalls(t *testing.T) {
	program := build(t)
	few, many := home(t, 10), home(t, 40)
	time.Sleep(1100 * time.Millisecond) // a file that has just changed is read again
	for _, args := range [][]string{
		{"thread", "--everywhere", "--limit", "1"}, // without an index
		{"search", "--in", "threads", "--everywhere", "quokka"},
	} {
		before, after := fileCallsOf(t, program, few, args), fileCallsOf(t, program, many, args)
		for number, want := range map[uint64]int{
			syscall.SYS_NEWFSTATAT: 30 * 6, // a rollout, a session, two subagents, a chat and a log of Qwen
			syscall.SYS_OPENAT:     0,
			syscall.SYS_GETDENTS64: 0,
			syscall.SYS_READLINKAT: 0,
		} {
			// Processes differ by a call or two: two goroutines may open the same file.
			if got := after[number] - before[number]; got < want-5 || got > want+5 {
				t.Errorf("%q: system call %d: got %d more for 30 more of each transcript, want %d (%d and %d)", args, number, got,
					want, before[number], after[number])
			}
		}
	}
}

// home writes n rollouts of Codex in one directory, n sessions of Claude in another, 2n
// subagents of one of them, n chats of Gemini, which share two files that may not exist,
// and n sessions of Qwen. It returns the home directory.
func home(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	save := func(path, content string, age time.Duration) {
		path = filepath.Join(dir, path)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644))
		then := time.Now().Add(-age)
		must(t, os.Chtimes(path, then, then))
	}
	message :=
		`{"type":"user","sessionId":%[1]q,"isSidechain":%[2]t,"agentId":%[3]q,"timestamp":"2026-02-20T12:00:00Z","cwd":"/home/u","message":{"role":"user","content":"go"}}` + "\n"
	first := fmt.Sprintf("%08x-0000-4000-8000-000000000000", 0)
	const age = time.Hour
	for i := range n {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
		save(".codex/sessions/2026/02/20/rollout-2026-02-20T12-00-00-"+id+".jsonl",
			fmt.Sprintf(`{"timestamp":"2026-02-20T12:00:00Z","type":"session_meta","payload":{"id":%q,"cwd":"/home/u"}}`+"\n",
				id), time.Minute)
		save(".claude/projects/-home-u/"+id+".jsonl", fmt.Sprintf(message, id, false, ""), age)
		save(fmt.Sprintf(".gemini/tmp/aa/chats/session-2026-01-08T11-55-%08x.json", i),
			fmt.Sprintf(`{"sessionId":%q,"projectHash":"aa","messages":[{"id":"1","type":"user","content":"go"}]}`, id), age)
		save(".qwen/projects/-home-u/chats/"+id+".jsonl",
			fmt.Sprintf(
				`{"uuid":"1","sessionId":%q,"timestamp":"2026-02-20T12:00:00Z","cwd":"/home/u","type":"user","message":{"role":"user","parts":[{"text":"go"}]}}`+"\n", id), age)
		for _, agent := range []string{fmt.Sprintf("a%07x", i), fmt.Sprintf("b%07x", i)} {
			save(".claude/projects/-home-u/"+first+"/subagents/agent-"+agent+".jsonl", fmt.Sprintf(message, first, true, agent),
				age)
		}
	}
	return dir
}

// fileCallsOf returns how many system calls of each number a command makes, after it
// was run once.
func fileCallsOf(t *testing.T, program, home string, args []string) map[uint64]int {
	t.Helper()
	env := []string{"HOME=" + home, "GOMAXPROCS=2"}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = home, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, out)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(t, err)
	defer null.Close()
	c := new(tracer)
	if code := c.run(t, program, &os.ProcAttr{Dir: home, Env: env, Files: []*os.File{null, null, null}},
		args...); code != 0 {
		t.Fatalf("%q exits %d", args, code)
	}
	counts := map[uint64]int{}
	for _, at := range c.calls {
		counts[at.number]++
	}
	return counts
}
