package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestStatusNeeds checks that the tool status has the rows of the resource of news that need
// a person, with calls that settle them, and that its text names a bounded number of them.
func TestStatusNeeds(t *testing.T) {
	f := newFixture(t)
	s := f.connect("test", nil)
	if got := mustCall(t, s, "status", `{}`).text; !strings.Contains(got, "nothing needs a person") {
		t.Errorf("of an empty workspace: got %q", got)
	}
	for i := range 25 {
		input := mustCall(t, s, "artifact_publish", fmt.Sprintf(`{"content":"a%d","channel":"design"}`, i)).str("id")
		mustCall(t, s, "artifact_publish",
			fmt.Sprintf(`{"content":"b%d","channel":"patch","title":"T%d","from":[%q]}`, i, i, input))
		mustCall(t, s, "artifact_publish", fmt.Sprintf(`{"content":"c%d","channel":"design","replaces":[%q]}`, i, input))
	}
	got := mustCall(t, s, "status", `{}`)
	read, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "handoff://news"})
	must(t, err)
	var news struct{ Needs []any }
	must(t, json.Unmarshal([]byte(read.Contents[0].Text), &news))
	if fmt.Sprint(got.data["needs"]) != fmt.Sprint(news.Needs) || len(news.Needs) != 25 {
		t.Errorf("got %v, want the %d needs %v", got.data["needs"], len(news.Needs), news.Needs)
	}
	need, _ := news.Needs[0].(map[string]any)
	if how, _ := need["settle"].(string); !strings.Contains(how, "artifact_get") {
		t.Errorf("the first is settled by %q, want a call of artifact_get", need["settle"])
	}
	if n := strings.Count(got.text, "needs a person: stale"); n != 20 ||
		!strings.Contains(got.text, "5 more need a person: read the resource handoff://news") {
		t.Errorf("the text has %d rows, want 20 and 5 more:\n%s", n, got.text)
	}
}
