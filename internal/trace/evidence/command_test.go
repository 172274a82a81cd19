package evidence

import (
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

var consoleTime = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func TestCommandLine(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"go test"}`:                    "go test",
		`{"cmd":"go test","workdir":"/x"}`:         "go test",
		`{"command":["bash","-lc","go test | x"]}`: "go test | x",
		`{"command":["go","test","a b"]}`:          "go test 'a b'",
		`{"file_path":"x"}`:                        "",
		`go test`:                                  "",
	} {
		if got := commandLine(thread.Call{Input: input}); got != want {
			t.Errorf("%s: got %q, want %q", input, got, want)
		}
	}
}
