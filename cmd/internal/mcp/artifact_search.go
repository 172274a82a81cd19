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

type foundData struct {
	listed
	Snippet string `json:"snippet,omitempty"`
}

type searchData struct {
	Matches []foundData `json:"matches"`
	More    bool        `json:"more,omitempty"`
}

var artifactSearch = tool[SearchInput]{
	name:        "artifact_search",
	description: "Search titles, summaries and text of artifacts, not the source tree.",
	reads:       true,
	required:    []string{"matches"},
	do: func(ctx context.Context, c *call, in SearchInput) (answer, error) {
		if in.Limit == 0 {
			in.Limit = defaultLimit
		}
		found, err := c.Search(ctx, workspace.SearchOptions{Text: in.Query, In: []string{workspace.InArtifacts},
			IncludeInactive: in.All, Limit: in.Limit})
		if err != nil {
			return answer{}, err
		}
		data, text := searchData{Matches: make([]foundData, len(found.Matches)), More: found.More}, []string{}
		for i, m := range found.Matches {
			a := m.Artifact
			data.Matches[i] = foundData{listed: newListed(a)}
			entry := line(a)
			if len(m.Snippets) > 0 {
				data.Matches[i].Snippet = m.Snippets[0].Text
				entry += "\n  " + quoted(m.Snippets[0].Text)
			}
			text = append(text, entry)
		}
		if len(text) == 0 {
			text = append(text, "nothing found")
		}
		return answer{data: data, text: strings.Join(text, "\n")}, nil
	},
}
