package mcp

import (
	"context"
	"strings"

	"github.com/agent-handoff/handoff/workspace"
)

// A SearchInput has the arguments of artifact_search.
type SearchInput struct {
	Common
	Query string `json:"query" jsonschema:"words; a trailing * matches any ending"`
	All   bool   `json:"all,omitempty" jsonschema:"superseded ones too"`
	Limit int    `json:"limit,omitempty" jsonschema:"default 20"`
}

type searchData struct {
	Matches []matchData `json:"matches"`
	More    bool        `json:"more"`
}

type matchData struct {
	Artifact row           `json:"artifact"`
	Snippets []snippetData `json:"snippets"`
}

// A snippetData is the first place where a query was found.
type snippetData struct {
	Field string `json:"field"`
	Text  string `json:"text"`
}

var artifactSearch = tool[SearchInput]{
	name:        "artifact_search",
	description: "Search titles, summaries and text of artifacts, not the source tree.",
	reads:       true,
	output: []output{{searchData{}, []string{"matches.artifact.id", "matches.artifact.channel", "matches.artifact.path",
		"matches.artifact.file", "matches.artifact.notices.code", "matches.snippets.text", "more"}}},
	do: func(ctx context.Context, c *call, in SearchInput) (answer, error) {
		if in.Limit == 0 {
			in.Limit = defaultLimit
		}
		found, err := c.Search(ctx, workspace.SearchOptions{Text: in.Query, In: []string{workspace.InArtifacts},
			IncludeInactive: in.All, Limit: in.Limit})
		if err != nil {
			return answer{}, err
		}
		data, text := searchData{Matches: make([]matchData, len(found.Matches)), More: found.More}, []string{}
		for i, m := range found.Matches {
			data.Matches[i] = matchData{Artifact: newRow(c.Workspace, m.Artifact), Snippets: []snippetData{}}
			entry := line(c.Workspace, m.Artifact)
			if len(m.Snippets) > 0 {
				first := m.Snippets[0]
				data.Matches[i].Snippets = []snippetData{{first.Field, first.Text}}
				entry += "\n  " + quoted(first.Text)
			}
			text = append(text, entry)
		}
		if len(text) == 0 {
			text = append(text, "nothing found")
		}
		return answer{data: data, text: strings.Join(text, "\n")}, nil
	},
}
