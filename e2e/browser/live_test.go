package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestLiveThreads lets transcripts grow while the page of a thread, and a list of threads with a
// second page, are open. A thread that has been silent for days is not running.
func TestLiveThreads(t *testing.T) {
	w := newWorkspace(t, "")
	converse(w)
	for i := range 60 {
		id := fmt.Sprintf("2823d1df-720a-4c31-ac55-ae8ba7261%03d", i)
		x := &transcript{w: w, common: object{"sessionId": id}, at: time.Now().Add(-48*time.Hour + time.Duration(i)*time.Minute)}
		x.user(0, fmt.Sprint("Quiet work ", i, "."), nil)
		x.answer(time.Second, object{"type": "tool_use", "id": "q1", "name": "Bash", "input": object{"command": "make"}})
		x.store(id + ".jsonl")
		file := filepath.Join(filepath.Dir(w.dir), ".claude", "projects", "-shop", id+".jsonl")
		must(t, os.Chtimes(file, x.at, x.at))
	}
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.open(strings.TrimPrefix(link, base))
	shows := func(text string) string {
		return fmt.Sprintf(`document.getElementById("main").innerText.includes(%q)`, text)
	}
	b.await("the first page has the running threads", shows("2 running threads"), 20*time.Second)
	if running := eval[string](b, `document.getElementById("running").innerText`); strings.Contains(running, "Quiet work") {
		t.Errorf("a thread that has been silent for two days is running:\n%s", running)
	}
	for _, tt := range []struct{ path, id string }{{"/threads/claude/" + conversation, conversation},
		{"/threads", "2823d1df-720a-4c31-ac55-ae8ba7262000"}} {
		b.open(tt.path)
		b.await("the page is complete", shows("Payments fail"), 5*time.Second)
		if tt.path == "/threads" && !eval[bool](b, `document.querySelector('a[href*="cursor="]') !== null`) {
			t.Error("the list has no second page")
		}
		text := "More about " + tt.id
		x := &transcript{w: w, common: object{"sessionId": tt.id}, at: time.Now()}
		x.user(0, text, nil)
		file, err := os.OpenFile(filepath.Join(filepath.Dir(w.dir), ".claude", "projects", "-shop", tt.id+".jsonl"),
			os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		must(t, err)
		_, err = file.WriteString(x.lines[0] + "\n")
		must(t, err)
		must(t, file.Close())
		b.await(tt.path+" shows what was written", shows(text), 20*time.Second)
	}
	b.clean("live threads")
}
