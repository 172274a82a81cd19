package opencode_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
)

// The IDs of the threads that second writes.
const (
	newID      = "ses_2a00000000ffeNew00000000001"
	newKidID   = "ses_2a00000001ffeKid00000000002"
	newForkID  = "ses_2a00000002ffeFork0000000003"
	newOpenID  = "ses_2a00000003ffeOpen0000000004"
	upgradedID = "ses_2a00000004ffeUpgraded000005"
)

// schema2 are the tables that version 2 adds.
const schema2 = `
CREATE TABLE session_v2 (id TEXT PRIMARY KEY, project_id TEXT NOT NULL, parent_id TEXT, fork_session_id TEXT, fork_boundary TEXT, slug TEXT, directory TEXT NOT NULL, title TEXT,
	version TEXT NOT NULL, cost REAL DEFAULT 0 NOT NULL, tokens_input INTEGER DEFAULT 0 NOT NULL, tokens_output INTEGER DEFAULT 0 NOT NULL, tokens_reasoning INTEGER DEFAULT 0 NOT NULL,
	tokens_cache_read INTEGER DEFAULT 0 NOT NULL, tokens_cache_write INTEGER DEFAULT 0 NOT NULL, revert TEXT, agent TEXT, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, time_archived INTEGER);
CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, type TEXT NOT NULL, seq INTEGER NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);`

// A volume is the content of one session of version 2.
type volume struct {
	exec func(string, ...any)
	id   string
	seq  int
	now  int64
}

// session starts a session. Its sums are of n requests with the tokens of one.
func (v *volume) session(id, parent, fork, title, version string, n int) {
	v.id, v.seq = id, 0
	v.now += 1000
	v.exec("INSERT INTO session_v2 VALUES (?,'p',nullif(?,''),nullif(?,''),NULL,'slug','/home/u/project',?,?,?,?,?,?,?,?,NULL,"+
		"'build',?,?,NULL)", id, parent, fork, title, version, 0.25*float64(n), one[0]*int64(n), one[1]*int64(n),
		one[2]*int64(n), one[3]*int64(n), one[4]*int64(n), v.now, v.now)
}

// row adds a message and returns its ID.
func (v *volume) row(kind string, data obj) (id string) {
	v.seq += 3
	v.now += 1000
	id = fmt.Sprintf("msg_%s_%03d", v.id[4:], v.seq)
	v.exec("INSERT INTO session_message VALUES (?,?,?,?,?,?,?)", id, v.id, kind, v.seq, v.now, v.now, text(v.timed(data)))
	return id
}

// timed adds the times to a message, which ended unless it has a time.
func (v *volume) timed(data obj) obj {
	if data["time"] == nil {
		data["time"] = obj{"created": v.now, "completed": v.now + 500}
	}
	return data
}

// answered returns an answer with the tokens of one.
func answered(finish string, content ...obj) obj {
	if content == nil {
		content = []obj{}
	}
	return obj{"agent": "build", "model": obj{"id": "model-1", "providerID": "maker"}, "content": content,
		"finish": finish, "cost": 0.25, "tokens": counts(one)}
}

// calls returns a call of version 2.
func calls(tool, status, output string, about obj) obj {
	return obj{"type": "tool", "id": "call_" + tool, "name": tool,
		"time": obj{"created": started, "ran": started + 1, "completed": started + 2},
		"state": obj{"status": status, "input": obj{"agent": "general", "description": "do " + tool},
			"content": []obj{said(output)}, "structured": about}}
}

// second writes threads of version 2: one with a subagent and all types of messages, a fork
// of it, one that is at work, and one that was begun in version 1.
func second(t testing.TB, path ...string) []threadtest.Thread {
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		exec(schema2)
		v := &volume{exec: exec, now: started}
		v.session(newID, "", "", "A title", "2.0.12", 4) // three in messages, and its title
		v.row("user", obj{"text": "look", "files": []obj{{"name": "log.txt", "mime": "text/plain"}}})
		v.row("synthetic", obj{"text": "added by the tool"})
		v.row("model-switched", obj{"model": obj{"id": "model-1"}})
		v.row("assistant", answered("tool-calls", obj{"type": "reasoning", "text": "Hm."}, said("I ask."),
			calls("subagent", "completed", "found it", obj{"sessionID": newKidID}),
			calls("shell", "completed", "no such file", obj{"exit": 2})))
		v.row("shell", obj{"shellID": "sh_1", "command": "ls", "status": "exited", "exit": 0, "output": obj{"output": "a b"}})
		v.row("compaction", obj{"status": "completed", "summary": "It was long.", "tokens": counts(one), "cost": 0.25})
		v.row("assistant", answered("stop", said("Found.")))
		v.row("idle", obj{"outcome": "succeeded"})
		v.session(newKidID, newID, "", "do subagent", "2.0.12", 1)
		v.row("user", obj{"text": "explore"})
		v.row("assistant", answered("stop", said("found it")))
		v.fork(newForkID, newID, 12)
		v.row("user", obj{"text": "otherwise"})
		v.row("assistant", answered("stop", said("Done.")))
		v.session(newOpenID, "", "", "", "2.0.12", 1)
		v.row("user", obj{"text": "go"})
		open := answered("", calls("question", "running", "", nil))
		open["time"] = obj{"created": v.now + 1000}
		v.row("assistant", open)
		v.upgraded()
	}, path...)
	return secondThreads()
}

// fork starts a fork with the first rows of a session, up to a number.
func (v *volume) fork(id, from string, last int) {
	v.session(id, "", from, "A title (fork #1)", "2.0.12", 1)
	v.exec("INSERT INTO session_message SELECT 'msg_copied_' || seq, ?, type, seq, time_created, time_updated, data FROM "+
		"session_message WHERE session_id = ? AND seq <= ?", id, from, last)
	v.seq = last
}

// upgraded adds a session of version 1 that version 2 has imported and continued.
func (v *volume) upgraded() {
	v.session(upgradedID, "", "", untitled, "1.18.33", 1)
	v.exec("INSERT INTO session VALUES (?,'p',NULL,'slug','/home/u/project',?,'1.18.33','build',NULL,?,?,NULL,NULL)", v.id,
		untitled, v.now, v.now)
	for i, kind := range []string{"user", "assistant"} {
		id := v.row(kind, answered("stop", said("imported")))
		data := obj{"role": kind, "modelID": "model-1", "providerID": "maker", "finish": "stop", "tokens": counts(one),
			"cost": 0.25}
		v.exec("INSERT INTO message VALUES (?,?,?,?,?)", id, v.id, v.now, v.now, text(v.timed(data)))
		v.exec("INSERT INTO part VALUES (?,?,?,?,?,?)", fmt.Sprintf("prt_%d", i), id, v.id, v.now, v.now,
			text(said("version 1")))
	}
	v.row("system", obj{"text": "the tools have other names"})
	v.row("user", obj{"text": "version 2"})
	v.row("assistant", answered("stop", said("yes")))
}

func secondThreads() []threadtest.Thread {
	return []threadtest.Thread{
		{
			ID: newID, Status: thread.Completed, Source: thread.Child, Messages: []string{"user: look\n\n[log.txt]",
				"assistant: Hm.\n\nI ask.", "compaction: It was long.", "assistant: Found."},
			Calls: []string{"subagent: found it", "shell: no such file", "shell: a b"}, Usage: tokens(4, one),
			Complete: thread.Exact,
			Agents:   []threadtest.Agent{{ID: newKidID, Status: thread.Completed, Source: thread.Parent, Last: "found it"}},
		},
		{ID: newKidID, Parent: newID, Status: thread.Completed, Source: thread.Child,
			Messages: []string{"user: explore", "assistant: found it"}, Usage: tokens(1, one), Complete: thread.Exact},
		{
			ID: newForkID, Status: thread.Completed, Source: thread.Child, Messages: []string{"user: look\n\n[log.txt]",
				"assistant: Hm.\n\nI ask.", "user: otherwise", "assistant: Done."},
			Calls: []string{"subagent: found it", "shell: no such file"}, Usage: tokens(1, one), Complete: thread.Exact,
		},
		{ID: newOpenID, Status: thread.Running, Source: thread.Child, Messages: []string{"user: go"},
			Calls: []string{"question: "}, Usage: tokens(1, one), Complete: thread.Exact},
		{ID: upgradedID, Status: thread.Completed, Source: thread.Child, Messages: []string{"user: version 1",
			"assistant: version 1", "user: version 2", "assistant: yes"}, Usage: tokens(2, one), Complete: thread.Exact},
	}
}
