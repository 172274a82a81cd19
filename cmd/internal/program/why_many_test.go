package program

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestWhyManyWriters traces a file that more threads wrote than are read: the
// newest are read, and the last one wrote exactly its bytes. A clock that was set back
// in a thread does not change the order of its calls.
func TestWhyManyWriters(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.env["HOME"], c.env["PATH"] = c.dir+"/home", os.Getenv("PATH")
	if out, err := exec.Command("git", "init", "-q", c.dir).CombinedOutput(); err != nil {
		t.Skipf("git init: %v: %s", err, out)
	}
	record := func(session, kind string, i, second int, message string) string {
		at := consoleTime.Add(time.Duration(i*20+second-10_000) * time.Second).Format(time.RFC3339)
		return fmt.Sprintf(
			`{"type":%q,"uuid":"%s-%d","sessionId":%q,"timestamp":%q,"cwd":%q,"version":"2.1.100","message":%s}`+"\n",
			kind, session, second, session, at, c.dir, message)
	}
	write := func(session string, i, second int, text string) string {
		return record(session, "assistant", i, second,
			fmt.Sprintf(
				`{"id":"m%s-%d","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Write","input":{"file_path":%q,"content":%q}}]}`,
				session, second, second, c.dir+"/NEWS", text)) +
			record(session, "user", i, second,
				fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"ok"}]}`, second))
	}
	session, text := "", ""
	for i := range 160 {
		session, text = fmt.Sprintf("2823d1df-720a-4c31-ac55-ae8ba726%04d", i), fmt.Sprintf("# News\nsame line\nby %d\n", i)
		transcript := record(session, "user", i, 0, `{"role":"user","content":"news"}`) + write(session, i, 5, text)
		if i == 159 {
			text = "# News\nsame line\nby the last one, later\n"
			transcript += write(session, i, 2, text)
		}
		c.write("home/.claude/projects/work/"+session+".jsonl", transcript)
	}
	c.write("NEWS", text)
	for range 4 {
		said := c.said.Len()
		out := c.ok("why", "NEWS")
		if !strings.Contains(out, "wrote\tagents://claude/"+session+"#") || strings.Count(out, "wrote\t") != 1 ||
			!strings.Contains(out, "exact") {
			t.Errorf("why NEWS prints %s, want that %s wrote it", out, session)
		}
		if printed := string(c.said.Bytes()[said:]); !strings.Contains(printed, "only 64 threads were read") {
			t.Errorf("no warning: %s", printed)
		}
	}
}
