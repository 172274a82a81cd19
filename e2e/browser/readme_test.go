package browser

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestPicture makes the picture of the README, in the file that E2E_PICTURE names:
// what a patch was made from, and what became of it.
func TestPicture(t *testing.T) {
	file := os.Getenv("E2E_PICTURE")
	if file == "" {
		t.Skip("E2E_PICTURE does not name a file")
	}
	w := newWorkspace(t, "")
	put := func(agent, title, channel, body string, more ...string) string {
		return w.id(body, append([]string{"publish", "-", "--agent", agent, "--channel", channel, "--title", title},
			more...)...)
	}
	design1 := put("architect", "Retry payments", "design", design)
	patch1 := put("builder", "Retry each call", "patch", patch, "--from", design1)
	design2 := put("architect", "Not after a timeout", "design", design+"\n", "--replaces", design1)
	patch2 := put("builder", "Return timeouts", "patch", patch+"\n", "--from", design2, "--replaces", patch1)
	w.run("", "label", patch2, "chosen")
	put("reviewer", "All 214 tests pass", "verification", "ok", "--from", patch2)
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.open(strings.TrimPrefix(link, base))
	b.look(1000, false)
	b.open("/graph?focus=" + patch2 + "&hops=4")
	time.Sleep(time.Second) // the graph is drawn
	b.shot(file)
	b.clean("graph")
}
