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
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	Run     string `json:"run,omitempty"`
}

func (f FilterInput) filter() workspace.Filter {
	filter := workspace.Filter{Channel: f.Channel, Kind: f.Kind, Tag: f.Tag, Name: f.Name, Producer: map[string]string{}}
	for field, value := range map[string]string{"agent": f.Agent, "session": f.Session, "run": f.Run} {
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
	All      bool   `json:"all,omitempty" jsonschema:"superseded and withdrawn ones too"`
	Since    string `json:"since,omitempty" jsonschema:"2h, 3d or a date"`
	Limit    int    `json:"limit,omitempty" jsonschema:"default 20"`
	Cursor   string `json:"cursor,omitempty" jsonschema:"of the previous page"`
	Channels bool   `json:"channels,omitempty" jsonschema:"count by channel"`
}

// defaultLimit is how many entries a list has.
const defaultLimit = 20

// A listed is an artifact in a list: what is needed to choose it.
type listed struct {
	ID       string         `json:"id"`
	Channel  string         `json:"channel"`
	Path     string         `json:"path"`
	Title    string         `json:"title,omitempty"`
	Status   handoff.Status `json:"status,omitempty"`   // unless active
	Revision int            `json:"revision,omitempty"` // from 2
	Labels   []string       `json:"labels,omitempty"`
	Stale    bool           `json:"stale,omitempty"` // an input was replaced or withdrawn
}

func newListed(a handoff.Artifact) listed {
	l := listed{ID: a.ID, Channel: a.Channel, Path: a.Path, Title: a.Title, Labels: a.Labels,
		Stale: len(a.StaleInputs) > 0}
	if a.Status != handoff.Active {
		l.Status = a.Status
	}
	if a.Revision > 1 {
		l.Revision = a.Revision
	}
	return l
}

type listData struct {
	Artifacts []listed `json:"artifacts"`
	Cursor    string   `json:"cursor,omitempty"`
	Hidden    int      `json:"hidden,omitempty"`
}

var artifactList = tool[ListInput]{
	name: "artifact_list",
	description: "List what agents and sessions handed over in this repository, newest first. Use it before you start " +
		"and to find a ref.",
	reads: true,
	do: func(ctx context.Context, c *call, in ListInput) (answer, error) {
		f := in.filter()
		f.IncludeInactive, f.Since = in.All, in.Since
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
		text := lines(page.Artifacts)
		if page.Cursor != "" {
			text += "\nolder ones: cursor " + page.Cursor
		}
		return answer{data: shortPage(page), text: text}, nil
	},
}

func shortPage(page handoff.ArtifactPage) listData {
	data := listData{Artifacts: make([]listed, len(page.Artifacts)), Cursor: page.Cursor, Hidden: page.HiddenCount}
	for i, a := range page.Artifacts {
		data.Artifacts[i] = newListed(a)
	}
	return data
}
