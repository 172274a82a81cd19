package opencode_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/opencode"
)

// TestSecond has a session of version 2 for each rule of its own. It has no title, so that
// no request is in no file.
func TestSecond(t *testing.T) {
	answer := answered("stop", said("yes"))
	twice := tokens(2, one)
	for name, tt := range map[string]struct {
		write    func(v *volume)
		want     thread.Tokens
		complete thread.Completeness
		reason   string
		status   thread.Status
	}{
		"the sums of a session have more requests than its messages": {
			func(v *volume) {
				v.session(newID, "", "", "A title", "2.0.12", 2)
				v.row("assistant", answer)
			}, twice, thread.Exact, "", thread.Completed,
		},
		"a title may be from version 1": {
			func(v *volume) {
				v.session(newID, "", "", "A title", "1.18.33", 1)
				v.row("assistant", answer)
			}, tokens(1, one), thread.LowerBound, "1 request, for the title, is in no file", thread.Completed,
		},
		"sums that are not kept do not have the title": {
			func(v *volume) {
				v.session(newID, "", "", "A title", "2.0.12", 0)
				v.row("assistant", answer)
			}, tokens(1, one), thread.LowerBound, "1 request, for the title, is in no file", thread.Completed,
		},
		"sums that are not kept": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 0)
				v.row("assistant", answer)
				v.row("compaction", obj{"status": "completed", "summary": "short"})
			}, tokens(1, one), thread.LowerBound, "the usage of 1 compactions is not recorded", thread.Completed,
		},
		"a refused request has no usage": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.row("assistant", obj{"content": []obj{}, "finish": "error", "error": obj{"type": "unknown", "message": "no"}})
			}, tokens(1, one), thread.Exact, "", thread.Errored,
		},
		"an interrupted request is a gap": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.row("assistant", obj{"content": []obj{said("I was")}})
				v.row("idle", obj{"outcome": "interrupted"})
			}, tokens(1, one), thread.LowerBound, "1 requests did not end", thread.Errored,
		},
		"a compaction is in progress": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.row("compaction", obj{"status": "running", "summary": "", "time": obj{"created": v.now}})
			}, tokens(1, one), thread.LowerBound, "the usage of 1 compactions", thread.Running,
		},
		"a type that is not known": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.row("assistant-v3", answer)
			}, tokens(1, one), thread.LowerBound, "1 records of types that this version does not know (assistant-v3)",
			thread.Completed,
		},
		"a session has costs that its messages do not have": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.exec("UPDATE session_v2 SET cost = 5.25")
			}, costing(tokens(1, one), 5), thread.Exact, "", thread.Completed,
		},
		"an end of another kind": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answered("cancelled", said("I was")))
			}, tokens(1, one), thread.Exact, "", thread.Errored,
		},
		"an end without an outcome": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.row("idle", obj{})
			}, tokens(1, one), thread.Exact, "", thread.Completed,
		},
		"messages that are older than their session": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 2)
				v.row("assistant", answer)
				v.row("assistant", answer)
				v.exec("UPDATE session_v2 SET time_created = ?", v.now-1)
			}, twice, thread.Exact, "", thread.Completed,
		},
		"a table with another time and column of sessions": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.exec("CREATE TABLE turn AS SELECT session_id AS sessionID, data, '2027-01-01T00:00:00Z' AS time FROM session_message")
			}, tokens(1, one), thread.LowerBound, "1 newer records are in a place that this version does not read (turn)",
			thread.Running,
		},
		"a table without a time": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.exec("CREATE TABLE turn AS SELECT session_id, data FROM session_message")
			}, tokens(1, one), thread.LowerBound, "1 newer records are in a place that this version does not read (turn)",
			thread.Running,
		},
		"a table that has no messages": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.exec("CREATE TABLE todo AS SELECT session_id, data, time_created + 9000 AS time_created FROM session_message")
				v.exec("CREATE TABLE label AS SELECT session_id, 'red' AS color FROM session_message")
			}, tokens(1, one), thread.Exact, "", thread.Completed,
		},
		"newer messages in a table that is not known": {
			func(v *volume) {
				v.session(newID, "", "", "", "2.0.12", 1)
				v.row("assistant", answer)
				v.exec("CREATE TABLE session_message_v3 AS SELECT id || 'x' AS id, session_id, data, time_created + 9000 AS " +
					"time_created FROM session_message")
			}, tokens(1, one), thread.LowerBound, "1 newer records are in a place that this version does not read " +
				"(session_message_v3)", thread.Running,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
				exec(schema2)
				tt.write(&volume{exec: exec, now: started})
			}, dir, "opencode.db")
			th := threadtest.Load(t, provider(t, dir), newID)
			threadtest.CheckUsage(t, th, tt.want, tt.complete, tt.reason)
			if th.State.Status != tt.status {
				t.Errorf("got %+v, want %s", th.State, tt.status)
			}
		})
	}
}

// costing returns tokens with further costs.
func costing(t thread.Tokens, more float64) thread.Tokens {
	t.Cost += more
	return t
}

// TestStrangeSessions has sessions that name each other as parents, one that names itself,
// and one whose ID can't be in a URI. They are not lost.
func TestStrangeSessions(t *testing.T) {
	dir := t.TempDir()
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema2)
		v := &volume{exec: exec, now: started}
		for _, s := range [][2]string{{"ses_a", "ses_b"}, {"ses_b", "ses_a"}, {"ses_c", "ses_c"}, {"ses_d", "ses_b"},
			{"ses_\x1b[31m", ""}} {
			v.session(s[0], s[1], "", "", "2.0.12", 1)
			v.row("user", obj{"text": "go"})
		}
	}, dir, "opencode.db")
	var listed []string
	var failed error
	p := provider(t, dir)
	for th, err := range p.Threads(t.Context()) {
		if failed = errors.Join(failed, err); err == nil {
			listed = append(listed, th.ID)
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, []string{"ses_a", "ses_c"}) || failed == nil ||
		!strings.Contains(failed.Error(), "1 threads have an invalid ID") {
		t.Errorf("got %q, %v", listed, failed)
	}
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, "ses_a"))
	if err != nil || len(agents) != 2 {
		t.Errorf("got subagents %+v, %v", agents, err)
	}
}

// TestFork checks that the messages that a fork copied are shown, and do not count.
func TestFork(t *testing.T) {
	dir := t.TempDir()
	second(t, dir, "opencode.db")
	th := threadtest.Load(t, provider(t, dir), newForkID)
	if th.ForkedFrom != newID || th.Inherited != tokens(1, one) || th.ToolCalls != 0 || len(th.Warnings) != 0 {
		t.Errorf("got a fork of %q, %+v", th.ForkedFrom, th.Facts)
	}
	var inherited []bool
	err := th.Read(t.Context(), thread.Texts, func(m thread.Message) error {
		inherited = append(inherited, m.Inherited)
		return nil
	})
	if got := fmt.Sprint(inherited); err != nil || got != "[true true false false]" {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestBackground checks that a subagent that goes on in the background has not ended.
func TestBackground(t *testing.T) {
	dir := t.TempDir()
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema2)
		v := &volume{exec: exec, now: started}
		v.session(newID, "", "", "", "2.0.12", 1)
		v.row("assistant", answered("stop", calls("subagent", "completed", "in the background",
			obj{"sessionID": newKidID, "status": "running"})))
	}, dir, "opencode.db")
	p := provider(t, dir)
	agents, err := p.Agents(t.Context(), threadtest.Load(t, p, newID))
	if err != nil || len(agents) != 1 || agents[0].State.Status != thread.Running {
		t.Errorf("got %+v, %v", agents, err)
	}
}

// TestSecondTurns reads generated sessions of version 2 after each change of their rows.
func TestSecondTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: opencode.Driver(), Asks: true, NoQuestions: true,
		Setup: func(exec func(string, ...any), _, id string) {
			exec(schema2)
			(&volume{exec: exec, now: started}).session(id, "", "", "", "2.0.12", 0)
		}, Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("ses_2b%08dffeTurns000000000", n)
			l.Path = ".local/share/opencode/opencode.db"
			return (&typist{log: l, volume: volume{exec: l.Exec, id: l.ID, now: started}}).record
		}})
}

// A typist records the steps of a thread of version 2, whose rows are replaced.
type typist struct {
	log     *threadtest.Log
	volume  volume
	message string // ID of the last message
	data    obj
	calls   []obj
}

func (r *typist) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		r.volume.row("user", obj{"text": step.Text, "time": obj{"created": r.volume.now + 1000}})
	case threadtest.Work:
		r.answer(said(step.Text))
		r.log.Before()
		r.calls = nil
		for _, u := range step.Calls {
			r.calls = append(r.calls, typed(u, "running", ""))
		}
		r.change(r.content(step.Text))
	case threadtest.Result:
		u := step.Calls[0]
		for i, c := range r.calls {
			if c["id"] == u.ID {
				r.calls[i] = typed(u, map[bool]string{true: "error", false: "completed"}[step.Failed], step.Text)
			}
		}
		r.data["content"] = append(r.data["content"].([]obj)[:1:1], r.calls...)
		if !step.Last {
			r.change(obj{})
			return
		}
		r.end(obj{"finish": "tool-calls", "tokens": counts(one)})
	case threadtest.Answer:
		r.answer(said(step.Text))
		r.log.Before()
		r.end(obj{"finish": "stop", "tokens": counts(one)})
	case threadtest.Failure:
		r.answer()
		r.log.Before()
		r.end(obj{"finish": "error", "error": obj{"type": "provider.error", "message": "overloaded"}})
	case threadtest.Interrupt:
		r.interrupt(step)
	case threadtest.Compaction:
		r.compact(step)
	}
}

// answer adds an answer that has not ended.
func (r *typist) answer(content ...obj) {
	r.data = answered("", content...)
	delete(r.data, "tokens")
	r.data["time"] = obj{"created": r.volume.now + 1000}
	r.message = r.volume.row("assistant", r.data)
}

func (r *typist) content(words string) obj {
	return obj{"content": append([]obj{said(words)}, r.calls...)}
}

// change replaces the last message.
func (r *typist) change(more obj) {
	maps.Copy(r.data, more)
	r.log.Exec("UPDATE session_message SET data = ? WHERE id = ?", text(r.data), r.message)
}

// end replaces the last message, which has ended.
func (r *typist) end(more obj) {
	more["time"] = obj{"created": r.volume.now, "completed": r.volume.now + 500}
	r.change(more)
}

func typed(u threadtest.Use, status, output string) obj {
	tool := "shell"
	if u.Asks {
		tool = "question"
	}
	c := calls(tool, status, output, nil)
	c["id"] = u.ID
	return c
}

// interrupt writes the open calls with the end of the answer.
func (r *typist) interrupt(step threadtest.Step) {
	if len(step.Open) == 0 {
		r.answer(said(step.Text))
		r.log.Before()
	}
	for i, c := range r.calls {
		if state := c["state"].(obj); state["status"] == "running" && len(step.Open) > 0 {
			state["status"], r.calls[i] = "error", c
		}
	}
	if len(step.Open) > 0 {
		r.data["content"] = append(r.data["content"].([]obj)[:1:1], r.calls...)
	}
	r.end(obj{"finish": "error", "error": obj{"type": "aborted", "message": "Step interrupted"}})
}

// compact writes a compaction while it goes on, and its end.
func (r *typist) compact(step threadtest.Step) {
	data := obj{"status": "running", "reason": "auto", "summary": "", "time": obj{"created": r.volume.now + 1000}}
	id := r.volume.row("compaction", data)
	r.log.Shows(thread.Running)
	data["status"], data["summary"] = "completed", step.Text
	r.log.Exec("UPDATE session_message SET data = ? WHERE id = ?", text(data), id)
}

// FuzzTyped reads any bytes as the data of a message of version 2.
func FuzzTyped(f *testing.F) {
	f.Add("assistant", []byte(text(answered("stop", calls("subagent", "completed", "x", obj{"sessionID": newKidID})))))
	f.Add("user", []byte(`{"text":"x","files":[{"name":"y"}]}`))
	f.Add("shell", []byte(`{"command":"\ud800","exit":1e300,"output":[]}`))
	f.Add("compaction", []byte(`{"status":"running","tokens":{"input":-1,"cache":7}}`))
	f.Add("idle", []byte(`{"outcome":{}`))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		dir := t.TempDir()
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema2)
			v := &volume{exec: exec, now: started}
			v.session(parentID, "", "", kind, "2.0.12", 1)
			for i := range 2 {
				exec("INSERT INTO session_message VALUES (?,?,?,?,?,?,?)", i, parentID, kind, i, data, data, data)
			}
		}, dir, "opencode.db")
		readAll(t, dir)
	})
}

// TestCopiedFork reads the copy of a fork without the thread that it was forked from.
func TestCopiedFork(t *testing.T) {
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "opencode.db")
	second(t, dir, "opencode.db")
	th := threadtest.Load(t, provider(t, dir), newForkID)
	keep := func(_ int, v any) any { return v }
	if err := th.Reader.(thread.Extractor).Extract(t.Context(), to, keep); err != nil {
		t.Fatal(err)
	}
	copied := threadtest.Load(t, provider(t, to), newForkID)
	if copied.Usage.Tokens != th.Usage.Tokens || copied.Inherited != th.Inherited || copied.Messages != th.Messages {
		t.Errorf("got %+v, want %+v", copied.Facts, th.Facts)
	}
	if b, err := os.ReadFile(to); err != nil || strings.Contains(string(b), "It was long.") {
		t.Errorf("the copy has messages of another thread: %v", err)
	}
}

// TestFrozen has a session that one version left and another one continued, in two
// databases or in two tables. The continued one counts.
func TestFrozen(t *testing.T) {
	for name, databases := range map[string][2]string{
		"release": {"opencode-next.db", "opencode.db"}, "channel": {"opencode.db", "opencode-next.db"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for i, database := range databases {
				threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
					exec(schema2)
					v := &volume{exec: exec, now: started}
					v.session(newID, "", "", "", "2.0.12", 1+i)
					for range 1 + i {
						v.row("assistant", answered("stop", said("yes")))
					}
					exec("UPDATE session_v2 SET time_updated = ?", v.now)
				}, dir, database)
			}
			p := provider(t, dir)
			th := threadtest.Load(t, p, newID)
			if filepath.Base(th.Source) != databases[1] || th.Usage.Tokens != tokens(2, one) || len(th.Warnings) != 1 {
				t.Errorf("got %s, %+v, %q", th.Source, th.Usage, th.Warnings)
			}
			for th, err := range p.Threads(t.Context()) {
				if err != nil || filepath.Base(th.Source) != databases[1] {
					t.Errorf("got %+v, %v", th, err)
				}
			}
		})
	}
}

// TestDiverged has a session with an answer that only the older database has.
func TestDiverged(t *testing.T) {
	dir := t.TempDir()
	for i, database := range []string{"opencode.db", "opencode-next.db"} {
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema2)
			v := &volume{exec: exec, now: started}
			v.session(newID, "", "", "", "2.0.12", 1)
			v.row("user", obj{"text": "go"})
			v.seq += i
			v.row("assistant", answered("stop", said("yes")))
			exec("UPDATE session_v2 SET time_updated = ?", v.now+int64(i))
		}, dir, database)
	}
	threadtest.CheckUsage(t, threadtest.Load(t, provider(t, dir), newID), tokens(1, one), thread.LowerBound,
		"1 answers are only in another database")
}

// TestImported has an answer that version 1 left, and that version 2 completed.
func TestImported(t *testing.T) {
	for completed, want := range map[bool]thread.Tokens{true: tokens(1, one), false: {}} {
		dir := t.TempDir()
		threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
			exec(schema)
			exec(schema2)
			v := &volume{exec: exec, now: started}
			v.session(newID, "", "", "", "2.0.12", 0)
			answer := answered("stop", said("yes"))
			if !completed {
				answer["time"] = obj{"created": v.now}
			}
			id := v.row("assistant", answer)
			exec("INSERT INTO message VALUES (?,?,?,?,?)", id, newID, v.now, v.now,
				text(obj{"role": "assistant", "modelID": "model-1", "tokens": counts([5]int64{}), "time": obj{"created": v.now}}))
		}, dir, "opencode.db")
		if th := threadtest.Load(t, provider(t, dir), newID); th.Usage.Tokens != want {
			t.Errorf("completed %v: got %+v, want %+v", completed, th.Usage, want)
		}
	}
}

// TestSessionTable has sessions of version 2 in the table of version 1, without its messages.
func TestSessionTable(t *testing.T) {
	dir := t.TempDir()
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema2)
		v := &volume{exec: exec, now: started}
		v.session(newID, "", "", "", "2.0.12", 1)
		v.row("assistant", answered("stop", said("yes")))
		exec("ALTER TABLE session_v2 RENAME TO session")
	}, dir, "opencode.db")
	threadtest.CheckUsage(t, threadtest.Load(t, provider(t, dir), newID), tokens(1, one), thread.Exact, "")
}

// TestUnknownSessions has sessions of a version that is not known beside one of version 1.
func TestUnknownSessions(t *testing.T) {
	dir := t.TempDir()
	threadtest.WriteDatabase(t, func(exec func(string, ...any)) {
		exec(schema)
		exec(schema2)
		v := &volume{exec: exec, now: started}
		v.upgraded()
		v.session(newID, "", "", "", "3.0.0", 1)
		exec("ALTER TABLE session_v2 RENAME TO session_v3")
	}, dir, "opencode.db")
	p, listed := provider(t, dir), 0
	var failed error
	for th, err := range p.Threads(t.Context()) {
		if failed = errors.Join(failed, err); err == nil && th.ID == upgradedID {
			listed++
		}
	}
	const reason = "1 threads are in table session_v3"
	if listed != 1 || !errors.Is(failed, handoff.Unsupported) || !strings.Contains(failed.Error(), reason) {
		t.Errorf("got %d threads, %v", listed, failed)
	}
	if th := threadtest.Load(t, p, upgradedID); th.Usage.Completeness != thread.Exact || len(th.Warnings) != 1 {
		t.Errorf("got %+v, %q", th.Usage, th.Warnings)
	}
	if _, err := p.Thread(t.Context(), newID); !errors.Is(err, handoff.Unsupported) {
		t.Errorf("got %v, want unsupported", err)
	}
}
