package logtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"pgregory.net/rapid"
)

// DrawRecords draws records as a log may hold them: artifacts that replace and
// build on earlier ones, some under names and keys; withdrawals; labels; sessions and
// runs that open, close twice and are noted; work; acceptances, reviews and comments; records of unknown type, and
// records that were appended twice. Their places are set.
func DrawRecords(t *rapid.T) []handoff.Record {
	d := drawing{t: t}
	n := rapid.IntRange(1, 40).Draw(t, "records")
	for i := range n {
		d.draw(i)
	}
	return Placed(d.records)
}

// Placed returns the records with their places in the order given.
func Placed(records []handoff.Record) []handoff.Record {
	out := make([]handoff.Record, len(records))
	for i, r := range records {
		r.Seq = handoff.Seq(i + 1)
		out[i] = r
	}
	return out
}

type drawing struct {
	t         *rapid.T
	records   []handoff.Record
	artifacts []string
	comments  []string
	accepted  []string // the IDs of acceptances
}

var (
	drawnSessions = []string{"s1", "s2", "run1"}
	drawnTime     = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
)

func (d *drawing) draw(i int) {
	id := fmt.Sprintf("rec_%026d", i)
	switch kind := rapid.IntRange(0, 15).Draw(d.t, "kind"); {
	case kind <= 5:
		id = fmt.Sprintf("art_%026d", i)
		d.add(id, d.artifact())
		d.artifacts = append(d.artifacts, id)
	case kind <= 7 && len(d.artifacts) > 0:
		d.add(id, &handoff.ArtifactWithdrawn{ArtifactID: rapid.SampledFrom(d.artifacts).Draw(d.t, "withdrawn"),
			Reason: rapid.SampledFrom([]string{"", "wrong", "twice"}).Draw(d.t, "reason")})
	case kind == 8 && rapid.Bool().Draw(d.t, "used"):
		d.add(id,
			&handoff.ArtifactUsed{
				ArtifactID: rapid.SampledFrom(append([]string{"art_NEVERSEEN0000000000000000"},
					d.artifacts...)).Draw(d.t, "used artifact")})
	case kind == 8:
		d.add(id, d.session())
	case kind == 9 && rapid.IntRange(0, 2).Draw(d.t, "moved") == 0:
		paths := []string{"a.md", "b.md", "c.md"}
		moved := &handoff.PathMoved{From: rapid.SampledFrom(paths).Draw(d.t, "from"),
			To: rapid.SampledFrom(paths).Draw(d.t, "to")}
		if rapid.Bool().Draw(d.t, "a directory") {
			moved = &handoff.PathMoved{From: "a", To: rapid.SampledFrom([]string{"z/a", "y/a"}).Draw(d.t, "to")}
			if rapid.Bool().Draw(d.t, "back") {
				moved.From, moved.To = moved.To, moved.From
			}
		}
		d.add(id, moved)
	case kind == 9 && rapid.IntRange(0, 3).Draw(d.t, "kept") == 0:
		d.add(id, &handoff.ThreadKept{
			Thread: rapid.SampledFrom([]string{"agents://codex/x", "agents://codex/y"}).Draw(d.t, "thread"),
			Digest: handoff.Digest{Algorithm: handoff.SHA256,
				Value: strings.Repeat(rapid.SampledFrom([]string{"ab", "cd"}).Draw(d.t, "copy"), 32)},
			SizeBytes: 7, Files: 1, TranscriptBytes: 9})
	case kind == 9 && rapid.IntRange(0, 3).Draw(d.t, "dropped") == 0:
		d.add(id, d.dropped())
	case kind == 9 && rapid.IntRange(0, 1).Draw(d.t, "redacted") == 0:
		d.add(id, d.redaction())
	case kind == 9:
		d.add(id, d.work())
	case kind == 12 && len(d.artifacts) > 0 && rapid.IntRange(0, 3).Draw(d.t, "applied") == 0:
		some := append([]string{"art_NEVERSEEN0000000000000000"}, d.artifacts...)
		d.add(id, &handoff.ArtifactApplied{ArtifactID: rapid.SampledFrom(some).Draw(d.t, "applied artifact"),
			Commit: strings.Repeat("ab", 20), User: rapid.SampledFrom([]string{"", "ann"}).Draw(d.t, "user")})
	case kind == 12 && len(d.artifacts) > 0:
		d.add(id,
			&handoff.ArtifactLabeled{
				ArtifactID: rapid.SampledFrom(append([]string{"art_NEVERSEEN0000000000000000"},
					d.artifacts...)).Draw(d.t, "labeled"),
				Label:   rapid.SampledFrom([]string{"approved", "approved", "draft", "latest"}).Draw(d.t, "label"),
				Removed: rapid.IntRange(0, 3).Draw(d.t, "removed") == 0})
	case kind == 13 && len(d.artifacts) > 0:
		d.add(id, d.acceptance())
		d.accepted = append(d.accepted, id)
	case kind > 12 && len(d.artifacts) > 0:
		d.remark(i)
	case kind == 10 && len(d.records) > 0:
		d.records = append(d.records, rapid.SampledFrom(d.records).Draw(d.t, "twice"))
	default:
		r, err := handoff.ParseRecord(fmt.Appendf(nil,
			`{"version":2,"type":"moon.landed","id":%q,"createdAt":"2026-11-21T03:00:00Z","crater":%d}`, id, i))
		if err != nil {
			d.t.Fatal(err)
		}
		d.records = append(d.records, r)
	}
}

// add adds a record as it would be read back from a log.
func (d *drawing) add(id string, f handoff.Fact) {
	p := handoff.Producer{
		Agent: rapid.SampledFrom([]string{"", "builder", "reviewer"}).Draw(d.t, "agent"), Harness: "codex",
		Session: rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(d.t, "in session"),
		RunID:   rapid.SampledFrom([]string{"", "", "run1"}).Draw(d.t, "in run"),
	}
	if rapid.IntRange(0, 3).Draw(d.t, "more ids") == 0 {
		p.ToolCallID, p.IDs = "t1", map[string]string{"turn": "t1", "session": "other"}
	}
	r := handoff.Record{Version: 1, ID: id, CreatedAt: drawnTime.Add(time.Duration(len(d.records)%7) * time.Second),
		Producer: p, Fact: f}
	b, err := r.JSON()
	if err != nil {
		d.t.Fatal(err)
	}
	if r, err = handoff.ParseRecord(b); err != nil {
		d.t.Fatal(err)
	}
	d.records = append(d.records, r)
}

// acceptance draws an acceptance that may know earlier ones.
func (d *drawing) acceptance() handoff.Fact {
	some := append([]string{"art_NEVERSEEN0000000000000000"}, d.artifacts...)
	f := &handoff.ArtifactAccepted{ArtifactID: rapid.SampledFrom(some).Draw(d.t, "accepted"),
		Over: rapid.SliceOfNDistinct(rapid.SampledFrom(some), 0, min(4, len(some)), rapid.ID[string]).
			Draw(d.t, "over"),
		Reason: rapid.SampledFrom([]string{"", "smaller"}).Draw(d.t, "reason")}
	for _, id := range d.accepted {
		if rapid.Bool().Draw(d.t, "known") {
			f.Known = append(f.Known, id)
		}
	}
	return f
}

// remark adds a review, a comment or a reply.
func (d *drawing) remark(i int) {
	of := rapid.SampledFrom(append([]string{"art_NEVERSEEN0000000000000000"}, d.artifacts...)).Draw(d.t, "remark about")
	via := rapid.SampledFrom([]string{handoff.ViaTerminal, handoff.ViaCommand, handoff.ViaMCP, "pulls/7"}).Draw(d.t,
		"via")
	if rapid.Bool().Draw(d.t, "reviewed") {
		d.add(fmt.Sprintf("rec_%026d", i), &handoff.ArtifactReviewed{ArtifactID: of, Via: via,
			Digest: drawnDigest(d, "bytes"), Decision: rapid.SampledFrom([]handoff.Decision{handoff.Approved,
				handoff.ChangesRequested, handoff.Commented, handoff.Dismissed}).Draw(d.t, "decision"),
			Signature: drawnSignature(d)})
		return
	}
	id := fmt.Sprintf("cmt_%026d", i)
	c := &handoff.ArtifactCommented{ArtifactID: of, Via: via, Signature: drawnSignature(d)}
	if len(d.comments) > 0 && rapid.Bool().Draw(d.t, "reply") {
		c.ReplyTo = rapid.SampledFrom(d.comments).Draw(d.t, "to")
		c.State = rapid.SampledFrom([]handoff.CommentState{"", handoff.CommentOpen, handoff.CommentResolved,
			handoff.CommentWithdrawn}).Draw(d.t, "state")
	}
	d.comments = append(d.comments, id)
	d.add(id, c)
}

func drawnSignature(d *drawing) (s handoff.Signature) {
	if at := rapid.Int64Range(0, 2).Draw(d.t, "signed at"); at > 0 {
		s = handoff.Signature{At: time.Unix(at, at).UTC(), Value: "c2ln"}
	}
	return s
}

func (d *drawing) artifact() *handoff.ArtifactPublished {
	p := &handoff.ArtifactPublished{
		Channel: rapid.SampledFrom([]string{"design", "patch"}).Draw(d.t, "channel"),
		Kind:    rapid.SampledFrom([]string{"file", "file", "report", ""}).Draw(d.t, "kind"),
		Path:    rapid.SampledFrom([]string{"a.md", "b.md"}).Draw(d.t, "path"), TargetType: "file",
		Title: rapid.SampledFrom([]string{"", "Retry policy", "Security review"}).Draw(d.t, "title"),
	}
	if rapid.IntRange(0, 3).Draw(d.t, "named") == 0 {
		p.Namespace, p.Name = rapid.SampledFrom([]string{"s1", "run1"}).Draw(d.t, "namespace"), "context.md"
	}
	if rapid.IntRange(0, 5).Draw(d.t, "keyed") == 0 {
		p.Key = rapid.SampledFrom([]string{"k1", "k2"}).Draw(d.t, "key")
	}
	if rapid.IntRange(0, 3).Draw(d.t, "tagged") == 0 {
		p.Tags = []string{rapid.SampledFrom([]string{"security", "draft"}).Draw(d.t, "tag")}
	}
	p.Digest = drawnDigest(d, "digest")
	d.evidence(p)
	known := append([]string{"art_NEVERSEEN0000000000000000"}, d.artifacts...)
	p.Replaces = rapid.SliceOfNDistinct(rapid.SampledFrom(known), 0, min(3, len(known)), rapid.ID[string]).Draw(d.t,
		"replaces")
	p.Parents = rapid.SliceOfNDistinct(rapid.SampledFrom(known), 0, min(2, len(known)), rapid.ID[string]).Draw(d.t,
		"parents")
	p.Digest, p.AskReview = drawnDigest(d, "bytes"), rapid.IntRange(0, 9).Draw(d.t, "ask") == 0
	if len(d.comments) > 0 && rapid.IntRange(0, 2).Draw(d.t, "resolves") == 0 {
		p.Resolves = []string{rapid.SampledFrom(d.comments).Draw(d.t, "resolved")}
	}
	return p
}

// evidence makes some artifacts attestations, and gives some claims, about a few trees and
// commands.
func (d *drawing) evidence(p *handoff.ArtifactPublished) {
	kind := rapid.IntRange(0, 5).Draw(d.t, "evidence")
	if kind > 2 {
		return
	}
	if rapid.IntRange(0, 4).Draw(d.t, "in git") > 0 {
		p.Tree = &handoff.Tree{Digest: rapid.SampledFrom([]string{"aa", "bb"}).Draw(d.t, "tree"), Commit: "c1",
			Clean: rapid.Bool().Draw(d.t, "clean"), Whole: rapid.SampledFrom([]string{"", "aa"}).Draw(d.t, "whole")}
	}
	dir := rapid.SampledFrom([]string{"", "", "sub"}).Draw(d.t, "dir")
	if kind == 0 {
		p.Attestation = &handoff.Attestation{Argv: rapid.SampledFrom([][]string{{"make"}, {"sh", "-c", "make"},
			{"make", "all"}}).Draw(d.t, "argv"), Dir: dir, ExitStatus: rapid.IntRange(0, 1).Draw(d.t, "exit"),
			StartedAt: drawnTime, OfCommit: rapid.IntRange(0, 3).Draw(d.t, "of a commit") == 0,
			TreeAfter: rapid.SampledFrom([]string{"", "", "", "bb"}).Draw(d.t, "tree after")}
		return
	}
	named := append([]string{"", "art_NEVERSEEN0000000000000000"}, d.artifacts...)
	for range rapid.IntRange(1, 2).Draw(d.t, "claims") {
		e := handoff.Evidence{Kind: rapid.SampledFrom([]string{handoff.EvidenceCommand, handoff.EvidenceCommand,
			handoff.EvidenceArtifact, handoff.EvidenceThread}).Draw(d.t, "kind of evidence"),
			Command: rapid.SampledFrom([]string{"make", "make all"}).Draw(d.t, "command"), Dir: dir,
			Artifact: rapid.SampledFrom(named).Draw(d.t, "named"), OnTree: rapid.Bool().Draw(d.t, "on the tree"),
			Failed: rapid.IntRange(0, 5).Draw(d.t, "failed") == 0, Digest: drawnDigest(d, "seen").Value,
			Thread: rapid.SampledFrom([]string{"", "agents://codex/x"}).Draw(d.t, "thread")}
		p.Claims = append(p.Claims, handoff.Claim{Text: "it works", Evidence: []handoff.Evidence{e}})
	}
}

// redaction draws a fact about a body or a record that has a secret.
func (d *drawing) redaction() handoff.Fact {
	id := rapid.SampledFrom(append([]string{"art_NEVERSEEN0000000000000000"}, d.artifacts...)).Draw(d.t, "of")
	if rapid.Bool().Draw(d.t, "record") {
		record := rapid.SampledFrom([]string{id, id, "rec_WITHDRAWAL"}).Draw(d.t, "its record")
		return &handoff.RecordRedacted{ArtifactID: id, RecordID: record, Replaced: []handoff.Replacement{{
			Field: rapid.SampledFrom([]string{"/title", "/tags/0", "/tags", "/path", "/reason", "/nothing"}).Draw(d.t,
				"field"),
			Start: rapid.IntRange(-1, 8).Draw(d.t, "start"), End: rapid.IntRange(0, 9).Draw(d.t, "end"),
			Kind: "password"}}}
	}
	f := &handoff.BodyRedacted{ArtifactID: id, Digest: drawnDigest(d, "body")}
	if rapid.Bool().Draw(d.t, "replaced") {
		f.Replacement = drawnDigest(d, "replacement")
	}
	return f
}

// dropped draws a fact about bodies that a policy dropped.
func (d *drawing) dropped() handoff.Fact {
	b := handoff.DroppedBody{Digest: drawnDigest(d, "dropped body"), SizeBytes: 1, Artifacts: []string{
		rapid.SampledFrom(append([]string{"art_NEVERSEEN0000000000000000"}, d.artifacts...)).Draw(d.t, "whose")}}
	for _, r := range d.records {
		if f, ok := r.Fact.(*handoff.ThreadKept); ok {
			b.Threads, b.Records = []string{f.Thread}, []string{r.ID}
		}
	}
	return &handoff.BodiesDropped{Policy: "keep-last 1", Bodies: []handoff.DroppedBody{b}}
}

func drawnDigest(d *drawing, label string) handoff.Digest {
	value := rapid.SampledFrom([]string{"", "ab", "cd", "ef"}).Draw(d.t, label)
	if value == "" {
		return handoff.Digest{}
	}
	return handoff.Digest{Algorithm: handoff.SHA256, Value: strings.Repeat(value, 32)}
}

func (d *drawing) session() handoff.Fact {
	id := rapid.SampledFrom(drawnSessions).Draw(d.t, "session")
	switch rapid.IntRange(0, 5).Draw(d.t, "session fact") {
	case 0, 1:
		opened := &handoff.SessionOpened{SessionID: id, Title: "t",
			Folder: rapid.SampledFrom([]string{"", "a", "a", "."}).Draw(d.t, "folder"),
			Agent: handoff.SessionAgent{Name: rapid.SampledFrom([]string{"alex", "casey"}).Draw(d.t, "whose"),
				Bundle: "b"},
			Workflow: handoff.SessionWorkflow{Name: rapid.SampledFrom([]string{"intake-app", "intake-itsm",
				""}).Draw(d.t, "workflow")}, User: "u", Inputs: map[string]json.RawMessage{"k": json.RawMessage(`"v"`)},
			Process: handoff.Process{BootID: "b", PIDNamespace: "n", PID: 7, StartTime: "1"}}
		if rapid.Bool().Draw(d.t, "began before") {
			opened.StartedAt = drawnTime.Add(-time.Hour)
		}
		if id == "run1" {
			opened.Parent = "s1"
		}
		return opened
	case 2:
		return &handoff.SessionClosed{SessionID: id,
			Status:  rapid.SampledFrom([]string{"completed", "failed"}).Draw(d.t, "status"),
			Reason:  rapid.SampledFrom([]string{"", handoff.ProcessGone}).Draw(d.t, "why it ended"),
			EndedAt: drawnTime.Add(time.Minute)}
	case 3:
		return &handoff.SessionLinked{SessionID: id, To: "s2"}
	case 4:
		count := rapid.IntRange(0, 9).Draw(d.t, "messages")
		tags := []string{"t1", "t2", "t3"}
		return &handoff.SessionNoted{SessionID: id, MessageCount: &count,
			Child:       handoff.Process{BootID: "b", PID: count},
			Tags:        rapid.SliceOfN(rapid.SampledFrom(tags), 0, 2).Draw(d.t, "tags"),
			RemovedTags: rapid.SliceOfN(rapid.SampledFrom(tags), 0, 2).Draw(d.t, "removed tags")}
	}
	return rapid.SampledFrom([]handoff.Fact{&handoff.SessionArchived{SessionID: id},
		&handoff.SessionDeleted{SessionID: id}, &handoff.SessionRestored{SessionID: id}}).Draw(d.t, "put away")
}

// drawnThread is the thread of much of the work.
const drawnThread = "agents://codex/x"

func (d *drawing) work() handoff.Fact {
	id := rapid.SampledFrom([]string{"w1", "w2"}).Draw(d.t, "work")
	if rapid.Bool().Draw(d.t, "started") {
		return &handoff.WorkStarted{WorkID: id, ParentWorkID: rapid.SampledFrom([]string{"", "w1"}).Draw(d.t, "parent"),
			Kind: "task", StartedAt: drawnTime, Name: rapid.SampledFrom([]string{"", "review"}).Draw(d.t, "name"),
			Agent: "alex", Model: handoff.Model{ID: "gpt-5"},
			Thread:    rapid.SampledFrom([]string{drawnThread, "agents://codex/y", ""}).Draw(d.t, "thread"),
			SessionID: rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(d.t, "session"),
			RunID:     rapid.SampledFrom([]string{"", "run1"}).Draw(d.t, "run"),
			Process:   handoff.Process{PID: rapid.IntRange(0, 2).Draw(d.t, "process")},
			Ticket:    rapid.SampledFrom([]string{"", "t1.e30"}).Draw(d.t, "ticket")}
	}
	ended := &handoff.WorkEnded{WorkID: id, EndedAt: drawnTime, IsError: rapid.Bool().Draw(d.t, "is error"),
		Status: rapid.SampledFrom([]string{"", "completed", "cancelled"}).Draw(d.t, "work status")}
	if n := rapid.Int64Range(-1, 9).Draw(d.t, "tokens"); n >= 0 {
		ended.Usage, ended.UsageSource = &handoff.Usage{
			Input: &n}, rapid.SampledFrom([]string{"thread", handoff.UsageFromHarness}).Draw(d.t, "usage source")
	}
	return ended
}
