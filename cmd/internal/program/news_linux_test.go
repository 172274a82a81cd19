package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/sys/unix"
)

// spent returns a transcript of Codex with a request for 1.25 dollars at each time.
func spent(id, dir string, times ...time.Time) string {
	const million = `{"input_tokens":1000000,"output_tokens":0,"total_tokens":1000000}`
	var lines strings.Builder
	add := func(at time.Time, text string, args ...any) {
		fmt.Fprintf(&lines, `{"timestamp":"%s",`+text+"}\n", append([]any{at.UTC().Format(time.RFC3339)}, args...)...)
	}
	add(times[0], `"type":"session_meta","payload":{"id":"%s","cwd":"%s","cli_version":"0.150.0"}`, id, dir)
	add(times[0], `"type":"turn_context","payload":{"model":"gpt-5","cwd":"%s"}`, dir)
	for i, at := range times {
		total := strings.ReplaceAll(million, "1000000", fmt.Sprint((i+1)*1_000_000))
		add(at, `"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":`+million+
			`,"total_token_usage":`+total+`}}`)
	}
	add(times[len(times)-1], `"type":"event_msg","payload":{"type":"task_complete","turn_id":"t"}`)
	return lines.String()
}

// printedOn returns all that a program printed that has ended.
func printedOn(x *terminal) string {
	const end = "the end of the output"
	if _, err := x.slave.WriteString(end); err != nil {
		x.Fatal(err)
	}
	x.expect(end)
	return strings.TrimSuffix(x.all(), end)
}

// TestMonday has a weekend with eleven publications: a session failed, another left out its
// output, and a command failed that a claim names. On Monday, all four problems are on the first
// screen of news, with what was spent since Friday and not before.
func TestMonday(t *testing.T) {
	c := newConsole(t)
	git := exec.Command("git", "init", "-q")
	git.Dir = c.dir
	if err := git.Run(); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	c.env["HOME"] = home
	monday := time.Now()
	friday, before := monday.Add(-63*time.Hour), monday.AddDate(0, 0, -20)
	thread := "019c871c-b1f9-7f60-9c4f-87ed09f13592"
	rollouts := filepath.Join(home, ".codex/sessions/2026/09/20")
	err := os.MkdirAll(rollouts, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(rollouts, "rollout-2026-09-20T09-00-00-"+thread+".jsonl"),
			[]byte(spent(thread, c.dir, before, friday.Add(time.Hour))), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.now = friday
	session := func(n int, agent, status string, more ...string) {
		id := fmt.Sprintf("%08d-2222-4333-8444-555555555555", n)
		c.ok(append([]string{"session", "open", "--agent", agent, "--workflow", "fix-" + agent, "--id", id}, more...)...)
		c.now = c.now.Add(time.Hour)
		for i := range 3 {
			name := fmt.Sprintf("%s-%d.md", agent, i)
			c.write(name, name)
			c.ok("publish", name, "--channel", "patch", "--title", "Back off after the third error, and report it", "--agent",
				agent, "--session", id)
		}
		c.ok("session", "close", "--session", id, "--status", status)
	}
	session(1, "ada", "completed")
	session(2, "dave", "failed")
	session(3, "kim", "completed", "--expect", "report.md")
	if _, code := c.run("", "attest", "--", "sh", "-c", "exit 3"); code == 0 {
		t.Fatal("the command succeeded")
	}
	if _, code := c.run("all good", "publish", "-", "--channel", "verification", "--title", "Tests pass", "--claim",
		"tests pass", "--evidence", "command:sh -c 'exit 3'", "--agent", "carol"); code != 0 {
		t.Fatal(c.said.String())
	}
	x := newTerminal(t, c.dir, "handoff", "news")
	x.ended(0)
	text := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(printedOn(x), "")
	height := 1 // of the prompt
	for line := range strings.Lines(text) {
		height += 1 + (displaywidth.String(strings.TrimSpace(line))-1)/80
	}
	if height > 24 {
		t.Errorf("the output takes %d lines, and the first ones have left the screen", height)
	}
	shown := strings.ReplaceAll(text, "\r\n", "\n")
	for _, want := range []string{"contradicted", "attest_failed", "session_failed", "output_missing"} {
		if !regexp.MustCompile(`(?m)^needs you +` + want + ` .*handoff show `).MatchString(shown) {
			t.Errorf("the first screen has no row with %s:\n%s", want, shown)
		}
	}
	if want := "4 things to settle, 4 sessions ended, 11 artifacts, $1.25"; !strings.Contains(shown, want) {
		t.Errorf("the first screen does not have %q:\n%s", want, shown)
	}
}

// TestNotedAfterPrinting stops the output of a terminal: what is not printed is not noted.
func TestNotedAfterPrinting(t *testing.T) {
	c := newConsole(t)
	t.Setenv("HOME", t.TempDir())
	state := filepath.Join(c.dir, "state")
	t.Setenv("XDG_STATE_HOME", state)
	c.ok("session", "open", "--agent", "ada", "--workflow", "w", "--id", "00000001-2222-4333-8444-555555555555")
	x := newTerminal(t, c.dir, "sh", "-c", "read go; exec handoff news")
	if err := unix.IoctlSetInt(int(x.slave.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	x.typed("\n")
	noted := func() bool {
		files, _ := filepath.Glob(filepath.Join(state, "*/news/*.json"))
		return len(files) > 0
	}
	for start := time.Now(); time.Since(start) < 2*time.Second; time.Sleep(10 * time.Millisecond) {
		if noted() {
			t.Fatal("it is noted that the news were seen, and they are not printed")
		}
	}
	if err := unix.IoctlSetInt(int(x.slave.Fd()), unix.TCXONC, unix.TCOON); err != nil {
		t.Fatal(err)
	}
	x.ended(0)
	if !noted() || !strings.Contains(printedOn(x), "1 running") {
		t.Errorf("after the output went on: noted %t, printed %q", noted(), x.all())
	}
}

// TestReadersKilled has two readers of one name, each a process on a terminal of its own, while
// sessions end. Most of them are killed when their output is seen, which is before or while they
// note it. No end is missed by all of them.
func TestReadersKilled(t *testing.T) {
	c := newConsole(t)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", filepath.Join(c.dir, "state"))
	c.now = time.Now()
	var wg sync.WaitGroup
	var mu sync.Mutex
	printed := map[string]bool{}
	killed, ended := 0, make(chan bool)
	id := regexp.MustCompile(`done +completed +(\w{8})`)
	read := func(kill bool) {
		x := newTerminal(t, c.dir, "handoff", "news", "--all")
		for start := time.Now(); kill; time.Sleep(100 * time.Microsecond) {
			if strings.Contains(x.all(), " to settle") || time.Since(start) > 10*time.Second { // the first line
				x.cmd.Process.Kill()
				break
			}
		}
		x.cmd.Wait()
		text := printedOn(x)
		mu.Lock()
		defer mu.Unlock()
		for _, m := range id.FindAllStringSubmatch(text, -1) {
			printed[m[1]] = true
		}
		if !x.cmd.ProcessState.Success() {
			killed++
		}
	}
	for reader := range 2 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ended:
					return
				default:
					read((i+reader)%3 != 0)
				}
			}
		})
	}
	noneKilled := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return killed == 0
	}
	sessions := 0
	for ; sessions < 25 || sessions < 250 && noneKilled(); sessions++ { // on a slow machine, readers end before
		session := fmt.Sprintf("%08d-2222-4333-8444-555555555555", sessions)
		c.now = time.Now()
		c.ok("session", "open", "--agent", "ada", "--workflow", fmt.Sprint("w", sessions), "--id", session)
		c.ok("session", "close", "--session", session, "--status", "completed")
		time.Sleep(50 * time.Millisecond) // so that readers come in between
	}
	close(ended)
	wg.Wait()
	read(false)
	for i := range sessions {
		if session := fmt.Sprintf("%08d", i); !printed[session] {
			t.Errorf("the end of %s was not shown", session)
		}
	}
	if killed == 0 {
		t.Error("no reader was killed")
	}
	t.Logf("%d readers were killed", killed)
	printed = map[string]bool{}
	if read(false); len(printed) > 0 {
		t.Errorf("shown again: %v", printed)
	}
}
