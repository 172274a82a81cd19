package report

import (
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
)

func TestEvent(t *testing.T) {
	art := handoff.Artifact{ArtifactPublished: handoff.ArtifactPublished{Path: "a b.md", Channel: "design"}}
	art.File = "/work/a b.md"
	art.ID, art.Producer.Agent, art.Producer.TaskID = "art_1", `say "hi"`, "t=1"
	if got, want := Event(&cli.App{Dir: "/work"}, art),
		`artifact:publish  "a b.md"  channel=design task="t=1" agent="say \"hi\"" id=art_1`; got != want {
		t.Errorf("Event = %s, want %s", got, want)
	}
}
