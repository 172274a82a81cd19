package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

// A Book keeps the runs of a workspace. In its records an issue is a namespace,
// and plan.json a name in it: its newest revision is rendered to the run's
// folder, and every earlier one stays readable.
type Book struct {
	Hub      *handoff.Hub
	Files    *os.Root // the directory that .pipeline lies in
	Pipeline *contract.Pipeline
}

// An attempt is what the record of one says beside its body, as metadata.
type attempt struct {
	Stage   string            `json:"stage"`
	Outcome string            `json:"outcome,omitempty"`
	Tier    string            `json:"tier,omitempty"`
	Read    map[string]string `json:"read"` // the digests of what it was made from, by stage
}

// Read reads a run as its folder and its records tell of it. Attempts that were
// made before the run's folder was archived are another run's. An artifact that
// no record tells of, or that was changed since, is an attempt too: it comes
// before the first that was made from it, else last.
//
// Kinds: Invalid, for the id, NotFound and Unavailable.
func (b *Book) Read(ctx context.Context, issue string) (State, error) {
	s, err := Read(b.Files, b.Pipeline, issue)
	if err != nil {
		return s, err
	}
	records, err := b.records(ctx, issue)
	if err != nil {
		return s, err
	}
	b.recall(ctx, &s, records)
	return s, nil
}

// Find is Read, but for an issue that has no run now it reads the one that was
// archived last.
func (b *Book) Find(ctx context.Context, issue string) (State, error) {
	s, err := b.Read(ctx, issue)
	if !errors.Is(err, handoff.NotFound) {
		return s, err
	}
	records, failed := b.records(ctx, issue)
	if failed != nil {
		return s, failed
	}
	folder := path.Join(Folder, contract.Completed, issue)
	for _, a := range slices.Backward(records) {
		if in := path.Dir(a.Path); path.Dir(in) == path.Join(Folder, contract.Completed) {
			folder = in
			break
		}
	}
	archived, again := readFolder(b.Files, b.Pipeline, issue, folder)
	if again != nil {
		return s, err // about the run, not about its archive
	}
	b.recall(ctx, &archived, records)
	return archived, nil
}

// records are all records in an issue's namespace, oldest first.
func (b *Book) records(ctx context.Context, issue string) ([]handoff.Artifact, error) {
	page, err := b.Hub.Artifacts(ctx, handoff.ArtifactQuery{Namespace: issue, IncludeInactive: true})
	slices.Reverse(page.Artifacts)
	return page.Artifacts, err
}

// recall adds to a state what records know of its attempts.
func (b *Book) recall(ctx context.Context, s *State, records []handoff.Artifact) {
	var writes []Write
	var before time.Time
	revisions := map[string]int{}
	for _, a := range records {
		revisions[a.Name]++
		stage, err := b.Pipeline.Stage(a.Name)
		if err != nil || a.Name != stage.Artifact || path.Dir(a.Path) != s.Folder || a.Root != "" || a.Status == handoff.Withdrawn {
			continue
		}
		w := b.write(ctx, stage, a)
		w.Ref = fmt.Sprintf("%s/%s --rev %d", a.Namespace, a.Name, revisions[a.Name])
		if w.Started = b.began(ctx, a.Record.Producer, before); !w.Started.IsZero() {
			w.Took = max(0, w.At.Sub(w.Started))
		}
		before = w.At
		writes = append(writes, w)
	}
	if len(writes) > 0 {
		s.Writes = b.unrecorded(*s, writes)
	}
}

// write is an attempt as its record tells of it. Bytes that lay in the folder
// without a record and were kept by the next put tell for themselves.
func (b *Book) write(ctx context.Context, stage *contract.Stage, a handoff.Artifact) Write {
	w := Write{Stage: stage.Name, ID: a.ID, Digest: a.Digest.Value, Agent: a.Record.Producer.Agent, At: a.CreatedAt}
	var said attempt
	if json.Unmarshal(a.Metadata, &said) == nil && said.Stage != "" {
		w.Outcome, w.Tier, w.Read = said.Outcome, said.Tier, said.Read
		return w
	}
	body, err := b.Hub.Open(ctx, a.ID)
	if err != nil {
		return w
	}
	defer body.Close()
	if text, err := io.ReadAll(io.LimitReader(body, contract.MaxArtifact+1)); err == nil {
		value := stage.Validate(text).Value
		own := (&State{}).write(stage.Name, Output{Report: contract.Report{Value: value}})
		w.Agent, w.Outcome, w.Tier = own.Agent, own.Outcome, own.Tier
	}
	return w
}

// began is when work on an attempt began: when the run or session of its agent
// was opened, or when the attempt before it was recorded, whichever is later;
// zero where neither is known.
func (b *Book) began(ctx context.Context, p handoff.Producer, before time.Time) time.Time {
	for _, id := range []string{p.RunID, p.Session} {
		if id == "" {
			continue
		}
		if s, err := b.Hub.Session(ctx, id); err == nil && s.OpenedAt.After(before) {
			return s.OpenedAt
		}
	}
	return before
}

// unrecorded puts among the recorded writes those artifacts that lie in the
// folder and that no record tells of.
func (b *Book) unrecorded(s State, writes []Write) []Write {
	for _, stage := range b.Pipeline.Stages {
		out, there := s.Outputs[stage.Name]
		last := (&State{Writes: writes}).last(stage.Name)
		if !there || last >= 0 && writes[last].Digest == out.Digest {
			continue
		}
		at := slices.IndexFunc(writes, func(w Write) bool { return out.Digest != "" && w.Read[stage.Name] == out.Digest })
		if at < 0 || at < last {
			at = len(writes)
		}
		w := s.write(stage.Name, out)
		w.Digest = out.Digest
		writes = slices.Insert(writes, at, w)
	}
	return writes
}

// free returns an error of kind Conflict where an issue's id is that of a
// session or run, or where a run keeps its names in that namespace.
func (b *Book) free(ctx context.Context, issue string) error {
	records, err := b.records(ctx, issue)
	if err != nil {
		return err
	}
	taken := func(what string) error {
		return &handoff.Error{Op: "put", Name: issue, Kind: handoff.Conflict, Err: errors.New(what), Hint: handoff.Advice("name the issue otherwise, such as issue-" + issue)}
	}
	for _, a := range records {
		if a.Root != "" || !isRun(a.Path) {
			return taken("is the id of a run that wrote " + a.Name)
		}
	}
	session, err := b.Hub.Session(ctx, issue)
	if err == nil && session.Opened != 0 {
		return taken("is the id of a session or run")
	}
	if errors.Is(err, handoff.NotFound) {
		return nil
	}
	return err
}

// isRun reports whether a path lies in the folder of a run, archived or not.
func isRun(file string) bool {
	ok, _ := path.Match(Folder+"/*/*", file)
	archived, _ := path.Match(path.Join(Folder, contract.Completed, "*/*"), file)
	return ok || archived
}

// Path returns the path of a stage's artifact, below the workspace. Its kinds
// are those of Read, NotFound where its stage has not been done, and
// Unavailable where it was, and the file is gone.
func (b *Book) Path(ctx context.Context, issue, stage string) (string, error) {
	st, err := b.Pipeline.Stage(stage)
	if err != nil {
		return "", err
	}
	if err := contract.CheckIssue(issue); err != nil {
		return "", err
	}
	for _, name := range slices.Backward(st.Files()) {
		file := path.Join(Folder, issue, name)
		if _, err := b.Files.Lstat(file); err == nil {
			return file, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", &handoff.Error{Op: "get", Name: file, Kind: handoff.Unavailable, Err: err}
		}
	}
	ref := issue + "/" + st.Artifact
	records, err := b.records(ctx, issue)
	if err != nil {
		return "", err
	}
	for _, a := range slices.Backward(records) {
		if a.Name != st.Artifact || a.Status == handoff.Withdrawn {
			continue
		}
		if path.Dir(a.Path) != path.Join(Folder, issue) {
			return a.Path, nil // it was archived
		}
		return "", &handoff.Error{Op: "get", Name: ref, Kind: handoff.Unavailable, Err: errors.New("its file is gone"), Hint: handoff.Advice("handoff read " + ref + " prints what was kept of it")}
	}
	return "", &handoff.Error{Op: "get", Name: ref, Kind: handoff.NotFound, Err: errors.New("this stage has not been done"), Hint: handoff.Advice("handoff pipeline next " + issue + " tells what comes next")}
}
