package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A Submission is what an agent hands in for a stage.
type Submission struct {
	Issue string
	Stage string // its name, or the file's
	Agent string // who hands it in, "" where nobody says
	Body  []byte

	// Read are the ids of the artifacts that it was made from. Where there are
	// none, they are those that its writer reads, as they are now.
	Read []string
}

// A Receipt is the answer to Put.
type Receipt struct {
	names.Written
	Stage  string
	Report contract.Report
}

// Put records what a stage's writer hands in as the newest attempt, on the
// stage's channel, and renders it to the run's folder: indented by two, with a
// newline at the end. The record names what it was made from, and holds the
// digests of that. The same bytes made from the same are no new attempt.
//
// Kinds: Invalid (the id, the stage, an agent that is not its writer, an
// artifact that breaks its contract: the receipt's report then has everything),
// Conflict (the issue is the id of a session or run), and those of
// handoff.Hub.Publish.
func (b *Book) Put(ctx context.Context, sub Submission) (Receipt, error) {
	if err := contract.CheckIssue(sub.Issue); err != nil {
		return Receipt{}, err
	}
	stage, err := b.Pipeline.Stage(sub.Stage)
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{Stage: stage.Name, Report: stage.Validate(sub.Body)}
	if err := acceptable(sub, stage, r.Report); err != nil {
		return r, err
	}
	if err := b.free(ctx, sub.Issue); err != nil {
		return r, err
	}
	given, err := b.given(ctx, sub)
	if err != nil {
		return r, err
	}
	err = locked(b.Files, syscall.LOCK_SH, func(*os.Root, *os.File) (err error) { // no archive takes the folder meanwhile
		r.Written, err = b.record(ctx, sub, stage, r.Report.Value, given)
		return err
	})
	if err != nil {
		return r, err
	}
	if a, err := b.Hub.Artifact(ctx, r.ID); err == nil { // its file is there only now
		r.Artifact = a
	}
	return r, nil
}

func acceptable(sub Submission, stage *contract.Stage, r contract.Report) error {
	refuse := func(reason, hint string) error {
		return &handoff.Error{Op: "put", Name: sub.Issue + "/" + stage.Artifact, Kind: handoff.Invalid, Err: errors.New(reason), Hint: handoff.Advice(hint)}
	}
	if sub.Agent != "" && !owns(stage, sub.Agent) {
		return refuse(fmt.Sprintf("is written by %s, not by %s", stage.Writer, sub.Agent), "handoff pipeline next "+sub.Issue+" tells who writes what")
	}
	if errs := r.Errors; len(errs) > 0 {
		return refuse(fmt.Sprintf("breaks its contract: %s%s", errs[0], andMore(len(errs)-1)), "docs/pipeline.md tells what it must look like; handoff pipeline validate FILE tries it")
	}
	if by := text(r.Value["produced_by"]); by != "" && !owns(stage, by) {
		return refuse(fmt.Sprintf("says that %s produced it, and %s writes it", by, stage.Writer), "let its writer hand it in")
	}
	return nil
}

// owns reports whether an agent is a stage's writer, or its variant for a tier.
func owns(stage *contract.Stage, agent string) bool {
	if base, tier, ok := cutLast(agent, "-"); ok && slices.Contains(tiers, tier) && sameAgent(base, stage.Writer) {
		return true
	}
	return sameAgent(agent, stage.Writer)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// record publishes and renders an attempt.
func (b *Book) record(ctx context.Context, sub Submission, stage *contract.Stage, value map[string]any, given map[string]string) (names.Written, error) {
	var body bytes.Buffer
	if err := json.Indent(&body, bytes.TrimSpace(sub.Body), "", "  "); err != nil {
		return names.Written{}, err // it is valid: unreachable
	}
	body.WriteByte('\n')
	records, err := b.records(ctx, sub.Issue)
	if err != nil {
		return names.Written{}, err
	}
	s, err := Read(b.Files, b.Pipeline, sub.Issue)
	if err != nil && !errors.Is(err, handoff.NotFound) { // else it is the run's first artifact
		return names.Written{}, err
	}
	b.recall(ctx, &s, records)
	read, parents := given, sub.Read
	if len(sub.Read) == 0 {
		read, parents = b.sources(stage, &s)
	}
	own := (&State{}).write(stage.Name, Output{Report: contract.Report{Value: value}})
	metadata := map[string]any{"stage": stage.Name, "outcome": own.Outcome, "tier": own.Tier, "read": read} // an attempt
	maps.DeleteFunc(metadata, func(_ string, v any) bool { return v == "" })
	said, err := json.Marshal(metadata)
	if err != nil {
		return names.Written{}, err
	}
	dir := b.Files.Name()
	w := names.Writer{Hub: b.Hub, Workspace: dir, Scope: names.Scope{Run: sub.Issue, Dir: dir, Within: dir, Folders: []string{Folder, sub.Issue}}}
	return w.Write(ctx, handoff.Draft{
		Channel: stage.Name, Name: stage.Artifact, Body: &body, MediaType: "application/json",
		Title: clip(stage.Name+" of "+sub.Issue, handoff.MaxTitle), Summary: Summary(stage, value),
		Parents: parents, Metadata: metadata, Key: attemptKey(records, s, stage, append(slices.Clip(body.Bytes()), said...)),
	})
}

// given returns the digests of what a submission names as what it was made from,
// by stage.
func (b *Book) given(ctx context.Context, sub Submission) (map[string]string, error) {
	read := map[string]string{}
	for _, id := range sub.Read {
		a, err := b.Hub.Artifact(ctx, id)
		if err != nil {
			return nil, err
		}
		if from, err := b.Pipeline.Stage(a.Name); err == nil && a.Namespace == sub.Issue {
			read[from.Name] = a.Digest.Value
		}
	}
	return read, nil
}

// sources returns what an attempt is made from where nobody says: the digests of
// what its writer reads, by stage, and the ids of those that are recorded.
func (b *Book) sources(stage *contract.Stage, s *State) (read map[string]string, ids []string) {
	read = map[string]string{}
	for _, from := range (&walk{p: b.Pipeline, s: s}).sources(stage) {
		out := s.Outputs[from]
		read[from] = out.Digest
		if at := s.last(from); at >= 0 && s.Writes[at].ID != "" && s.Writes[at].Digest == out.Digest {
			ids = append(ids, s.Writes[at].ID)
		}
	}
	return read, ids
}

// sources are the stages from which a stage's artifact is made, wherever they
// come in the order: a second work is made from a diagnosis.
func (w *walk) sources(stage *contract.Stage) []string {
	names := w.inputs(stage)
	for _, s := range w.p.Stages {
		_, there := w.s.Outputs[s.Name]
		if there && s != stage && slices.Contains(s.Readers, stage.Writer) && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// attemptKey is that of the newest attempt where nothing has to be said anew:
// it says the same, and its file does still. Else it is one that only the same
// attempt after that one has.
func attemptKey(records []handoff.Artifact, s State, stage *contract.Stage, said []byte) string {
	out, there := s.Outputs[stage.Name]
	before, sum := "", digestOf(append([]byte(s.Issue+" "+stage.Name+" "), said...))
	for _, a := range records {
		if a.Name != stage.Artifact {
			continue
		}
		before = a.ID
		same := strings.HasSuffix(a.Key, sum) && (!there || out.Digest == a.Digest.Value)
		if same && a.Status == handoff.Active && path.Dir(a.Path) == s.Folder {
			return a.Key
		}
	}
	return "attempt after " + before + ": " + sum
}
