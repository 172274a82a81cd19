package cursor_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/cursor"
)

// TestTurns truncates generated transcripts at every record. Every other one is of a
// version that records results and the end of turns, and every third one is that of a
// subagent.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: cursor.Driver(), NoEnd: true,
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n+100)
			l.Path = ".cursor/projects/home-u-project/agent-transcripts/" + l.ID + ".jsonl"
			if n%3 == 2 {
				l.Path = ".cursor/projects/home-u-project/agent-transcripts/" + doneID + "/subagents/" + l.ID + ".jsonl"
			}
			s := &recorder{log: l, ends: n%2 == 0}
			return s.record
		}})
}

// A recorder records the steps of a thread.
type recorder struct {
	log     *threadtest.Log
	ends    bool  // results and the end of turns are recorded
	results []obj // of the calls of the last answer, which are one record
}

func (s *recorder) add(record string) {
	s.log.Lines = append(s.log.Lines, strings.TrimSpace(record))
}

func (s *recorder) end(status string) {
	if s.ends {
		s.add(encode(obj{"type": "turn_ended", "status": status}))
	}
}

func (s *recorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		s.results = nil
		s.add(line("user", text("<user_query>\n"+step.Text+"\n</user_query>")))
	case threadtest.Work:
		said := text(step.Text + "\n\n[REDACTED]")
		switch step.N % 3 {
		case 0:
			s.add(line("assistant", text("[REDACTED]")))
		case 1: // the calls are in the next record
			s.add(line("assistant", said))
			s.log.Shows(thread.Completed)
			said = text("[REDACTED]")
		}
		content := []obj{said}
		for range step.Calls {
			content = append(content, use("Shell"))
		}
		s.add(line("assistant", content...))
	case threadtest.Result:
		s.results = append(s.results, obj{"type": "tool_result", "content": step.Text, "is_error": step.Failed})
		if step.Last && s.ends {
			s.add(line("user", s.results...))
		}
		if step.Last {
			s.results = nil
		}
	case threadtest.Answer:
		s.add(line("assistant", text(step.Text)))
		s.end("success")
	case threadtest.Failure:
		s.end("error")
	case threadtest.Interrupt:
		s.end("aborted")
	}
}

// TestEditorTurns reads generated threads of the editor after each change of
// their rows. Every other one is of a version that records the status.
func TestEditorTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: cursor.Driver(), Asks: true, NoEnd: true,
		Setup: func(exec func(string, ...any), _, id string) {
			exec(schema)
			book{exec}.put("composerData:"+id, obj{"name": "A title", "status": "none", "fullConversationHeadersOnly": []obj{}})
		}, Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID, l.Path = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n+100), state
			return (&editorRecorder{log: l, book: book{l.Exec}, ends: n%2 == 0, calls: map[string]obj{}}).record
		}})
}

// An editorRecorder records the steps of a thread of the editor.
type editorRecorder struct {
	log     *threadtest.Log
	book    book
	ends    bool // the status is recorded
	headers []obj
	calls   map[string]obj // by ID
}

// status writes the metadata.
func (r *editorRecorder) status(status string) {
	if !r.ends {
		status = "none"
	}
	r.book.put("composerData:"+r.log.ID, obj{
		"name": "A title", "status": status, "fullConversationHeadersOnly": r.headers})
}

// message writes a message, and then the order of all.
func (r *editorRecorder) message(m obj) {
	m["bubbleId"] = fmt.Sprintf("b%03d", 999-len(r.headers))
	r.change(m)
	r.log.Before()
	r.headers = append(r.headers, obj{"bubbleId": m["bubbleId"], "type": m["type"]})
	r.status("generating")
}

func (r *editorRecorder) change(m obj) {
	r.book.put(fmt.Sprintf("bubbleId:%s:%s", r.log.ID, m["bubbleId"]), m)
}

func (r *editorRecorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		r.message(obj{"type": 1, "text": step.Text})
	case threadtest.Work:
		r.message(obj{"type": 2, "text": step.Text})
		if !r.ends {
			r.log.Shows(thread.Completed) // its calls are messages of their own
		}
		for i, u := range step.Calls {
			call := tool(u.ID, "read_file_v2", "loading", "")
			if u.Asks {
				call = tool(u.ID, "ask_question", "pending", "")
			}
			if i > 0 {
				r.log.Shows(thread.Running)
			}
			r.calls[u.ID] = call
			r.message(call)
		}
	case threadtest.Result:
		call := r.calls[step.Calls[0].ID]
		data := call["toolFormerData"].(obj)
		data["result"], data["status"] = step.Text, map[bool]string{true: "error", false: "completed"}[step.Failed]
		r.change(call)
	case threadtest.Answer:
		r.message(obj{"type": 2, "text": step.Text})
		if r.ends {
			r.log.Before()
			r.status("completed")
		}
	case threadtest.Failure, threadtest.Interrupt: // how versions without status record them is not known
		if r.ends {
			r.status("aborted")
		}
	}
}

// TestStoreTurns reads generated threads of the command line agent after each
// change of their rows.
func TestStoreTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: cursor.Driver(), NoEnd: true,
		Setup: func(exec func(string, ...any), _, _ string) {
			exec("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
			exec("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
			exec("INSERT INTO meta VALUES ('0', ?)", hex.EncodeToString([]byte(encode(obj{"name": "A title"}))))
		}, Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("019f0000-0000-7000-8000-%012d", n+100)
			l.Path = ".cursor/chats/0123/" + l.ID + "/store.db"
			return (&storeRecorder{log: l}).record
		}})
}

// A storeRecorder records the steps of a thread of the command line agent.
type storeRecorder struct {
	log      *threadtest.Log
	messages string // fields with the hashes of all messages
}

// blob writes a blob and returns a field with its hash.
func (r *storeRecorder) blob(data string) (field string) {
	hash := sha256.Sum256([]byte(data))
	r.log.Exec("INSERT OR IGNORE INTO blobs VALUES (?, ?)", hex.EncodeToString(hash[:]), []byte(data))
	r.log.Before()
	return "\x0a\x20" + string(hash[:])
}

// message writes a message, which has an ID, and then a state that refers to it.
func (r *storeRecorder) message(v obj) {
	v["id"] = fmt.Sprint("msg_", len(r.messages))
	r.messages += r.blob(encode(v))
	root := r.blob(r.messages + "\x10\x05")
	meta := encode(obj{"agentId": r.log.ID, "name": "A title", "latestRootBlobId": hex.EncodeToString([]byte(root[2:]))})
	r.log.Exec("UPDATE meta SET value = ?", hex.EncodeToString([]byte(meta)))
}

func (r *storeRecorder) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		r.message(obj{"role": "user", "content": []obj{text("<user_query>\n" + step.Text + "\n</user_query>")}})
	case threadtest.Work:
		content := []obj{text(step.Text)}
		for _, u := range step.Calls {
			content = append(content, obj{"type": "tool-call", "toolCallId": u.ID, "toolName": "Shell",
				"args": obj{"command": "ls"}})
		}
		r.message(obj{"role": "assistant", "content": content})
	case threadtest.Result:
		r.message(obj{"role": "tool", "content": []obj{
			{"type": "tool-result", "toolCallId": step.Calls[0].ID, "result": step.Text, "isError": step.Failed}}})
	case threadtest.Answer:
		r.message(obj{"role": "assistant", "content": []obj{text(step.Text)}})
	case threadtest.Failure, threadtest.Interrupt: // how they are recorded is not known
	}
}
