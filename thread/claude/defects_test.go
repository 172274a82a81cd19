package claude_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/claude"
)

// TestOpenAnswer checks the status of a thread whose last record is an answer
// without the reason of its end.
func TestOpenAnswer(t *testing.T) {
	said := func(agent, version string) *script {
		return start(mainID, agent, version, 0).user("go").say("m", "Let me look.", used(1, 0, 0, 0, 5), nil)
	}
	for name, tt := range map[string]struct {
		script *script
		id     string
		status thread.Status
		source thread.StatusSource
	}{
		"a version that records the end of turns":         {said("", "2.1.47"), mainID, thread.Running, thread.Child},
		"a version before its release":                    {said("", "2.1.330-beta.1"), mainID, thread.Running, thread.Child},
		"the first version that records the end of turns": {said("", "2.1.9"), mainID, thread.Running, thread.Child},
		"a version that records no end":                   {said("", "2.0.76"), mainID, thread.Completed, thread.Inferred},
		"a transcript of it that does": {
			said("", "2.0.76").system("turn_duration").user("go on").say("n", "Let me see.", used(1, 0, 0, 0, 5), nil), mainID,
			thread.Running, thread.Child},
		"no turns of subagents are recorded":           {said("one", "2.1.47"), "one", thread.Completed, thread.Inferred},
		"a version that records why each answer ended": {said("one", "2.1.76"), "one", thread.Running, thread.Child},
		"the end of the turn": {said("", "2.1.47").system("turn_duration"), mainID,
			thread.Completed, thread.Child},
		"an unknown version": {said("", ""), mainID, thread.Completed, thread.Inferred},
		"a version that gives the reason only sometimes": {
			start(mainID, "", "2.0.72", 0).user("go").say("m", "One.", used(1, 0, 0, 0, 5), "end_turn").user("on").say("n",
				"Two.", used(1, 0, 0, 0, 5), nil), mainID, thread.Completed, thread.Inferred},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			file := project + mainID + ".jsonl"
			if tt.id != mainID {
				file = project + mainID + "/subagents/agent-" + tt.id + ".jsonl"
			}
			put(t, home, ".claude", file, tt.script.String())
			if th := threadtest.Load(t, threadtest.Open(t, claude.Driver(), home), tt.id); th.State.Status != tt.status ||
				th.State.Source != tt.source {
				t.Errorf("got %+v, want %s from %s", th.State, tt.status, tt.source)
			}
		})
	}
}

// TestEventTimes checks that a status has the time of the result that contains it,
// not that of the call.
func TestEventTimes(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").
		call("m1", "t1", "Agent", obj{"description": "work", "prompt": "work"}, used(1, 0, 0, 0, 1)).
		result("t1", "Async agent launched successfully.",
			obj{"isAsync": true, "status": "async_launched", "agentId": "back1"}).
		call("m2", "t2", "TaskOutput", obj{"task_id": "back1"}, used(1, 0, 0, 0, 1)).
		user("hurry").
		result("t2", "done", obj{"task": obj{"task_id": "back1", "status": "completed"}}).String())
	p := threadtest.Open(t, claude.Driver(), home)
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, mainID))
	if err != nil || len(agents) != 1 || len(agents[0].Lifecycle) != 2 {
		t.Fatalf("got %+v, %v", agents, err)
	}
	if got := agents[0].Lifecycle[1]; !got.Time.Equal(agents[0].State.At) {
		t.Errorf("got %+v, want the time of the status, %s", got, agents[0].State.At)
	}
}

// TestRelation checks what proves that a transcript is of a subagent: it must be
// marked as a sidechain and have the ID of the session.
func TestRelation(t *testing.T) {
	child := func(change ...string) string {
		s := start(mainID, "one", "2.1.140", 0).user("explore").say("m", "Done.", used(1, 0, 0, 0, 5), "end_turn").String()
		return strings.NewReplacer(change...).Replace(s)
	}
	for name, tt := range map[string]struct {
		body      string
		validated bool
		id        string
		conflict  string
	}{
		"both":            {child(), true, "one", ""},
		"not a sidechain": {child(`"isSidechain":true`, `"isSidechain":false`), false, "one", "isSidechain is not true"},
		"another session": {child(mainID, flatID), false, "one", "sessionId in the agent's transcript is " + flatID},
		"no session": {child(`"sessionId":"`+mainID+`",`, ""), false, "one",
			"sessionId in the agent's transcript is missing"},
		"its own name":        {child(mainID, "agent-one"), false, "one", "sessionId in the agent's transcript is agent-one"},
		"another ID":          {child(`"agentId":"one"`, `"agentId":"zzz"`), true, "zzz", ""},
		"an ID with a prefix": {child(`"agentId":"one"`, `"agentId":"agent-zzz"`), true, "zzz", ""},
		"an empty transcript": {"", false, "one", ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").String())
			put(t, home, ".claude", project+mainID+"/subagents/agent-one.jsonl", tt.body)
			set := thread.NewSet([]thread.Driver{claude.Driver()}, func(string) string { return "" }, home)
			for _, name := range []string{tt.id, "one", "agent-one"} {
				v, err := set.Open(t.Context(), thread.URI{Provider: "claude", Thread: mainID, Agent: name})
				if err != nil || v.Agent.ID != tt.id || v.Agent.Thread == nil || v.Agent.Validated != tt.validated {
					t.Fatalf("%s: got %+v, %v, want %s, validated %v", name, v.Agent, err, tt.id, tt.validated)
				}
				if c := strings.Join(v.Agent.Conflicts, "; "); !strings.Contains(c, tt.conflict) || tt.conflict == "" != (c == "") {
					t.Errorf("%s: got conflicts %q, want %q", name, c, tt.conflict)
				}
			}
		})
	}
}

// TestContinuedResult lists a subagent whose call is in the transcript that this
// one continues.
func TestContinuedResult(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".claude", project+mainID+".jsonl",
		start(mainID, "", "2.1.140", 0).result("t", "found it", obj{"status": "completed", "agentId": "one"}).
			say("m", "Done.", used(1, 0, 0, 0, 5), "end_turn").String())
	p := threadtest.Open(t, claude.Driver(), home)
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, mainID))
	if err != nil || len(agents) != 1 || agents[0].ID != "one" || agents[0].State.Status != thread.Completed ||
		agents[0].State.Source != thread.Parent || !agents[0].Validated {
		t.Errorf("got %+v, %v, want one that is completed", agents, err)
	}
}

// TestModels lists the models of all answers, also of those without usage.
func TestModels(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".claude", project+mainID+".jsonl", start(mainID, "", "2.1.140", 0).user("go").
		add("assistant", obj{"message": obj{"id": "m", "role": "assistant", "model": "silent", "content": "x"}}).
		add("assistant", obj{"message": obj{"id": "n", "role": "assistant", "content": "x", "usage": used(1, 0, 0, 0, 5)}}).
		String())
	var names []string
	for _, m := range threadtest.Load(t, threadtest.Open(t, claude.Driver(), home), mainID).Usage.Models {
		names = append(names, m.Model)
	}
	if !slices.Equal(names, []string{"silent", thread.UnknownModel}) {
		t.Errorf("got models %q", names)
	}
}
