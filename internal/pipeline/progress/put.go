package progress

import (
	"bytes"
	"cmp"
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
	"github.com/agent-handoff/handoff/internal/pipeline/folder"
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
	"github.com/agent-handoff/handoff/session"
)

// A Submission is an artifact that an agent submits for a stage.
type Submission struct {
	Issue string
	Stage string // its name, or that of its file
	Agent string // who submits it, "" if unknown
	Body  []byte

	// Files are the files of a stage with a pattern, by their names in the run's folder, in
	// place of Body. Those that the run has and that are not in Files stay as they are.
	Files map[string][]byte

	// Outcome is one word about an artifact that is not JSON; it is recorded with it.
	Outcome string

	// Lenient records an artifact that violates its contract as it is.
	Lenient bool

	// From are the IDs of the artifacts that it was made from, and Ticket is the
	// text of what its writer was given. Without either, that is the ticket of the
	// work of the caller that Start recorded; without that, it is assumed to be made
	// from what its writer reads, in its current state.
	From   []string
	Ticket string
}

// A Receipt is the result of Put.
type Receipt struct {
	names.Written
	Report pipeline.Report
}

// Put records a submission as the newest attempt, on the stage's channel, and
// writes it to the run's folder: JSON with an indent of two and a final newline.
// The record names what it was made from, with digests. Submitting the same
// content made from the same inputs again does not add an attempt, unless Next
// asks for it. An input that was submitted again is another input, whatever its
// content. The work of the caller on the stage ends, if it is open.
//
// The stage state is the planner's state.yaml, which is written as it is.
//
// Kinds: Invalid (the ID, the stage, an agent that is not the stage's writer, an
// artifact that violates its contract: the receipt's report then has every
// problem), Conflict (the issue is the ID of a session or run), and those of
// handoff.Hub.Publish.
func (r *Runs) Put(ctx context.Context, sub Submission) (Receipt, error) {
	if err := contract.CheckIssue(sub.Issue); err != nil {
		return Receipt{}, err
	}
	if r.isState(sub.Stage) {
		return r.putState(ctx, sub)
	}
	stage, err := r.Pipeline.Stage(sub.Stage)
	if err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{Report: sub.output(stage, nil).Report}
	if sub.Lenient {
		receipt.Report = lenient(receipt.Report)
	}
	if err := checkSubmission(r.Pipeline, sub, stage, receipt.Report); err != nil {
		return receipt, err
	}
	if stage.IsJSON() {
		if sub.Body, err = indented(sub.Issue+"/"+stage.Artifact, sub.Body); err != nil {
			return receipt, err
		}
	}
	if err := r.checkUnused(ctx, sub.Issue); err != nil {
		return receipt, err
	}
	own, err := r.own(ctx, sub.Issue, stage)
	if err != nil {
		return receipt, err
	}
	from, err := r.given(ctx, sub, stage, own)
	if err != nil {
		return receipt, err
	}
	// The shared lock keeps Archive from moving the folder; the exclusive one keeps the files
	// of two attempts apart.
	lock := syscall.LOCK_SH
	if stage.IsPattern() {
		lock = syscall.LOCK_EX
	}
	err = folder.Lock(ctx, r.Files, lock, func(*os.Root) (err error) {
		if err := r.recordDefinition(ctx, sub.Issue); err != nil {
			return err
		}
		receipt.Written, err = r.record(ctx, sub, stage, receipt.Report.Value, from)
		return err
	})
	if err != nil {
		return receipt, err
	}
	receipt.Warnings = append(receipt.Warnings, r.end(ctx, own, session.Completed)...)
	if r.edited != nil {
		receipt.Warnings = append(receipt.Warnings, r.edited.String())
	}
	if sub.Agent == "" {
		receipt.Warnings = append(receipt.Warnings, "no agent is named; the writer of this stage is "+stage.Writer)
	}
	return receipt, nil
}

func checkSubmission(p *contract.Pipeline, sub Submission, stage *contract.Stage, report pipeline.Report) error {
	refuse := func(reason string, hint handoff.Hint) error {
		return handoff.E("put", sub.Issue+"/"+stage.Artifact, handoff.Invalid, errors.New(reason), hint)
	}
	switch {
	case stage.IsPattern() != (sub.Files != nil):
		return refuse("the stage has "+stage.Artifact,
			handoff.Advice("submit a file, or the directory with the files of a pattern"))
	case sub.Files != nil && len(sub.Files) == 0:
		return refuse("no file matches "+stage.Artifact, handoff.Advice("name a directory with such files"))
	case sub.Outcome != "" && (stage.IsJSON() || len(strings.Fields(sub.Outcome)) != 1 || len(sub.Outcome) > maxWord):
		return refuse(fmt.Sprintf("outcome %.60q is not one word, or the artifact has it itself", sub.Outcome),
			handoff.Advice("give one word for a stage whose format is not a schema"))
	}
	if sub.Agent != "" && !p.IsAgent(stage.Writer, sub.Agent) {
		return refuse(fmt.Sprintf("must be written by %s, not by %s", stage.Writer, sub.Agent),
			handoff.Suggest("see which agent acts next", handoff.ActionNext, sub.Issue))
	}
	if errs := report.Errors; len(errs) > 0 {
		hint := handoff.Suggest("see an example", handoff.ActionExample, stage.Name, sub.Issue)
		if _, err := stage.Example(); err != nil {
			hint = handoff.Suggest("print the schema", handoff.ActionRunSchema, stage.Name, sub.Issue)
		}
		if !stage.IsJSON() {
			names := strings.Join(stage.Format.Headings, ", ")
			hint = handoff.Advice("the headings of " + stage.Artifact + " are " + names)
		}
		return violation(sub.Issue+"/"+stage.Artifact, errs, hint)
	}
	if by := contract.Text(report.Value["produced_by"]); by != "" && !p.IsAgent(stage.Writer, by) {
		return refuse(fmt.Sprintf("produced_by is %s; the writer of this stage is %s", by, stage.Writer),
			handoff.Advice("let "+stage.Writer+" submit it"))
	}
	return nil
}

// violation returns the error for a file with problems.
func violation(name string, problems []jsonschema.Problem, hint handoff.Hint) error {
	details := make([]string, len(problems))
	for i, p := range problems {
		details[i] = p.String()
	}
	reason := errors.New("violates its contract: " + countOf(len(problems), "problem"))
	e := handoff.E("put", name, handoff.Invalid, reason, hint)
	e.Details = details
	return e
}

// title returns the title of a record of a run. It is ASCII.
func title(stage, issue string) string {
	text := stage + " of " + issue
	return text[:min(len(text), handoff.MaxTitle)]
}

// indented returns an artifact as it is written.
func indented(name string, b []byte) ([]byte, error) {
	var body bytes.Buffer
	if err := json.Indent(&body, bytes.TrimSpace(b), "", "  "); err != nil {
		return nil, err // it was validated: unreachable
	}
	body.WriteByte('\n')
	if body.Len() > contract.MaxArtifact {
		return nil, violation(name, []jsonschema.Problem{
			{Text: fmt.Sprintf("is larger than %d bytes with an indent", contract.MaxArtifact)}},
			handoff.Advice("publish the large part as an artifact of its own, and refer to it"))
	}
	return body.Bytes(), nil
}

// record publishes an attempt and writes its file. Submission.Body is indented.
func (r *Runs) record(ctx context.Context, sub Submission, stage *contract.Stage, value map[string]any,
	from *made) (names.Written, error) {
	s, records, err := r.read(ctx, sub.Issue)
	if err != nil && !errors.Is(err, handoff.NotFound) { // the run's first artifact
		return names.Written{}, err
	}
	if from == nil {
		from = r.assume(stage, &s)
	}
	from.ids = s.withSet(from.ids)
	draft := draftOf(stage, sub.Issue, value, from, sub.Lenient)
	files, out := sub.Files, sub.output(stage, s.Outputs[stage.Name].Files)
	if files == nil {
		files = map[string][]byte{stage.Artifact: sub.Body}
	} else {
		draft.Metadata["files"] = out.Files
	}
	keys := map[string]string{}
	for name, body := range files {
		keys[name] = r.attemptKey(records, s, stage, sub, out.Digest, name, body, draft.Metadata, from.ids)
	}
	draft.Metadata["attempt"] = cmp.Or(from.number, r.number(s, stage, from))
	if from.assumed && len(from.read) > 0 {
		draft.Metadata["assumed"] = true
	}
	if v := r.verdict(ctx, s, stage, out); v != nil {
		draft.Metadata["gate"] = v
	}
	var written names.Written
	for _, name := range slices.Sorted(maps.Keys(files)) {
		draft.Name, draft.Key, draft.Body = name, keys[name], bytes.NewReader(files[name])
		before := written
		if written, err = r.writer(sub.Issue).Write(ctx, draft); err != nil {
			return written, err
		}
		written.Warnings = append(before.Warnings, written.Warnings...)
		written.SavedEdits = append(before.SavedEdits, written.SavedEdits...)
	}
	return written, nil
}

// output returns the output that a submission becomes, together with the files that the
// run has.
func (sub Submission) output(stage *contract.Stage, has map[string]string) gate.Output {
	if !stage.IsPattern() {
		out := output(stage, stage.Artifact, sub.Body, nil)
		if sub.Outcome != "" && !stage.IsJSON() {
			out.Report.Value[contract.OutcomeField] = sub.Outcome
		}
		return out
	}
	out := gate.Output{File: stage.Artifact, Files: map[string]string{}, Report: validateFiles(stage, sub.Files)}
	maps.Copy(out.Files, has)
	for name, b := range sub.Files {
		out.Files[name] = digestOf(b)
	}
	if out.Digest = setDigest(out.Files); sub.Outcome != "" {
		out.Report.Value[contract.OutcomeField] = sub.Outcome
	}
	return out
}

// maxWord is the maximum length of an outcome, in bytes.
const maxWord = 40

// number returns the number of the attempt that a submission without a ticket is the
// result of. If the run does not wait for its stage, and the stage was done from the same
// inputs, it is another result for that attempt.
func (r *Runs) number(s State, stage *contract.Stage, from *made) int {
	attempts, _ := s.countAttempts(stage.Name, "")
	if at := s.last(stage.Name); at >= 0 && !r.isNext(s, stage) && maps.Equal(s.Attempts[at].Read, from.read) &&
		slices.Equal(slices.Sorted(maps.Values(s.Attempts[at].From)), slices.Sorted(slices.Values(from.ids))) {
		return s.Attempts[at].Number
	}
	return attempts + 1
}

// draftOf returns the draft of an attempt, without its body and key.
func draftOf(stage *contract.Stage, issue string, value map[string]any, from *made, lenient bool) handoff.Draft {
	own := attemptOf(stage.Name, gate.Output{Report: pipeline.Report{Value: value}})
	metadata := map[string]any{"stage": stage.Name, "read": from.read} // see Attempt
	for key, v := range map[string]string{"outcome": own.Outcome, "tier": own.Tier} {
		if v != "" {
			metadata[key] = v
		}
	}
	if lenient {
		metadata["lenient"] = true
	}
	d := handoff.Draft{Channel: stage.Name, Name: stage.Artifact, Title: title(stage.Name, issue),
		Summary: summarize(stage, value), Parents: from.ids, Metadata: metadata}
	if stage.IsJSON() {
		d.MediaType = "application/json"
	}
	return d
}

// given returns what a submission, or the open work of the caller, says that it was made
// from, nil if both say nothing.
func (r *Runs) given(ctx context.Context, sub Submission, stage *contract.Stage, own []handoff.Work) (*made, error) {
	if sub.Ticket != "" {
		return r.ticketed(ctx, sub, stage)
	}
	if len(sub.From) == 0 {
		return r.startedWith(ctx, sub, stage, own)
	}
	read := map[string]string{}
	for _, id := range sub.From {
		a, err := r.Hub.Artifact(ctx, id)
		if err != nil {
			return nil, err
		}
		if from, err := r.Pipeline.Stage(a.Name); err == nil && a.Namespace == sub.Issue {
			read[from.Name] = a.Digest.Value
		}
	}
	return &made{read: read, ids: sub.From}, nil
}

// assume returns what an attempt is made from by default: what its writer reads, in its
// current state.
func (r *Runs) assume(stage *contract.Stage, s *State) *made {
	m := &made{read: map[string]string{}, assumed: true}
	for _, in := range (&walk{p: r.Pipeline, s: s}).ticket(stage).Inputs {
		m.read[in.Stage] = in.Digest
		if in.ID != "" {
			m.ids = append(m.ids, in.ID)
		}
	}
	return m
}

// sources returns the stages from which a stage's artifact is made, regardless
// of their order: a second implementation is made from a diagnosis.
func (w *walk) sources(stage *contract.Stage) []string {
	names := w.inputs(stage)
	for _, s := range w.p.Stages {
		_, ok := w.s.Outputs[s.Name]
		if ok && s != stage && w.p.Reads(stage.Name, stage.Writer, s) && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// attemptKey returns the key of the newest attempt if the submission repeats it
// and its file was not edited. A submission that names the agent does not repeat one that
// named none, and as long as results compete, every one counts. Otherwise it returns a key
// that only the same submission after that attempt has.
func (r *Runs) attemptKey(records []handoff.Artifact, s State, stage *contract.Stage, sub Submission,
	digest, name string, body []byte, metadata map[string]any, parents []string) string {
	read, _ := metadata["read"].(map[string]string)
	outcome, _ := metadata["outcome"].(string)
	out, ok := s.Outputs[stage.Name]
	repeats := s.isOutdated(stage.Name) || !r.isNext(s, stage) && (!ok || out.Digest == digest)
	repeats = repeats && len(s.rivals(stage.Name)) == 0
	encoded, _ := json.Marshal(metadata) // of strings: no error
	seed := slices.Concat([]byte(s.Issue+" "+stage.Name+" "), body, encoded)
	return keyOf(records, s, name, digestOf(body), seed, func(a handoff.Artifact) bool {
		return repeats && recordedDigest(stage, a) == digest && madeFrom(a, read, parents, outcome) &&
			(a.Producer.Agent != "" || sub.Agent == "")
	})
}

// keyOf returns the key of the newest record of a file if it has a digest and is
// repeated. Otherwise it returns one that only the same submission after that record has.
func keyOf(records []handoff.Artifact, s State, name, digest string, seed []byte,
	repeated func(handoff.Artifact) bool) string {
	before := ""
	for _, a := range records {
		if a.Name != name {
			continue
		}
		before = a.ID
		if a.Status == handoff.Active && a.Path == path.Join(s.Folder, a.Name) && a.Digest.Value == digest && repeated(a) {
			return a.Key
		}
	}
	return "attempt after " + before + ": " + digestOf(seed)
}

// madeFrom reports whether an attempt was made from the same attempts, recorded
// or not, and has the same outcome.
func madeFrom(a handoff.Artifact, read map[string]string, parents []string, outcome string) bool {
	made, ok := recorded(a)
	return ok && made.Outcome == outcome && maps.Equal(made.Read, read) &&
		slices.Equal(slices.Sorted(slices.Values(a.Parents)), slices.Sorted(slices.Values(parents)))
}

// isNext reports whether a run waits for a stage to be done again, so that even
// the same artifact is a new attempt: it is the next one, or an agent was asked
// what to do about an outcome that is newer than the stage's last attempt.
func (r *Runs) isNext(s State, stage *contract.Stage) bool {
	if _, ok := s.Outputs[stage.Name]; !ok {
		return false // the same artifact restores the file
	}
	w := walk{p: r.Pipeline, s: &s}
	step := w.next()
	if step.Done || step.Stage != "" {
		return step.Stage == stage.Name
	}
	return s.last(stage.Name) < s.last(w.visited[len(w.visited)-1])
}
