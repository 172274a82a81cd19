package action

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

func TestTrafficOf(t *testing.T) {
	publishes, observes := Traffic{Publishes: true}, Traffic{Observes: true}
	both, neither := Traffic{Publishes: true, Observes: true}, Traffic{}
	for command, want := range map[string]Traffic{
		"":                                      neither,
		"make":                                  neither,
		"echo handoff publish a":                neither,
		"git commit -m 'handoff publish a'":     neither,
		"handoff publish a.md":                  publishes,
		"/usr/local/bin/handoff write a.md":     publishes,
		"handoff --workspace wait publish a":    publishes,
		"ID=$(handoff publish a.md)":            publishes,
		`echo "made $(handoff publish a)"`:      publishes,
		"echo `handoff publish a`":              publishes,
		`echo "made ` + "`handoff publish a`\"": publishes,
		"cd x && A=1 timeout 10 handoff pipeline put 1 plan":                   publishes,
		`bash -lc "cd x; handoff publish a"`:                                   publishes,
		"bash -lc handoff publish a":                                           publishes,
		"if ! handoff publish a; then echo b; fi":                              publishes,
		"go run example.com/cmd/handoff@v1 publish a":                          publishes,
		"cat > a <<'EOF'\nhandoff wait\nEOF\nhandoff publish a # handoff wait": publishes,
		"handoff":                                          observes,
		"handoff wait --channel design":                    observes,
		"handoff read a | handoff publish - ":              both,
		"handoff publish a && handoff wait --channel b":    both,
		"handoff pipeline next 1":                          observes,
		"codex exec 'handoff publish a'":                   observes,
		"codex exec <<EOF\nhandoff publish a\nEOF":         observes,
		"codex exec <<EOF\nhandoff publish a":              observes,
		"printf 'handoff publish a' | claude -p":           observes,
		"echo '$(handoff publish a)' \\$(handoff wait":     observes,
		"echo a\\\n&& handoff publish 'it'\\''s' <<< wait": publishes,
	} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		if got := TrafficOf(thread.Call{Name: "Bash", Input: string(input)}); got != want {
			t.Errorf("%s: got %+v, want %+v", command, got, want)
		}
	}
	for _, tt := range []struct {
		call thread.Call
		want Traffic
	}{
		{thread.Call{Name: "mcp__handoff__artifact_publish", Input: `{}`}, publishes},
		{thread.Call{Name: "handoff-write_artifact"}, publishes},
		{thread.Call{Name: "mcp__handoff__artifact_wait"}, observes},
		{thread.Call{Name: "Agent", Agent: "a1"}, observes},
		{thread.Call{Name: "Read", Input: `{"file_path":"a"}`}, neither},
	} {
		if got := TrafficOf(tt.call); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.call.Name, got, tt.want)
		}
	}
}

func FuzzCommandsOf(f *testing.F) {
	f.Add("A=1 handoff publish \"$(cat 'a b')\" `c` <<-'EOF' | d\nx\nEOF\n# e\nf \\")
	f.Fuzz(func(t *testing.T, script string) {
		for _, words := range commandsOf(script) {
			if len(words) == 0 {
				t.Errorf("%q: got an empty command", script)
			}
		}
		TrafficOf(thread.Call{Name: "Bash", Input: script})
	})
}

func TestCommandsOf(t *testing.T) {
	got := commandsOf("a 'b c' \"d $(e f) g\";h<<X i\nno\nX\nj|k&&l 2>&1")
	want := [][]string{{"a", "b c", "d "}, {"e", "f"}, {" g"}, {"h", "i"}, {"j"}, {"k"}, {"l", "2>"}, {"1"}}
	if !slices.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got %q, want %q", got, want)
	}
}
