package thread

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Thread is one exchange of messages with an agent program. Its own fields are set
// when it is found, its Facts when it has been read.
type Thread struct {
	Provider string `json:"provider"`
	ID       string `json:"sessionId"`
	Source   string `json:"threadSource"` // absolute path of the transcript

	Title      string    `json:"title,omitempty"`
	Cwd        string    `json:"cwd,omitempty"`
	Branch     string    `json:"branch,omitempty"`
	Commit     string    `json:"commit,omitempty"`
	Repository string    `json:"repository,omitempty"`
	Version    string    `json:"version,omitempty"` // of the tool that wrote the transcript
	Started    time.Time `json:"startedAt,omitzero"`
	Modified   time.Time `json:"modifiedAt,omitzero"` // when the transcript was last written
	Archived   bool      `json:"archived,omitempty"`
	KeptAt     time.Time `json:"keptAt,omitzero"` // when this copy was made, of a transcript that was removed

	Unverified string `json:"unverified,omitempty"` // Driver.Unverified, set by Set.Open

	Parent     string `json:"parent,omitempty"`     // ID of the parent thread of a subagent
	ForkedFrom string `json:"forkedFrom,omitempty"` // ID of the thread whose history it starts with
	AgentName  string `json:"agentName,omitempty"`
	AgentRole  string `json:"agentRole,omitempty"`

	// Described reports whether AgentName describes the task of a subagent that its
	// program gave no name: hooks and shells of the program know only its role.
	Described bool `json:"agentDescribed,omitempty"`

	Subagent bool   `json:"-"` // with or without a known parent; set by Stored.Open
	Family   string `json:"-"` // threads of one family may have copies of each other's records; set by Stored.Open

	Facts

	// Reader reads the transcript. The provider sets it.
	Reader Reader `json:"-"`

	loaded   bool
	found    []string // warnings from before the first read
	recorded State    // as the transcript shows it, before an observer concluded State
	observer Observer
	agentsAt time.Time // when the last of its subagents was seen
}

// Facts are what is known after the complete transcript has been read.
type Facts struct {
	State     State     `json:"state,omitzero"`
	Usage     Usage     `json:"usage,omitzero"`
	Inherited Tokens    `json:"inherited,omitzero"`     // usage in a copied history; not part of Usage
	Messages  int       `json:"messageCount,omitempty"` // 0 if messages were not read
	ToolCalls int       `json:"toolCalls,omitempty"`
	Last      time.Time `json:"updatedAt,omitzero"` // time of the last record, if one has a time
	Lines     int       `json:"lines,omitempty"`
	BadLines  int       `json:"badLines,omitempty"`
	ShellID   string    `json:"shellId,omitempty"` // of a subagent: ID in the environment of its shells, if it has another one
	Undated   bool      `json:"undated,omitempty"` // the last record has no time, so Last is that of an earlier one
	Partial   bool      `json:"partial,omitempty"` // the end of the transcript is missing or can't be read
	Warnings  []string  `json:"warnings,omitempty"`

	// Requests are the parts of Usage, in the order of the transcript.
	Requests []Request `json:"-"`

	// Unknown counts the records of types that this version does not know, by type.
	Unknown map[string]int `json:"-"`

	// Spawned are the IDs of the subagents that it started, for tools that keep and
	// remove the transcript of each on its own. Otherwise it is nil.
	Spawned []string `json:"-"`
}

// Warn adds a warning.
func (f *Facts) Warn(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}

// WarnUnknown adds a warning about a transcript that has records, of which none is
// known.
func (f *Facts) WarnUnknown() {
	if f.State.Status == PendingInit && !f.Partial {
		f.Warn("no record is known: another version of the tool, or another tool, wrote this transcript")
	}
}

// WarnFound adds a warning about how t was found, which a later read keeps.
func (t *Thread) WarnFound(warning string) {
	t.Warnings = append(t.Warnings, warning)
	if t.loaded {
		t.found = append(t.found, warning)
	}
}

// A Detail is how much of a transcript a Reader decodes.
type Detail int

// The details. Each includes the ones before it.
const (
	Summary Detail = iota // facts only, no messages
	Texts                 // messages with their text
	Tools                 // tool calls and thinking
)

// A Reader reads one thread.
type Reader interface {
	// Read passes the messages to emit in order and returns the facts of the
	// complete transcript. With Summary, emit is nil. The error is one of emit,
	// of ctx, or of reading the file; defects of the transcript are reported in
	// Facts.Warnings. Read may be called again.
	Read(ctx context.Context, detail Detail, emit func(Message) error) (Facts, error)
}

// Load reads t for its facts.
func (t *Thread) Load(ctx context.Context) error { return t.Read(ctx, Summary, nil) }

// Read passes the messages of t to emit in order and sets its facts. Warnings
// from finding t stay first.
func (t *Thread) Read(ctx context.Context, detail Detail, emit func(Message) error) error {
	return t.read(detail, func() (Facts, error) { return t.Reader.Read(ctx, detail, emit) })
}

// read sets the facts of t, which read returns.
func (t *Thread) read(detail Detail, read func() (Facts, error)) error {
	if !t.loaded {
		t.found = t.Warnings
	}
	facts, err := read()
	if err != nil {
		return err
	}
	facts.Warnings = append(slices.Clone(t.found), facts.Warnings...)
	if facts.Partial {
		facts.State = facts.State.Incomplete()
	}
	if t.loaded && detail == Summary {
		facts.Messages = t.Messages
	}
	t.Facts, t.loaded, t.recorded = facts, true, facts.State
	t.observe(t.observer, t.agentsAt)
	return nil
}

// Loaded reports whether the facts of t are set.
func (t *Thread) Loaded() bool { return t.loaded }

// URI returns the URI of t.
func (t *Thread) URI() URI { return URI{Provider: t.Provider, Thread: t.ID} }

// HasRole reports whether t is a subagent with this role or name.
func (t *Thread) HasRole(role string) bool {
	role = strings.ToLower(role)
	return t.IsAgent() && (strings.ToLower(t.AgentRole) == role || strings.ToLower(t.AgentName) == role)
}

// ProducerAgent returns the name of a subagent in the producer of records: the one that its
// program gave it, otherwise its role.
func (t *Thread) ProducerAgent() string { return producerAgent(t.AgentName, t.AgentRole, t.Described) }

// ProducerAgent returns the name of a subagent in the producer of records, as that of Thread.
func (a *Agent) ProducerAgent() string { return producerAgent(a.Name, a.Role, a.Described) }

func producerAgent(name, role string, described bool) string {
	if described {
		return cmp.Or(role, name)
	}
	return cmp.Or(name, role)
}

// IsAgent reports whether t is a subagent.
func (t *Thread) IsAgent() bool { return t.Subagent || t.Parent != "" }

// A Role is the author of a message.
type Role string

// The roles. Instructions and context that a tool adds to a thread on its
// own are not messages.
const (
	User       Role = "user"
	Assistant  Role = "assistant"
	Compaction Role = "compaction" // the tool replaced the history by a summary
	Note       Role = "note"       // the tool reports an event in the thread
)

// A Message is one entry of a thread's timeline.
type Message struct {
	N         int       `json:"n"` // counted from 1, as in #M3; 0 for calls without a message of their own
	ID        string    `json:"id,omitempty"`
	Role      Role      `json:"role"`
	Text      string    `json:"text,omitempty"`
	Thinking  string    `json:"thinking,omitempty"` // the model's reasoning; set with Tools, not part of Text
	Model     string    `json:"model,omitempty"`
	Time      time.Time `json:"createdAt,omitzero"`
	Inherited bool      `json:"inherited,omitempty"` // copied from the thread this one was forked from
	Usage     *Tokens   `json:"usage,omitempty"`     // tokens used since the previous message
	Tools     []Call    `json:"tools,omitempty"`     // calls between this message and the next
}

// A Call is one use of a tool.
type Call struct {
	ID      string `json:"id,omitempty"`
	Name    string `json:"name"`
	Input   string `json:"input,omitempty"`
	Output  string `json:"output,omitempty"`
	Pending bool   `json:"pending,omitempty"`    // no output is recorded, or no status that is known
	Failed  bool   `json:"failed,omitempty"`     // as recorded by the tool
	Exit    *int   `json:"exitStatus,omitempty"` // of a command, if the tool records it beside the output
	Agent   string `json:"agent,omitempty"`      // ID of the subagent it started or addressed
	Within  string `json:"within,omitempty"`     // ID of the call that made it, such as of a script

	// Inferred is set if no record shows whether the call was made, or if it is only known from
	// the text of a script, which does not show all of its input.
	Inferred bool `json:"inferred,omitempty"`

	Dir  string    `json:"cwd,omitempty"` // of a command, if the tool records it
	Time time.Time `json:"createdAt,omitzero"`

	digest string    // of the output, if Output is only a part of it
	ended  time.Time // zero if the transcript does not have it
}

// Done reports whether c is recorded as done. Otherwise it changed no file, as far as that
// is known.
func (c Call) Done() bool { return !c.Pending && !c.Failed }

// HasResult reports whether the result of c is recorded. One that only the text of a script
// shows has none: nothing of what the script printed is its own.
func (c Call) HasResult() bool {
	own := c.Within == "" || c.Failed || c.Exit != nil || c.Output != ""
	return own && !c.Pending && !c.Inferred
}

// End notes when the output of c was recorded.
func (c *Call) End(at time.Time) { c.ended = at }

// Took returns the time from the call to its output, 0 if the transcript does not have both.
func (c *Call) Took() time.Duration {
	if c.Time.IsZero() || c.ended.Before(c.Time) {
		return 0
	}
	return c.ended.Sub(c.Time)
}

// SetOutput sets the output of c to s, or to the beginning of s if it is longer than
// MaxCall.
func (c *Call) SetOutput(s string) {
	if c.Output = Clip(s); len(s) > MaxCall {
		c.digest = sum(s)
	}
}

// OutputDigest returns the SHA-256 of the output, in hexadecimal. It is that of the
// complete output if the provider uses SetOutput, otherwise that of Output.
func (c *Call) OutputDigest() string { return cmp.Or(c.digest, sum(c.Output)) }

func sum(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// MaxCall is the maximum number of bytes kept of a call's input, and of its
// output.
const MaxCall = 64 << 10

// Clip shortens s to MaxCall bytes and appends how many were removed.
func Clip(s string) string { return clip(s, MaxCall) }

// Brief shortens s for a status line and appends how many bytes were removed.
func Brief(s string) string { return clip(s, 200) }

// clip shortens s to n bytes, at a character boundary, and appends how many were
// removed.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	cut := strings.ToValidUTF8(s[:n], "")
	return fmt.Sprintf("%s… (%d more bytes)", cut, len(s)-len(cut))
}

// An Agent is a subagent of a thread.
type Agent struct {
	ID        string    `json:"agentId"`
	URI       URI       `json:"uri"`
	Aliases   []string  `json:"aliases,omitempty"` // other names that a URI may use
	Name      string    `json:"name,omitempty"`
	Role      string    `json:"role,omitempty"`
	Described bool      `json:"described,omitempty"` // Name describes its task, as in Thread
	State     State     `json:"state"`
	Validated bool      `json:"validated"` // the parent's or the child's transcript names the other
	Evidence  []string  `json:"evidence,omitempty"`
	Conflicts []string  `json:"conflicts,omitempty"` // what contradicts the relation, which is then not validated
	Updated   time.Time `json:"updatedAt,omitzero"`
	Lifecycle []Event   `json:"lifecycle,omitempty"`
	Thread    *Thread   `json:"thread,omitempty"` // nil if there is no transcript
}

// An Event is a record about a subagent in its parent's transcript.
type Event struct {
	Time   time.Time `json:"createdAt,omitzero"`
	Name   string    `json:"name"`
	Detail string    `json:"detail,omitempty"`
}

// named reports whether name is the ID or an alias of a, as compared by same.
func (a *Agent) named(name string, same func(a, b string) bool) bool {
	return same(a.ID, name) || slices.ContainsFunc(a.Aliases, func(alias string) bool { return same(alias, name) })
}
