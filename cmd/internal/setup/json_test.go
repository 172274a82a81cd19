package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEditKeepsTheRest checks that entries that are added to a random document and
// removed again leave every byte, and that a strict document stays strict.
func TestEditKeepsTheRest(t *testing.T) {
	changes := []Change{
		{Member: []string{"mcpServers", entry}, Value: map[string]any{"command": "/x/handoff", "args": []string{"mcp"}}},
		{Element: []string{"hooks", "Stop"}, Value: map[string]any{
			"hooks": []any{map[string]any{"command": "/x/handoff hook claude"}}}},
	}
	rapid.Check(t, func(t *rapid.T) {
		value := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "mcpServers", "hooks", "z"}), 0, 5,
			rapid.ID).Draw(t, "names") {
			value[name] = map[string]any{"x": rapid.String().Draw(t, "text"), "Stop": []any{1.5, "s"}}
		}
		content, err := json.Marshal(value)
		if rapid.Bool().Draw(t, "lines") {
			content, err = json.MarshalIndent(value, "", rapid.SampledFrom([]string{"", " ", "\t", "     "}).Draw(t, "indent"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "comments") {
			content = bytes.ReplaceAll(content, []byte("\n"), []byte(" // c\n/* d */ "))
		}
		if rapid.Bool().Draw(t, "windows") {
			content = bytes.ReplaceAll(content, []byte("\n"), []byte("\r\n"))
		}
		if rapid.Bool().Draw(t, "mark") {
			content = append(bytes.Clone(byteOrderMark), content...)
		}
		e, err := newEditor(jsonFormat{}, content)
		if err != nil {
			t.Fatal(err)
		}
		before := e.value
		for range 2 {
			for _, c := range changes {
				if _, err := c.apply(e, nil); err != nil {
					t.Fatalf("%v: %s", err, e.text)
				}
			}
		}
		if err := e.check(); err != nil || bytes.Count(e.text, []byte("handoff hook")) != 1 {
			t.Fatalf("%v: %s", err, e.text)
		}
		if bytes.Contains(content, []byte("\r\n")) &&
			bytes.Contains(bytes.ReplaceAll(e.text, []byte("\r\n"), nil), []byte("\n")) {
			t.Fatalf("mixed line ends: %q", e.text)
		}
		if plain := bytes.TrimPrefix(content, byteOrderMark); json.Valid(plain) &&
			!json.Valid(bytes.TrimPrefix(e.text, byteOrderMark)) {
			t.Fatalf("%s was strict and became %s", content, e.text)
		}
		for _, c := range changes {
			if err := c.takeBack(e, before); err != nil {
				t.Fatalf("%v: %s", err, e.text)
			}
		}
		if err := e.check(); err != nil || squeeze(e.text) != squeeze(content) {
			t.Fatalf("%v: got %q, want %q", err, e.text, content)
		}
	})
}

// squeeze returns a document without the spaces in empty objects, which are laid
// out anew.
func squeeze(text []byte) string {
	return strings.NewReplacer("{\r\n}", "{}", "{\n}", "{}").Replace(string(text))
}

// TestOwnCommand has the commands of handoff's entries, and of others.
func TestOwnCommand(t *testing.T) {
	for command, want := range map[string]bool{
		"handoff mcp": true, "/opt/x/agent-handoff mcp": true, `'/opt/a b/handoff' hook claude`: true,
		`"C:\\bin\\handoff.exe" mcp`:     true,
		"npx -y agent-handoff@1.2.3 mcp": true, "pnpm dlx agent-handoff mcp": true, "env A=b handoff hook codex": true,
		"command -v handoff >/dev/null 2>&1 && handoff hook claude || :":                                       true,
		"sh -c 'command -v agent-handoff >/dev/null 2>&1 && exec agent-handoff mcp; while read l; do :; done'": true,
		"handoff": false, "handoff serve": false, "/opt/handoffs mcp": false, "say handoff mcp": false,
		"sh -c 'echo handoff mcp'": false,
		"npx other mcp":            false, "sh": false, "": false, "command -v handoff": false,
		"echo x && handoff hook claude": false,
	} {
		if got := ownCommand(shellFields(command)); got != want {
			t.Errorf("%s: %t, want %t", command, got, want)
		}
	}
}

// TestMixedGroup keeps the hooks that a user added to a list with handoff's.
func TestMixedGroup(t *testing.T) {
	const text = `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/handoff hook claude"}, {"type": "command", "command": "say done"}]}]}}`
	hook := Change{Element: []string{"hooks", "Stop"},
		Value: map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "/new/handoff hook claude"}}}}
	after, made, err := applyAll("settings.json", []byte(text), []Change{hook}, nil)
	if err != nil || len(made) != 1 || !bytes.Contains(after, []byte("say done")) ||
		bytes.Contains(after, []byte("/old/")) {
		t.Errorf("%s, %v", after, err)
	}
}

// TestMovedHook replaces the command of a hook, and keeps the members that a user changed.
func TestMovedHook(t *testing.T) {
	for text, value := range map[string]any{
		`{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"command":"/old/handoff hook claude"}]}]}}`: map[string]any{
			"hooks": []any{map[string]any{"command": "/new/handoff hook claude"}}},
		`{"hooks": {"Stop": [{"bash": "/old/handoff hook copilot", "timeoutSec": 60}]}}`: map[string]any{
			"bash": "/new/handoff hook copilot", "timeoutSec": 10},
	} {
		got, _, err := applyAll("x.json", []byte(text), []Change{{Element: []string{"hooks", "Stop"}, Value: value}}, nil)
		if want := strings.ReplaceAll(text, "/old/", "/new/"); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}

func FuzzTOML(f *testing.F) {
	f.Add("[a]\nb = 1\n[mcp_servers.handoff]\ncommand = \"handoff\"\nargs = [\"mcp\"]\n")
	f.Add("mcp_servers.x = { y = \"\"\"\n[z]\"\"\" } # c")
	f.Fuzz(func(t *testing.T, text string) { fuzzEdit(t, "config.toml", []string{"mcp_servers", entry}, text) })
}

func FuzzJSON(f *testing.F) {
	f.Add("{\"a\": [1, 2,], // c\n \"mcpServers\": {\"handoff\": {\"command\": \"handoff\", \"args\": [\"mcp\"]}}}")
	f.Add("\ufeff{\"mcpServers\": {}, \"mcpServers\": {/* x */}}")
	f.Fuzz(func(t *testing.T, text string) { fuzzEdit(t, "x.json", []string{"mcpServers", entry}, text) })
}

// fuzzEdit checks that an edit that succeeds can be repeated without a change, and
// taken back.
func fuzzEdit(t *testing.T, file string, path []string, text string) {
	change := []Change{{Member: path, Value: map[string]any{"command": "/x/handoff", "args": []string{"mcp"}}}}
	after, made, err := applyAll(file, []byte(text), change, nil)
	if err != nil {
		return
	}
	again, _, err := applyAll(file, after, change, nil)
	if err != nil || !bytes.Equal(again, after) {
		t.Fatalf("%q, then %q (%v)", after, again, err)
	}
	if len(made) == 0 {
		return
	}
	if _, err := without(Edit{File: file, Before: []byte(text), Changes: change}, after); err != nil {
		t.Fatalf("%q can't be taken back: %v", after, err)
	}
}

// TestTOMLHooks installs hooks in a list of tables, again, by another program, and takes them back. Those of the user
// stay, and so does every other byte.
func TestTOMLHooks(t *testing.T) {
	hooks := func(program string) (list []Change) {
		for _, event := range []string{"SessionStart", "Stop"} {
			list = append(list, Change{Element: []string{"hooks"}, Value: map[string]any{"event": event,
				"command": program + " hook kimi"}})
		}
		return list
	}
	const (
		lines = "\n[[hooks]]\ncommand = \"/x/handoff hook kimi\"\nevent = \"SessionStart\"\n" +
			"\n[[hooks]]\ncommand = \"/x/handoff hook kimi\"\nevent = \"Stop\"\n"
		own = "model = \"m\" # c\n\n[[hooks]] # mine\nevent = \"Stop\"\ncommand = \"notify\"\n\n" +
			"[hooks.more]\nx = 1\n\n[loop]\nn = 1\n"
	)
	for text, want := range map[string]string{"": lines[1:], own: own + lines,
		strings.ReplaceAll(own, "\n", "\r\n"): strings.ReplaceAll(own+lines, "\n", "\r\n")} {
		got, _, err := applyAll("config.toml", []byte(text), hooks("/x/handoff"), nil)
		if err != nil || string(got) != want {
			t.Fatalf("%q becomes %q, %v, want %q", text, got, err, want)
		}
		moved, _, err := applyAll("config.toml", got, hooks("/y/handoff"), hooks("/x/handoff"))
		if err != nil || string(moved) != strings.ReplaceAll(want, "/x/", "/y/") {
			t.Errorf("with another program: %q, %v", moved, err)
		}
		const event, more = "event = \"Stop\"", "event = \"Stop\" # c\ntimeout = 5 # mine"
		got = bytes.ReplaceAll(got, []byte(event), []byte(more))
		kept, _, err := applyAll("config.toml", got, hooks("/y/handoff"), hooks("/x/handoff"))
		if err != nil || string(kept) != strings.ReplaceAll(string(moved), event, more) {
			t.Errorf("with another member: %q, %v", kept, err)
		}
		rest, err := without(Edit{File: "config.toml", Before: []byte(text), Changes: hooks("/y/handoff")}, moved)
		if err != nil || string(rest) != text {
			t.Errorf("taken back: %q, %v, want %q", rest, err, text)
		}
	}
	for text, rest := range map[string]string{"hooks = []\nmodel = \"m\"\n": "model = \"m\"\n",
		"hooks = [\n] # mine\n": "# mine\n", "hooks=[]": ""} {
		want := strings.TrimPrefix(rest+lines, "\n")
		got, _, err := applyAll("config.toml", []byte(text), hooks("/x/handoff"), nil)
		if err != nil || string(got) != want {
			t.Errorf("%q becomes %q, %v, want %q", text, got, err, want)
		}
		got, err = without(Edit{File: "config.toml", Before: []byte(text), Changes: hooks("/x/handoff")}, got)
		if err != nil || string(got) != rest+"hooks = []\n" && string(got) != "hooks = []\n"+rest {
			t.Errorf("taken back: %q, %v", got, err)
		}
	}
	for _, text := range []string{"hooks = [{ event = \"Stop\", command = \"notify\" }]\n", "[hooks]\nStop = 1\n"} {
		if _, _, err := applyAll("config.toml", []byte(text), hooks("/x/handoff"), nil); !errors.Is(err, errForm) {
			t.Errorf("%q: %v, want %v", text, err, errForm)
		}
	}
}

// TestTOMLInline refuses to add to an inline table, and advises no lines: a table that
// follows it would make the file invalid.
func TestTOMLInline(t *testing.T) {
	change := []Change{{Member: []string{"mcp_servers", entry}, Value: map[string]any{"command": "/x/handoff"}}}
	for _, text := range []string{"mcp_servers = {}\n", "mcp_servers = { docs = { command = \"d\" } }\n",
		"[mcp_servers]\nagent-handoff = { command = \"handoff\", args = [\"mcp\"] }\n"} {
		after, _, err := applyAll("config.toml", []byte(text), change, nil)
		if err == nil {
			if _, err := (tomlFormat{}).decode(after); err != nil {
				t.Errorf("%q becomes %q: %v", text, after, err)
			}
			continue
		}
		if lines := linesFor("config.toml", change, err); !errors.Is(err, errInline) || lines != "" {
			t.Errorf("%q: %v with the advice %q, want %v without one", text, err, lines, errInline)
		}
	}
}

// TestTOMLText has the exact text of edits.
func TestTOMLText(t *testing.T) {
	table := Change{Member: []string{"mcp_servers", entry},
		Value: map[string]any{"command": "/x/handoff", "args": []string{"mcp"}}}
	allowed := table
	allowed.Value = map[string]any{"command": "/x/handoff", "args": []string{"mcp"},
		"default_tools_approval_mode": "approve"}
	const lines = "[mcp_servers.agent-handoff]\nargs = [\"mcp\"]\ncommand = \"/x/handoff\"\n"
	for _, c := range []struct {
		text   string
		change Change
		want   string
	}{
		{"", table, lines},
		{"a = 1", table, "a = 1\n\n" + lines},
		{"a = 1 # c", table, "a = 1 # c\n\n" + lines},
		{"a = 1\r\n", table, "a = 1\r\n\r\n" + strings.ReplaceAll(lines, "\n", "\r\n")},
		{strings.TrimSuffix(lines, "\n") + " # mine", allowed,
			strings.TrimSuffix(lines, "\n") + " # mine\ndefault_tools_approval_mode = \"approve\"\n"},
	} {
		if got, _, err := applyAll("config.toml", []byte(c.text), []Change{c.change}, nil); err != nil ||
			string(got) != c.want {
			t.Errorf("%q becomes %q, want %q (%v)", c.text, got, c.want, err)
		}
	}
	const special = "a\x00\x07\a\v\x7f\x1b\"\\\t\n\u2028é'"
	decoded, err := tomlFormat{}.decode([]byte("s = " + tomlString(special)))
	if got := tomlString(special); err != nil || decoded["s"] != special ||
		strings.ContainsAny(got, "\x00\x07\v\x7f\x1b\t\n") {
		t.Errorf("a string is %s, which is %q, %v, want %q", got, decoded["s"], err, special)
	}
}
