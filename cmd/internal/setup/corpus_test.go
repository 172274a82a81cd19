package setup_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
	"github.com/tailscale/hujson"
)

// A sample is a configuration file as a user of a program may have it.
type sample struct {
	Program, Name, Text string
	Refused             bool // it can't be edited
}

const bom = "\ufeff"

// codexTexts are valid files of Codex.
var codexTexts = map[string]string{
	"empty":          "",
	"comment":        "# nothing yet\n",
	"keys":           "model = \"gpt-5\"\napproval_policy = \"never\" # why\n",
	"table":          "model = \"gpt-5\"\n\n[mcp_servers.docs]\ncommand = \"docs-mcp\"\nargs = [\"-v\"]\n",
	"inline":         "mcp_servers = { docs = { command = \"docs-mcp\" } }\nmodel = \"x\"\n",
	"inline entries": "[mcp_servers]\ndocs = { command = \"docs-mcp\", env = { A = \"1\" } }\n",
	"quoted":         "[mcp_servers.\"docs\"]\ncommand = 'docs-mcp'\n",
	"quoted literal": "[mcp_servers.'docs']\n\"command\" = \"docs-mcp\"\n",
	"dotted":         "mcp_servers.docs.command = \"docs-mcp\"\nmcp_servers.docs.args = []\n",
	"dotted quoted":  "mcp_servers.\"docs\".command = \"docs-mcp\" # here\nmodel = \"x\"\n",
	"spaced":         "[ mcp_servers . docs ]   # spaces\n  command   =   \"docs-mcp\"\n",
	"indented":       "  model = \"x\"\n\n  [mcp_servers.docs]\n    command = \"docs-mcp\"\n    # the end\n",
	"array of tables": "[[skills.config]]\npath = \"/a\"\nenabled = true\n\n[[skills.config]]\npath = \"/b\"\nenabled = " +
		"false\n",
	"unknown arrays":  "[[x_notes]]\na = 1\n[x_notes.sub]\nb = 2\n[[x_notes]]\na = 3\n",
	"looks like ours": "developer_instructions = \"\"\"\n[mcp_servers.agent-handoff]\ncommand = \"mine\"\n\"\"\"\n",
	"literal lines": "developer_instructions = " +
		"'''\n[mcp_servers.handoff]\n[sandbox_workspace_write]\n'''\n[mcp_servers.docs]\ncommand = \"docs-mcp\"\n",
	"comments": "# a\n\n# b\nmodel = \"x\" # c\n\n# d\n[mcp_servers.docs] # e\n# f\ncommand = \"docs-mcp\" # " +
		"g\n# h\n\n# i\n",
	"commented ours": "# [mcp_servers.agent-handoff]\n# command = \"x\"\nmodel = \"x\"\n",
	"long list": "notify = [\n  \"say\", # one\n  # two\n  \"done [x]\",\n]\n[mcp_servers.docs]\ncommand = " +
		"\"docs-mcp\"\nargs = [\n  \"a\",\n  \"]\",\n]\n",
	"sub tables": "[mcp_servers.docs]\ncommand = \"docs-mcp\"\n[mcp_servers.docs.env]\nA = " +
		"\"1\"\n\n[tui]\nnotifications = true\n",
	"empty parent": "[mcp_servers]\n\n[tui]\nnotifications = false\n",
	"url":          "[mcp_servers.docs]\nurl = \"https://example.com/mcp\"\nhttp_headers = { X = \"1\" }\n",
	"projects": "[projects.\"/home/dev/a b\"]\ntrust_level = \"trusted\"\n\n[projects.'/x']\ntrust_level = " +
		"\"untrusted\"\n",
	"sandbox inline": "sandbox_workspace_write = { network_access = true }\nmodel = \"x\"\n",
	"sandbox dotted": "sandbox_workspace_write.network_access = true\n",
	"sandbox table":  "[sandbox_workspace_write]\nnetwork_access = true\nwritable_roots = [\"/tmp\"]\n",
	"unicode":        "model = \"gpt\"\n[projects.\"/größe/日本\"]\ntrust_level = \"trusted\"\n",
	"escapes":        "developer_instructions = \"a\\\"b\\\\ \\u00e9 # no comment\"\nmodel = 'c:\\x'\n",
	"numbers":        "tool_output_token_limit = 12_000\nmodel_context_window = 200000\n",
	"old":            "[mcp_servers.agent-handoff]\ncommand = \"/usr/bin/handoff\"\nargs = [\"mcp\"]\n",
	"old with tools": "model = \"x\"\n\n[mcp_servers.agent-handoff]\ncommand = \"handoff\"\nargs = " +
		"[\"mcp\"]\n\n[mcp_servers.agent-handoff.tools.artifact_list]\napproval_mode = \"approve\"\n\n[tui]\nnotifications = true\n",
	"old inline": "[mcp_servers]\nagent-handoff = { command = \"handoff\", args = [\"mcp\"] }\ndocs = { command = " +
		"\"docs-mcp\" }\n",
	"old quoted": "[mcp_servers.\"agent-handoff\"]\nargs = ['mcp']\ncommand = '/opt/handoff'\n# after\n",
	"old dotted": "mcp_servers.agent-handoff.command = \"handoff\"\nmcp_servers.agent-handoff.args = [\"mcp\"]\nmodel = \"x\"\n",
	"old with a choice": "[mcp_servers.agent-handoff]\ncommand = \"/old/agent-handoff\"\nargs = " +
		"[\"mcp\"]\nstartup_timeout_sec = 20 # slow disk\n",
	"old by npx":      "[mcp_servers.agent-handoff]\ncommand = \"npx\"\nargs = [\"-y\", \"agent-handoff@0.1\", \"mcp\"]\n",
	"foreign handoff": "[mcp_servers.handoff]\ncommand = \"handoff\"\nargs = [\"serve\", \"--stdio\"]\n",
	"foreign name":    "[mcp_servers.agent-handoff]\ncommand = \"other\"\n",
}

// codexRefused can't be edited: the table is closed, or the entry is another's.
var codexRefused = map[string]bool{"inline": true, "foreign name": true}

// samples returns the corpora: 60 files of Codex, and 60 of programs with JSON.
func samples(t testing.TB) []sample {
	var list []sample
	add := func(program, name, text string) {
		list = append(list, sample{program, name, text, program == "codex" &&
			codexRefused[strings.TrimSuffix(strings.TrimSuffix(name, ", crlf"), ", cut")]})
	}
	for _, name := range sortedKeys(codexTexts) {
		add("codex", name, codexTexts[name])
	}
	for _, name := range []string{"keys", "table", "inline entries", "dotted", "comments", "looks like ours", "long list",
		"old with tools", "old inline", "old with a choice", "sandbox table", "array of tables"} {
		add("codex", name+", crlf", strings.ReplaceAll(codexTexts[name], "\n", "\r\n"))
	}
	for _, name := range []string{"keys", "table", "comment", "sandbox dotted", "old", "sub tables", "projects",
		"inline"} {
		add("codex", name+", cut", strings.TrimRight(codexTexts[name], "\n"))
	}
	for _, name := range []string{"table", "old with tools"} {
		add("codex", name+", mark", bom+codexTexts[name])
	}
	for _, program := range []string{"claude", "gemini", "opencode"} {
		for content, value := range jsonValues(program) {
			for layout, text := range layouts(t, program, value) {
				add(program, fmt.Sprint(content, ", ", layout), text)
			}
		}
	}
	return list
}

// jsonValues returns four values of a program's file: empty, without servers, with
// those of others, and with an entry of handoff at another path.
func jsonValues(program string) []any {
	type object = map[string]any
	some, servers, other, old := object{"numStartups": 3, "theme": "dark"}, "mcpServers", object{
		"command": "docs-mcp", "args": []any{}}, object{"command": "/old/handoff", "args": []any{"mcp"}}
	switch program {
	case "gemini":
		some = object{"ui": object{"theme": "GitHub"}, "general": object{"vimMode": false}}
	case "opencode":
		some, servers = object{"autoupdate": false, "share": "disabled"}, "mcp"
		other = object{"type": "local", "command": []any{"docs-mcp"}, "enabled": false}
		old = object{"type": "local", "command": []any{"/old/handoff", "mcp"}}
	}
	with := func(entries object) object {
		all := object{servers: entries}
		for k, v := range some {
			all[k] = v
		}
		return all
	}
	return []any{object{}, some, with(object{"docs": other}), with(object{"docs": other, "agent-handoff": old})}
}

// layouts returns a value in five layouts that the program reads.
func layouts(t testing.TB, program string, value any) map[string]string {
	pretty := func(indent string) string {
		b, err := json.MarshalIndent(value, "", indent)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	compact, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{"pretty": pretty("  ") + "\n", "tabs": strings.ReplaceAll(pretty("\t"), "\n", "\r\n"),
		"one line": string(compact)}
	if program == "claude" {
		list["wide"], list["loose"] = "\n\n"+pretty("        ")+"\n\n", strings.ReplaceAll(string(compact), ":", " : ")+"\n"
		return list
	}
	list["commented"] = "// mine\n" + strings.ReplaceAll(pretty("   "), "\n", " // here\n") + " /* end */\n"
	list["blocks"] = strings.ReplaceAll(pretty(" "), "\n", " /* a */\n\n")
	return list
}

// TestSamples counts the corpora.
func TestSamples(t *testing.T) {
	count := map[string]int{}
	for _, s := range samples(t) {
		count[s.Program]++
	}
	if want := map[string]int{"codex": 60, "claude": 20, "gemini": 20, "opencode": 20}; !reflect.DeepEqual(count, want) {
		t.Errorf("%v samples, want %v", count, want)
	}
}

// sampleFiles are where the programs read them.
var sampleFiles = map[string]string{"codex": ".codex/config.toml", "claude": ".claude.json",
	"gemini": ".gemini/settings.json", "opencode": ".config/opencode/opencode.jsonc"}

// TestSampleEdits sets up every sample, again, with a moved program, lets the
// program change it, and takes everything back.
func TestSampleEdits(t *testing.T) {
	edited := map[string]int{}
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for _, s := range samples(t) {
			t.Run(s.Program+" "+s.Name, func(t *testing.T) {
				t.Parallel()
				s.checkEdits(t)
				if !s.Refused && !t.Failed() {
					mu.Lock()
					defer mu.Unlock()
					edited[s.Program]++
				}
			})
		}
	})
	if edited["codex"] < 50 || edited["claude"]+edited["gemini"]+edited["opencode"] != 60 {
		t.Errorf("%v files are edited", edited)
	}
	t.Logf("%v files are edited", edited)
}

func (s sample) checkEdits(t *testing.T) {
	h := home{t, t.TempDir()}
	h.write(sampleFiles[s.Program], s.Text)
	target := h.target()
	if p := h.plan(target, s.Program)[0]; s.Refused {
		if p.Err == nil || (p.Lines == "") != strings.Contains(p.Err.Error(), "is an inline table") {
			t.Errorf("%v, lines %q", p.Err, p.Lines)
		}
		return
	}
	before := s.value(t, s.Text)
	for i, binary := range []string{"/a/agent-handoff", "/a/agent-handoff", "/b c/handoff"} {
		target.Binary, target.Allow = binary, i > 1
		h.apply(target, s.Program, i != 1)
		s.checkEntry(t, h.read(sampleFiles[s.Program]), before, binary)
	}
	h.undo(target)
	if got := h.read(sampleFiles[s.Program]); got != s.Text {
		t.Errorf("undo left %q, want %q", got, s.Text)
	}
	s.checkUndoAfterChange(t, h, target)
}

// checkUndoAfterChange changes the file as its program does, twice, and takes
// handoff's entries away: all else has every byte.
func (s sample) checkUndoAfterChange(t *testing.T, h home, target setup.Target) {
	t.Helper()
	file := sampleFiles[s.Program]
	change := func(text string, i int) string {
		if s.Program != "codex" {
			return strings.Replace(text, "{", fmt.Sprintf("{\"added%d\": {\"x\": [1.50]},", i), 1)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + fmt.Sprintf("\n[projects.\"/added%d\"]\ntrust_level = \"trusted\"\n", i)
	}
	h.write(file, s.Text)
	h.apply(target, s.Program, true)
	h.write(file, change(h.read(file), 1))
	target.Binary = "/c/agent-handoff"
	h.apply(target, s.Program, true)
	h.write(file, change(h.read(file), 2))
	h.undo(target)
	got := h.read(file)
	if strings.Contains(got, "/c/") || strings.Contains(got, "/b c/") || strings.Contains(got, "HANDOFF_") {
		t.Errorf("an entry is left: %s", got)
	}
	s.value(t, got)
	want := change(change(s.Text, 1), 2)
	if strings.HasPrefix(s.Name, "0") || s.Text == "" && s.Program == "codex" {
		want, got = strings.Join(strings.Fields(want), ""), strings.Join(strings.Fields(got), "")
		want, got = strings.ReplaceAll(want, ",}", "}"), strings.ReplaceAll(got, ",}", "}")
	}
	if !strings.Contains(s.Name, "old") && !strings.HasPrefix(s.Name, "3") && got != want {
		t.Errorf("undo left\n%q, want\n%q", got, want)
	}
}

// value decodes a text, with libraries that the editor does not use for TOML.
func (s sample) value(t *testing.T, text string) map[string]any {
	t.Helper()
	value := map[string]any{}
	var err error
	if s.Program == "codex" {
		_, err = toml.Decode(text, &value)
	} else {
		standard, serr := hujson.Standardize([]byte(strings.TrimPrefix(text, bom)))
		if err = serr; err == nil {
			err = json.Unmarshal(standard, &value)
		}
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	return value
}

// checkEntry checks that a file has one entry of handoff, of a binary, and that
// all else is as it was.
func (s sample) checkEntry(t *testing.T, text string, before map[string]any, binary string) {
	t.Helper()
	name := map[string]string{"codex": "mcp_servers", "opencode": "mcp"}[s.Program]
	if name == "" {
		name = "mcpServers"
	}
	now := s.value(t, text)
	servers, _ := now[name].(map[string]any)
	entry, _ := servers["agent-handoff"].(map[string]any)
	if got := fmt.Sprint(entry["command"]); got != binary && got != "["+binary+" mcp]" {
		t.Fatalf("the command is %s, want %s:\n%s", got, binary, text)
	}
	clean := func(all map[string]any) map[string]any {
		rest := map[string]any{}
		for k, v := range all {
			if k == "sandbox_workspace_write" && before[k] == nil || k == "hooks" && before[k] == nil {
				continue
			}
			if k != name {
				rest[k] = v
				continue
			}
			others := map[string]any{}
			for k, v := range v.(map[string]any) {
				if ours := strings.Contains(fmt.Sprint(v), " mcp") || strings.Contains(fmt.Sprint(v), "[mcp"); !ours {
					others[k] = v
				}
			}
			if len(others) > 0 {
				rest[k] = others
			}
		}
		return rest
	}
	if got, want := clean(now), clean(before); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v:\n%s", got, want, text)
	}
	if s.Program != "codex" && json.Valid([]byte(s.Text)) && !json.Valid([]byte(text)) {
		t.Errorf("was strict and became %s", text)
	}
	if crlf := strings.Count(s.Text, "\r\n"); crlf > 0 && strings.Count(text, "\n") != strings.Count(text, "\r\n") {
		t.Errorf("mixed line ends: %q", text)
	}
	if bytes.HasPrefix([]byte(s.Text), []byte(bom)) != strings.HasPrefix(text, bom) {
		t.Errorf("the byte order mark changed: %q", text)
	}
}
