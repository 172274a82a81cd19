package news

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/transcript/converse"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
	"github.com/agent-handoff/handoff/workspace/store"
	"github.com/agent-handoff/handoff/workspace/threads"
)

// A Need is something that waits for a person until it is settled.
type Need struct {
	Kind   string         `json:"kind"` // artifact, session, thread, pipeline or log
	Ref    string         `json:"ref"`  // an ID, a URI or the name of a pipeline run; "" for the log
	Notice handoff.Notice `json:"notice"`
	Title  string         `json:"title,omitempty"`
	By     string         `json:"by,omitempty"`     // an agent, or else a program
	Next   string         `json:"next,omitempty"`   // the stage of a pipeline run that is next, if the gate of one failed
	At     time.Time      `json:"aroseAt,omitzero"` // when it arose, as far as that is known
	Dir    string         `json:"-"`                // of a thread
	Resume []string       `json:"-"`                // the command that resumes a thread that failed in Dir, nil for none
	Settle handoff.Hint   `json:"-"`
	How    string         `json:"settle,omitempty"` // Settle, as the surface that shows it words that

	part string           // of the log: tells its needs apart
	from handoff.Producer // of whose work it is a part
}

// String returns what a need is about and why, on one line.
func (n Need) String() string {
	text := n.Notice.Text
	if !strings.HasPrefix(text, n.Title) {
		text = n.Title + ": " + text
	}
	if n.Next != "" {
		text += ", next: " + n.Next
	}
	return text
}

// key tells a need apart from the others, and is the same while it is not settled.
func (n Need) key() string { return n.Ref + " " + string(n.Notice.Code) + " " + n.part }

// compareNeeds orders by severity, then by code, the newest first.
func compareNeeds(a, b Need) int {
	return cmp.Or(handoff.CompareNotices(a.Notice, b.Notice), b.At.Compare(a.At), strings.Compare(a.Ref, b.Ref))
}

// SessionDays and ThreadDays are how far back a report looks for sessions and for threads
// that need a person.
const (
	SessionDays = 30
	ThreadDays  = 7
)

// maxNeeds is how many artifacts of a kind are looked at for what needs a person, the newest
// first, and maxClaims how many that have claims: most of these need nobody.
const (
	maxNeeds  = 200
	maxClaims = 2000
)

// artifactNeeds adds the active artifacts with claims that failed, of which changes or a
// review were requested, that compete, or whose inputs were replaced.
func (s Source) artifactNeeds(ctx context.Context, r *Report, _ []found) error {
	var list, claimed []handoff.Artifact
	seen, commands := map[string]bool{}, map[string]bool{}
	for _, kind := range []struct {
		q    handoff.ArtifactQuery
		most int
		are  string
	}{
		{handoff.ArtifactQuery{Claimed: true}, maxClaims, "have claims or are attestations"},
		{handoff.ArtifactQuery{Discussed: true, Limit: maxNeeds + 1}, maxNeeds, "have comments or reviews"},
		{handoff.ArtifactQuery{Competing: true, Limit: maxNeeds + 1}, maxNeeds, "compete"},
		{handoff.ArtifactQuery{Stale: true, Limit: maxNeeds + 1}, maxNeeds, "have inputs that were replaced"},
	} {
		q, looked := kind.q, 0
		for a, err := range s.artifacts(ctx, q) {
			if err != nil {
				return err
			}
			if looked++; looked > kind.most && (!q.Claimed || a.CreatedAt.Before(r.Since)) {
				r.IsCut = true
				r.Warnings = append(r.Warnings, fmt.Sprintf(
					"more than %d artifacts %s: what needs you was looked for in the newest", kind.most, kind.are))
				break
			}
			if q.Claimed && !a.CreatedAt.Before(r.Since) && a.Status == handoff.Active && a.Claimed != nil {
				claimed = append(claimed, a)
			}
			if at := a.Attestation; at != nil { // the newest of a command counts, of this workspace
				command := fold.CommandOf(at)
				if a.Import != "" || commands[command] {
					continue
				}
				commands[command] = true
			}
			if n, ok := artifactNeed(a); ok && !seen[a.ID] {
				seen[a.ID] = true
				for _, other := range a.Competing { // a family has one row
					seen[other] = seen[other] || n.Notice.Code == handoff.NoticeCompeting
				}
				list = append(list, a)
			}
		}
	}
	s.by.Attribute(ctx, claimed...)
	for _, a := range claimed {
		r.judge(a)
	}
	s.by.Attribute(ctx, list...)
	for _, a := range list {
		n, _ := artifactNeed(a)
		r.Needs = append(r.Needs, n)
	}
	return nil
}

// artifactNeed returns the worst notice of an artifact that a person should settle.
func artifactNeed(a handoff.Artifact) (Need, bool) {
	by := a.PublishedBy()
	need := Need{Kind: "artifact", Ref: a.ID, Title: a.DisplayName(), By: maker(by), At: a.CreatedAt, from: by}
	for _, need.Notice = range a.Notices() {
		switch need.Notice.Code {
		case handoff.NoticeContradicted, handoff.NoticeAttestFailed:
			need.Settle = handoff.Suggest("see the claim and its evidence", handoff.ActionShow, a.ID)
		case handoff.NoticeChangesRequested:
			need.Settle = handoff.Suggest("see the comments, and publish a revision that resolves them",
				handoff.ActionShow, a.ID)
		case handoff.NoticeReviewAsked:
			need.Settle = handoff.Suggest("approve it, or request changes", handoff.ActionApprove, a.ID)
		case handoff.NoticeCompeting:
			need.Settle = handoff.Suggest("compare them, and accept one", handoff.ActionCompare, a.ID)
		case handoff.NoticeStale:
			need.Settle = handoff.Suggest("see what was replaced", handoff.ActionShow, a.ID)
		default:
			continue
		}
		return need, true
	}
	return need, false
}

// maker names who produced something: the agent, or the program.
func maker(p handoff.Producer) string {
	if p.Agent != "" {
		return p.Agent
	}
	return program(p.Thread, p.Harness)
}

// program returns the provider of a thread, or the program that a record names.
func program(uri, harness string) string {
	if u, err := thread.ParseURI(uri); err == nil {
		return u.Provider
	}
	if harness == "unknown" {
		return ""
	}
	return harness
}

// sessionNeeds adds the sessions that failed, left no output that they should leave, or
// show no activity, unless a later one with the same agent, workflow, title and parent
// completed and left all. One whose thread runs is active.
func (s Source) sessionNeeds(_ context.Context, r *Report, list []found) error {
	type attempt struct{ agent, workflow, parent, title string }
	succeeded := map[attempt]bool{}
	for _, f := range list {
		key := attempt{f.Agent.Name, f.Workflow.Name, f.Parent, f.Title}
		if len(f.Notices) == 0 {
			succeeded[key] = succeeded[key] || f.Status == session.Completed
			continue
		}
		isActive := slices.ContainsFunc(r.Running.Sessions, func(s trace.ActiveSession) bool {
			return s.ID == f.ID && s.Status == handoff.Running
		})
		if succeeded[key] || isActive || f.OpenedAt.Before(r.Until.AddDate(0, 0, -SessionDays)) {
			continue
		}
		at := f.ClosedAt
		if at.IsZero() {
			at = f.NewestAt
		}
		r.Needs = append(r.Needs, Need{Kind: "session", Ref: f.ID, Notice: f.Notices[0],
			Title: f.title(), By: f.by(), At: at,
			from:   handoff.Producer{Session: f.ID, Agent: f.Agent.Name, Harness: f.program, TaskID: f.Producer.TaskID},
			Settle: handoff.Suggest("see why, before you archive it", handoff.ActionShow, f.ID)})
	}
	return nil
}

// threadNeeds adds the threads that wait for a person, and those that failed or whose process
// ended in a turn, unless a later thread of the program in the same directory ended well, or another
// thread continues it. Those of sessions are left out, unless they wait.
func (s Source) threadNeeds(ctx context.Context, r *Report, list []found) error {
	for _, t := range r.Running.Threads {
		notices := t.State.Notices(t.URI)
		if t.State.Waiting == "" || len(notices) == 0 {
			continue
		}
		r.Needs = append(r.Needs, Need{Kind: "thread", Ref: t.URI, Title: t.Title, By: program(t.URI, ""), At: t.ActiveAt,
			Notice: notices[0], from: handoff.Producer{Session: t.Session, Harness: program(t.URI, "")},
			Settle: handoff.Suggest("read it", handoff.ActionThread, t.URI)})
	}
	page, err := s.o.Threads.List(ctx, threads.ListOptions{Since: r.Until.AddDate(0, 0, -ThreadDays).Format(time.RFC3339)})
	if err != nil {
		return err
	}
	later := map[string]bool{}
	for _, i := range page.Threads { // the last active first
		key := i.Provider + "\x00" + i.Cwd
		need := s.threadNeed(i, page.Threads)
		if need.Notice.Code == "" {
			later[key] = later[key] || i.State.Status == thread.Completed
			continue
		}
		uri := i.URI.String()
		inSession := slices.ContainsFunc(list, func(f found) bool { return slices.Contains(f.threads, uri) })
		if later[key] || inSession || len(i.ContinuedBy) > 0 {
			continue
		}
		r.Needs = append(r.Needs, need)
	}
	return nil
}

// threadNeed returns what a thread that has ended needs, without a notice if it needs nothing. A thread at
// its limit is continued in another program: that of the newest thread in list which takes a brief.
func (s Source) threadNeed(i transcript.Item, list []transcript.Item) Need {
	uri := i.URI.String()
	n := Need{Kind: "thread", Ref: uri, Title: i.Name(), By: i.Provider, At: i.Modified,
		Settle: handoff.Suggest("continue it", handoff.ActionContinue, uri)}
	for _, notice := range i.State.Notices(uri) {
		if notice.Code == handoff.NoticeSessionFailed || notice.Code == handoff.NoticeProcessGone {
			n.Notice = notice
		}
	}
	end := threads.EndOf(i.Thread)
	if !end.AtLimit {
		if !i.DirectoryGone { // otherwise its program can't be started there
			n.Dir, n.Resume = i.Cwd, s.o.Threads.Set().Resume(i.Thread)
		}
		return n
	}
	if n.Notice.Text = end.Text; end.Resets != "" {
		n.Notice.Text += ", resets " + end.Resets
	}
	for _, other := range list {
		if other.Provider != i.Provider && slices.Contains(converse.Starters(), other.Provider) {
			n.Settle = handoff.Suggest("continue it", handoff.ActionContinueIn, uri, other.Provider)
			break
		}
	}
	return n
}

// pipelineNeeds adds the pipeline runs in which the last attempt failed its gate, or a person
// acts next. One that can't be read is a warning.
func (s Source) pipelineNeeds(ctx context.Context, r *Report, _ []found) error {
	list, err := s.o.Pipelines.List(ctx)
	if err != nil {
		r.Warnings = append(r.Warnings, "the pipeline runs can't be read: "+err.Error())
		return ctx.Err()
	}
	r.Warnings = append(r.Warnings, list.Warnings...)
	for _, run := range list.Runs {
		need := Need{Kind: "pipeline", Ref: run.Name, Title: run.Stage, By: run.Agent,
			from:   handoff.Producer{Agent: run.Agent, TaskID: run.Issue},
			Settle: handoff.Suggest("see the next step", handoff.ActionNext, run.Issue)}
		switch {
		case run.Archived:
			continue
		case run.GateFailed != "":
			need.Notice = pipeline.GateFailed(run.GateFailed)
			need.Title, need.Next = run.GateFailed, run.Stage
		case run.Status == "paused":
			text := "a person acts next"
			if run.Stage != "" {
				text += ": " + run.Stage
			}
			need.Notice = handoff.NewNotice(handoff.NoticeWaitingForPerson, text)
		default:
			continue
		}
		r.Needs = append(r.Needs, need)
	}
	return nil
}

// queueNeeds adds the records that only this machine has.
func (s Source) queueNeeds(r *Report, status store.LogStatus) {
	need := Need{Kind: "log", Settle: handoff.Suggest("send them", handoff.ActionSend)}
	if n := len(status.Queued); n > 0 {
		need.At = status.Queued[0].CreatedAt
		need.Notice = handoff.NewNotice(handoff.NoticeQueued, fmt.Sprintf("%s only this machine has", records(n)))
		r.Needs = append(r.Needs, need)
	}
	if n := len(status.Refused); n > 0 {
		need.At, need.part = time.Time{}, "refused"
		need.Notice = handoff.NewNotice(handoff.NoticeQueued, fmt.Sprintf("%s the log refused", records(n)))
		r.Needs = append(r.Needs, need)
	}
}

func records(n int) string {
	if n == 1 {
		return "1 record that"
	}
	return fmt.Sprintf("%d records that", n)
}
