package thread

import (
	"context"
	"slices"
	"time"
)

// A Thread is one conversation. Its head is known as soon as it is found; its
// Facts once it has been read.
type Thread struct {
	Provider string `json:"provider"`
	ID       string `json:"sessionId"`
	Source   string `json:"threadSource"` // the absolute path of what it is read from

	Title      string    `json:"title,omitempty"`
	Cwd        string    `json:"cwd,omitempty"`
	Branch     string    `json:"branch,omitempty"`
	Commit     string    `json:"commit,omitempty"`
	Repository string    `json:"repository,omitempty"`
	Version    string    `json:"version,omitempty"` // of the tool that wrote it
	Started    time.Time `json:"startedAt,omitzero"`
	Updated    time.Time `json:"updatedAt,omitzero"` // when its newest file was written
	Archived   bool      `json:"archived,omitempty"`

	Parent     string `json:"parent,omitempty"`     // id of the thread whose subagent it is
	ForkedFrom string `json:"forkedFrom,omitempty"` // id of the thread whose history it began with
	AgentName  string `json:"agentName,omitempty"`
	AgentRole  string `json:"agentRole,omitempty"`

	Facts

	// Reader reads its messages. The provider that found the thread sets it.
	Reader Reader `json:"-"`

	loaded bool
	found  []string // warnings of before it was read
}

// Facts are what is known only after a whole transcript has been read.
type Facts struct {
	State     State     `json:"state,omitzero"`
	Usage     Usage     `json:"usage,omitzero"`
	Inherited Tokens    `json:"inherited,omitzero"`     // what a replayed history says its first thread spent; no part of Usage
	Messages  int       `json:"messageCount,omitempty"` // 0 also where messages were not asked for
	ToolCalls int       `json:"toolCalls,omitempty"`
	Last      time.Time `json:"lastRecordAt,omitzero"` // when its last record was written, if it says so
	Lines     int       `json:"lines,omitempty"`
	BadLines  int       `json:"badLines,omitempty"`
	Warnings  []string  `json:"warnings,omitempty"`
}

// A Detail says how much of a transcript a reader is asked to decode.
type Detail int

// The details, each with what comes before it.
const (
	Summary Detail = iota // no messages, Facts only
	Texts                 // messages with their text
	Tools                 // and their tool calls, and what the model thought
)

// A Reader reads one thread.
type Reader interface {
	// Read streams the messages in order to emit, which is nil with Summary, and
	// returns the facts of the whole transcript, even where emit stopped it. An
	// error is one of emit, of ctx, or of the machine; what is wrong with the
	// transcript is in Facts.Warnings. It may be called again.
	Read(ctx context.Context, detail Detail, emit func(Message) error) (Facts, error)
}

// Load reads t for its facts.
func (t *Thread) Load(ctx context.Context) error { return t.Read(ctx, Summary, nil) }

// Read streams the messages of t to emit and fills in its facts. What was warned
// about when t was found stays in front.
func (t *Thread) Read(ctx context.Context, detail Detail, emit func(Message) error) error {
	if !t.loaded {
		t.found = t.Warnings
	}
	facts, err := t.Reader.Read(ctx, detail, emit)
	if err != nil {
		return err
	}
	facts.Warnings = append(slices.Clone(t.found), facts.Warnings...)
	if t.loaded && detail == Summary {
		facts.Messages = t.Messages
	}
	t.Facts, t.loaded = facts, true
	return nil
}

// Loaded reports whether the Facts of t are known.
func (t *Thread) Loaded() bool { return t.loaded }

// URI returns the name of t.
func (t *Thread) URI() URI { return URI{Provider: t.Provider, Thread: t.ID} }

// A Role says whose a message is.
type Role string

// The roles. What a tool puts into the conversation on its own, instructions
// and context, is no message.
const (
	User       Role = "user"
	Assistant  Role = "assistant"
	Compaction Role = "compaction" // the tool replaced what came before by a summary
	Note       Role = "note"       // the tool says what happened to the conversation
)

// A Message is one entry of a thread's timeline.
type Message struct {
	N         int       `json:"n"` // its place from 1: what #M3 means; 0 holds calls before the first message, or more calls of the one before
	ID        string    `json:"id,omitempty"`
	Role      Role      `json:"role"`
	Text      string    `json:"text,omitempty"`
	Thinking  string    `json:"thinking,omitempty"` // what the model thought on the way; asked for with Tools, no part of Text
	Model     string    `json:"model,omitempty"`
	Time      time.Time `json:"time,omitzero"`
	Inherited bool      `json:"inherited,omitempty"` // copied from the thread this one was forked from
	Usage     *Tokens   `json:"usage,omitempty"`     // spent since the message before
	Tools     []Call    `json:"tools,omitempty"`     // made after it and before the next
}

// A Call is one use of a tool.
type Call struct {
	ID      string    `json:"id,omitempty"`
	Name    string    `json:"name"`
	Input   string    `json:"input,omitempty"`
	Output  string    `json:"output,omitempty"`
	Pending bool      `json:"pending,omitempty"` // no output is recorded
	Failed  bool      `json:"failed,omitempty"`  // where the tool says so itself
	Agent   string    `json:"agent,omitempty"`   // the subagent it is about
	Time    time.Time `json:"time,omitzero"`
}

// MaxCall is how many bytes of a call's input and output are kept each.
const MaxCall = 64 << 10

// Clip cuts s to MaxCall and says how much is missing.
func Clip(s string) string { return clip(s, MaxCall) }

// Brief cuts what is said in passing, and says how much is missing.
func Brief(s string) string { return clip(s, 200) }

// An Agent is a subagent of a thread.
type Agent struct {
	ID        string    `json:"agentId"`
	URI       URI       `json:"uri"`
	Aliases   []string  `json:"aliases,omitempty"` // other words that name it
	Name      string    `json:"name,omitempty"`
	Role      string    `json:"role,omitempty"`
	State     State     `json:"state"`
	Validated bool      `json:"validated"` // parent or child names the other
	Evidence  []string  `json:"evidence,omitempty"`
	Updated   time.Time `json:"updatedAt,omitzero"`
	Lifecycle []Event   `json:"lifecycle,omitempty"`
	Thread    *Thread   `json:"thread,omitempty"` // nil where it left no transcript
}

// An Event is something that a parent's transcript says about a subagent.
type Event struct {
	Time   time.Time `json:"time,omitzero"`
	Name   string    `json:"name"`
	Detail string    `json:"detail,omitempty"`
}

// answers reports whether word names a. Words that differ only in case name
// the same agent unless another fits exactly; the caller looks for that first.
func (a *Agent) answers(word string, same func(a, b string) bool) bool {
	if same(a.ID, word) {
		return true
	}
	for _, alias := range a.Aliases {
		if same(alias, word) {
			return true
		}
	}
	return false
}
