package gemini

import (
	"context"
	"iter"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/thread"
)

// Stored implements thread.Lister.
func (p *provider) Stored(ctx context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		t := newTree(ctx)
		var dirs []string
		for _, project := range p.projects(t) {
			dirs = append(dirs, filepath.Join(project, "chats"))
		}
		folders := t.Folders(dirs, 1, isChat)
		if err := t.Err(name); err != nil && !yield(nil, err) {
			return
		}
		for _, f := range folders {
			chats := dirs[f.Root]
			project := filepath.Dir(chats)
			root, list := t.StatFile(filepath.Join(project, ".project_root")),
				t.StatFile(filepath.Join(project, "..", "..", "projects.json"))
			for _, file := range f.Files {
				c, ok := newChat(chats, strings.TrimPrefix(f.Path[len(chats):], string(filepath.Separator)), file.Name)
				if !ok {
					continue
				}
				s := &thread.Stored{Opener: thread.OpenFunc(func(ctx context.Context) ([]*thread.Thread, error) {
					return p.threadsIn(newTree(ctx), c)
				})}
				if s.SetFiles([]string{file.Path}, []thread.FileStat{file.FileStat, root, list}); !yield(s, nil) {
					return
				}
			}
		}
	}
}

// threadsIn opens the threads in the file of a chat.
func (p *provider) threadsIn(t tree, c chat) (list []*thread.Thread, err error) {
	c.head = t.head(c)
	for _, c := range append([]chat{c}, t.further(c)...) {
		opened, err := p.open([]chat{c})
		if err != nil {
			return nil, err
		}
		opened.Subagent = c.subagent()
		list = append(list, opened)
	}
	return list, t.Err(c.path())
}
