package logtest

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// SessionTime is how long each session of Sessions takes: a record every 12 seconds.
const SessionTime = 144 * time.Second

// Sessions yields the records of sessions one after the other, with ten artifacts each. Some
// artifacts replace others or were made from them; the last 20 sessions are open.
func Sessions(t testing.TB, start time.Time, sessions int) iter.Seq[handoff.Record] {
	return func(yield func(handoff.Record) bool) {
		random := rand.NewChaCha8([32]byte{5})
		at := start
		isEnough := false
		add := func(id, agent string, f handoff.Fact) string {
			at = at.Add(SessionTime / 12)
			r, err := handoff.NewRecord(at, random,
				handoff.Producer{Harness: "codex", Agent: agent, Session: id, WorkID: id, Source: handoff.FromFlag}, f)
			if err != nil {
				t.Fatal(err)
			}
			isEnough = isEnough || !yield(r)
			return r.ID
		}
		for i := 0; i < sessions && !isEnough; i++ {
			id, agent := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i), []string{"alex", "casey", "sam"}[i%3]
			add(id, agent, &handoff.SessionOpened{SessionID: id, Folder: "docs/agent-outputs/" + id, User: "pat",
				Agent:    handoff.SessionAgent{Name: agent},
				Workflow: handoff.SessionWorkflow{Name: fmt.Sprintf("intake-%d", i%40)}})
			var ids []string
			for j := 0; j < 10 && !isEnough; j++ {
				ids = append(ids, add(id, agent, sessionArtifact(id, j, ids)))
			}
			if i < sessions-20 && !isEnough {
				add(id, agent, &handoff.SessionClosed{SessionID: id, Status: "completed"})
			}
		}
	}
}

// sessionArtifact is the nth artifact of a session, after others.
func sessionArtifact(session string, n int, before []string) handoff.Fact {
	size := int64(1000)
	p := &handoff.ArtifactPublished{Channel: []string{"analysis", "design", "patch", "verification"}[n%4],
		Kind: "document", Path: fmt.Sprintf("docs/agent-outputs/%s/%d.md", session, n), TargetType: "file",
		Title: "An analysis of what is asked for", Summary: strings.Repeat("word ", 20), MediaType: "text/markdown",
		SizeBytes: &size}
	if n%4 == 3 {
		p.Replaces = before[n-3 : n-2]
	}
	if n%2 == 1 {
		p.Parents = before[n-1:]
	}
	return p
}
