package setup

import (
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the files of the plugin")

const (
	about       = "Hand finished files to other agents and later sessions, and find what they left."
	version     = "0.1.0"
	pluginsRoot = "../../.."
)

// pluginFiles returns the files of the plugin, and of the marketplaces that offer
// it, by path in the repository. The server, the hooks and the scripts are those
// that handoff init writes for a project: they are silent where handoff is not
// installed.
func pluginFiles() map[string]any {
	t := Target{Scope: Project}
	command, args := t.server()
	server := map[string]any{entry: map[string]any{"command": command, "args": args}}
	hooks := func(program string) map[string]any {
		events := map[string]any{}
		for _, c := range t.hooks(client{name: program, events: claudeEvents}) {
			events[c.Element[1]] = []any{c.Value}
		}
		return map[string]any{"hooks": events}
	}
	manifest := map[string]any{"name": entry, "version": version, "description": about, "license": "Apache-2.0",
		"keywords": []string{"handoff", "artifacts", "agents"}}
	with := func(more map[string]any) map[string]any {
		m := maps.Clone(manifest)
		maps.Copy(m, more)
		return m
	}
	const dir = "plugins/" + entry + "/"
	return map[string]any{
		".claude-plugin/marketplace.json": map[string]any{"name": entry, "owner": map[string]any{"name": "handoff"},
			"metadata": map[string]any{"description": about},
			"plugins":  []any{map[string]any{"name": entry, "source": "./plugins/" + entry, "description": about}}},
		".agents/plugins/marketplace.json": map[string]any{
			"name": entry, "interface": map[string]any{"displayName": "handoff"},
			"plugins": []any{
				map[string]any{"name": entry, "source": map[string]any{"source": "local", "path": "./plugins/" + entry},
					"policy":   map[string]any{"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
					"category": "Productivity"}}},
		dir + ".claude-plugin/plugin.json": with(map[string]any{"author": map[string]any{"name": "handoff"},
			"hooks": "./hooks/claude.json"}),
		dir + ".codex-plugin/plugin.json": with(map[string]any{"skills": "./skills/", "mcpServers": "./.mcp.json",
			"hooks": "./hooks/codex.json"}),
		dir + "plugin.json": with(map[string]any{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"}),
		dir + "mcp.json": map[string]any{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json",
			"mcpServers": map[string]any{entry: map[string]any{"type": "stdio", "command": command, "args": args}}},
		"server.json": map[string]any{
			"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
			"name":    "io.github.agent-handoff/handoff", "title": "handoff", "description": about, "version": version,
			"repository": map[string]any{"url": "https://github.com/agent-handoff/handoff", "source": "github"}},
		dir + ".mcp.json":         map[string]any{"mcpServers": server},
		dir + "hooks/claude.json": hooks("claude"),
		dir + "hooks/codex.json":  hooks("codex"),
		dir + "gemini-extension.json": map[string]any{"name": entry, "version": version, "description": about,
			"mcpServers": server},
		dir + "package.json": with(map[string]any{
			"type": "module", "main": "./opencode.js", "keywords": []string{"pi-package", "opencode-plugin"},
			"pi": map[string]any{"extensions": []string{"./extensions/agent-handoff.ts"}, "skills": []string{"./skills"}}}),
		dir + "extensions/agent-handoff.ts": script(piExtension, t.program()),
		dir + "opencode.js":                 script(opencodePlugin, t.program()),
		dir + skillPath:                     skill,
	}
}

// TestPlugin checks that the plugin has the files that handoff init writes.
func TestPlugin(t *testing.T) {
	files := pluginFiles()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		want, ok := files[name].(string)
		if !ok {
			b, err := json.MarshalIndent(files[name], "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			want = string(b) + "\n"
		}
		path := filepath.Join(pluginsRoot, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s differs from what handoff init writes (%v); run: go test ./cmd/internal/setup -run TestPlugin -update",
				name, err)
		}
	}
	err := filepath.WalkDir(filepath.Join(pluginsRoot, "plugins"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(pluginsRoot, path)
		if _, ok := files[filepath.ToSlash(name)]; !ok {
			t.Errorf("%s is not a file of the plugin", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
