package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
)

// FilterInput has the arguments that select artifacts.
type FilterInput struct {
	Channel string `json:"channel,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Tag     string `json:"tag,omitempty"`
	Name    string `json:"name,omitempty" jsonschema:"name that write_artifact gave"`
	Label   string `json:"label,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	Run     string `json:"run,omitempty"`
	Task    string `json:"task,omitempty"`
	Work    string `json:"work,omitempty"`

	ParentWork string `json:"parentWork,omitempty"`
}

func (f FilterInput) filter() workspace.Filter {
	filter := workspace.Filter{Channel: f.Channel, Kind: f.Kind, Tag: f.Tag, Name: f.Name, Label: f.Label,
		Producer: map[string]string{}}
	for field, value := range map[string]string{"agent": f.Agent, "session": f.Session, "run": f.Run, "task": f.Task,
		"work": f.Work, "parent-work": f.ParentWork} {
		if value != "" {
			filter.Producer[field] = value
		}
	}
	return filter
}

// A ListInput has the arguments of artifact_list.
type ListInput struct {
	Common
	FilterInput
	Status   string `json:"status,omitempty" jsonschema:"active (default), superseded or withdrawn"`
	All      bool   `json:"all,omitempty" jsonschema:"of every status"`
	Since    string `json:"since,omitempty" jsonschema:"2h, 3d or a date"`
	Limit    int    `json:"limit,omitempty" jsonschema:"default 20"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"of the previous page"`
	Path     string `json:"path,omitempty"`
	Channels bool   `json:"channels,omitempty" jsonschema:"count by channel"`
}

// defaultLimit is how many entries a list has.
const defaultLimit = 20

type listData struct {
	Artifacts []row  `json:"artifacts"`
	Cursor    string `json:"cursor,omitempty"`
	Hidden    int    `json:"hidden,omitempty"`
}

var artifactList = tool[ListInput]{
	name: "artifact_list",
	description: "List what was handed over in this repository, newest first. Use it before you start " +
		"and to find a ref.",
	reads: true,
	output: []output{{listData{}, []string{"artifacts.id", "artifacts.channel", "artifacts.path",
		"artifacts.file", "artifacts.worktree", "artifacts.title", "artifacts.producer.agent", "artifacts.producer.harness",
		"artifacts.status", "artifacts.revision", "artifacts.labels", "artifacts.notices.code", "cursor", "hidden"}},
		{workspace.ChannelList{}, []string{"channels.name", "channels.count"}}},
	do: func(ctx context.Context, c *call, in ListInput) (answer, error) {
		f := in.filter()
		f.Status, f.IncludeInactive, f.Since, f.Path = in.Status, in.All, in.Since, in.Path
		if in.Channels {
			list, err := c.Channels(ctx, f)
			if err != nil {
				return answer{}, err
			}
			text := make([]string, len(list.Channels))
			for i, ch := range list.Channels {
				text[i] = fmt.Sprintf("%s  %d", ch.Name, ch.Count)
			}
			return answer{data: list, text: strings.Join(text, "\n")}, nil
		}
		if in.Limit == 0 {
			in.Limit = defaultLimit
		}
		page, err := c.List(ctx, workspace.ListOptions{Filter: f, Limit: in.Limit, Cursor: in.Cursor})
		if err != nil {
			return answer{}, err
		}
		text := lines(c.Workspace, page.Artifacts)
		if page.Cursor != "" {
			text += "\nolder ones: cursor " + page.Cursor
		}
		return answer{data: shortPage(c.Workspace, page), text: text}, nil
	},
}

func shortPage(w *workspace.Workspace, page handoff.ArtifactPage) listData {
	return listData{Artifacts: newRows(w, page.Artifacts), Cursor: page.Cursor, Hidden: page.HiddenCount}
}
