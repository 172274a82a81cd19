package hook

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff/internal/tool/safepath"
	"github.com/agent-handoff/handoff/thread"
)

// Left returns the files that a thread created with a tool for that and that
// are still in root, relative to it, and its last message. A thread that
// can't be read has neither.
func Left(ctx context.Context, set *thread.Set, root *os.Root, uri string) (files []string, message string) {
	u, err := thread.ParseURI(uri)
	if err != nil {
		return nil, ""
	}
	v, err := set.Open(ctx, u)
	if err != nil {
		return nil, ""
	}
	t := v.Thread
	if v.Agent != nil {
		t = v.Agent.Thread
	}
	if t == nil {
		return nil, ""
	}
	err = t.Read(ctx, thread.Tools, func(m thread.Message) error {
		if m.Role == thread.Assistant && m.Text != "" {
			message = m.Text
		}
		for _, call := range m.Tools {
			name, ok := created(call, root.Name(), t.Cwd)
			if !ok || slices.Contains(files, name) {
				continue
			}
			if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() {
				files = append(files, name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, ""
	}
	return files, message
}

// writers are the tools that write a complete file: of Claude Code, Gemini CLI
// and Qwen Code, OpenCode and pi.
var writers = []string{"Write", "write_file", "write"}

// created returns the file that a call wrote, slash-separated and relative to root. A
// relative path in the call is one in cwd, the directory of the thread.
func created(call thread.Call, root, cwd string) (string, bool) {
	if !call.Done() || call.Inferred || !slices.Contains(writers, call.Name) {
		return "", false
	}
	var in struct {
		Snake string `json:"file_path"`
		Camel string `json:"filePath"`
		Path  string `json:"path"`
	}
	if json.Unmarshal([]byte(call.Input), &in) != nil {
		return "", false
	}
	name := in.Snake + in.Camel + in.Path // a tool has one of them
	if name != "" && !filepath.IsAbs(name) {
		name = filepath.Join(cwd, name)
	}
	if !filepath.IsAbs(name) {
		return "", false // nothing says where it is
	}
	name = filepath.ToSlash(inside(root, name))
	return name, name != "." && fs.ValidPath(name) && safepath.Check(name) == nil
}

// inside returns an absolute path relative to root, which it may name through links.
func inside(root, name string) string {
	rel, err := filepath.Rel(root, name)
	if err == nil && filepath.IsLocal(rel) {
		return rel
	}
	dir, err1 := filepath.EvalSymlinks(filepath.Dir(name))
	root, err2 := filepath.EvalSymlinks(root)
	if err1 != nil || err2 != nil {
		return ""
	}
	if rel, err = filepath.Rel(root, filepath.Join(dir, filepath.Base(name))); err != nil {
		return ""
	}
	return rel
}
