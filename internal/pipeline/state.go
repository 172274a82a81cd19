// Package pipeline answers questions about the run of a pipeline: what comes
// next, whether a stage may be built upon, how long things took, and what was
// learnt.
//
// A run is a folder, .pipeline/ISSUE, with one file a stage. It is read as it
// is, whoever wrote it. Every answer is a function of what the files say and, as
// far as it is known, of the order in which they were written. That order comes
// from records or from the run's own trace, never from file times: a copy or a
// checkout changes those. A [Book] keeps runs:
// it records what stages write and knows all their attempts.
package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"go.yaml.in/yaml/v4"
)

// Folder is the folder of all runs, below the workspace.
const Folder = ".pipeline"

// A State is a run as it was found.
type State struct {
	Issue string

	// Outputs are the stages' artifacts, by stage.
	Outputs map[string]Output

	// Folder is where the run lies, below the workspace. Base is what the paths
	// in answers begin with before it: "" where they are read from there.
	Folder, Base string

	// Writes are what is known of how the artifacts came about, oldest first.
	// A stage that isn't in it was written once, at a time unknown.
	Writes []Write

	// AcceptStale says that what changed since an artifact was made is not
	// held against it.
	AcceptStale bool

	// Complexity is what the planner's notes say of the issue: trivial,
	// standard, complex, or "".
	Complexity string

	// Notes is state.yaml, nil where there is none.
	Notes []byte
}

// An Output is one stage's artifact, as it lies in the folder.
type Output struct {
	File   string
	Digest string // SHA-256, in hexadecimal; "" where it can't be read
	Report contract.Report
}

// A Write is one attempt of a stage.
type Write struct {
	Stage   string
	ID      string // its record's, "" where there is none
	Ref     string // what reads it: 42/plan.json --rev 2, "" where there is no record
	Digest  string // SHA-256, in hexadecimal, "" where it isn't known
	Agent   string
	Outcome string // its verdict, status or classification
	Tier    string

	// Read are the digests of the artifacts that it was made from, by stage;
	// nil where that isn't known.
	Read map[string]string

	Started time.Time     // zero where it isn't known
	Took    time.Duration // 0 where it isn't known
	At      time.Time     // when it was recorded, zero where it wasn't
}

// Read reads a run's folder below the workspace. What is missing has not been
// written; what can't be read is an output whose report says so. Its kinds are
// Invalid, for the id, NotFound and Unavailable.
func Read(workspace *os.Root, p *contract.Pipeline, issue string) (State, error) {
	return readFolder(workspace, p, issue, path.Join(Folder, issue))
}

func readFolder(workspace *os.Root, p *contract.Pipeline, issue, folder string) (State, error) {
	s := State{Issue: issue, Folder: folder, Outputs: map[string]Output{}}
	if err := contract.CheckIssue(issue); err != nil {
		return s, err
	}
	dir, err := workspace.OpenRoot(folder)
	if err != nil {
		return s, s.unread(err)
	}
	defer dir.Close()
	for _, stage := range p.Stages {
		for _, name := range stage.Files() {
			b, err := readFile(dir, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			out := output(stage, name, b, err)
			if name != stage.Artifact {
				s.Writes = append(s.Writes, s.write(stage.Name, out))
			}
			s.Outputs[stage.Name] = out
		}
	}
	s.aliased(p)
	if b, err := readFile(dir, contract.TraceFile); err == nil {
		if writes := tracedWrites(p, b); len(writes) > 0 {
			s.Writes = writes
		}
	}
	if s.Notes, err = readFile(dir, contract.StateFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, s.unread(err)
	}
	s.Complexity = s.complexity()
	return s, nil
}

func (s State) unread(err error) error {
	e := &handoff.Error{Op: "read run", Name: s.Issue, Kind: handoff.Unavailable, Err: err,
		Hint: handoff.Advice("whoever asks needs to read " + s.Folder)}
	if errors.Is(err, fs.ErrNotExist) {
		e.Kind, e.Err = handoff.NotFound, fmt.Errorf("there is no %s", s.Folder)
		e.Hint = handoff.Advice("handoff pipeline init " + s.Issue + " makes it; a run begins with its plan.json")
	}
	return e
}

// file is the path of a file of the run, as answers give it.
func (s State) file(name string) string { return path.Join(s.Base, s.Folder, name) }

// readFile reads a regular file of at most one byte more than an artifact may
// have.
func readFile(dir *os.Root, name string) ([]byte, error) {
	info, err := dir.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file")
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, contract.MaxArtifact+1))
}

func output(stage *contract.Stage, name string, b []byte, err error) Output {
	if err != nil {
		return Output{File: name, Report: contract.Report{Errors: []contract.Problem{{Text: "can't be read: " + err.Error()}}}}
	}
	return Output{File: name, Digest: digestOf(b), Report: stage.Validate(b)}
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// aliased drops the attempts that aliases told of where there was only one: it
// is the stage's artifact then, and says nothing of the order.
func (s *State) aliased(p *contract.Pipeline) {
	var kept []Write
	for _, stage := range p.Stages {
		var own []Write
		for _, w := range s.Writes {
			if w.Stage == stage.Name {
				own = append(own, w)
			}
		}
		if out, ok := s.Outputs[stage.Name]; ok && out.File == stage.Artifact && len(own) > 0 {
			own = append(own, s.write(stage.Name, out))
		}
		if len(own) > 1 {
			kept = append(kept, own...)
		}
	}
	s.Writes = kept
}

func (s *State) write(stage string, out Output) Write {
	return Write{Stage: stage, Agent: text(out.Report.Value["produced_by"]), Outcome: outcome(out.Report.Value), Tier: text(out.Report.Value["tier_used"])}
}

// maxOutcome is the length of the longest outcome, in bytes. What is longer, or
// more than a word, is text.
const maxOutcome = 40

// outcome is the word with which an artifact says what came of its stage, ""
// where it says none.
func outcome(artifact map[string]any) string {
	for _, field := range []string{"verdict", "status", "classification"} {
		if v := text(artifact[field]); v != "" && len(v) <= maxOutcome && len(strings.Fields(v)) == 1 {
			return v
		}
	}
	return ""
}

func (s *State) complexity() string {
	if v := text(s.Outputs["plan"].Report.Value["complexity"]); v != "" {
		return v
	}
	var notes struct {
		Complexity any `yaml:"complexity"`
	}
	if yaml.Load(s.Notes, &notes) != nil {
		return ""
	}
	return text(notes.Complexity)
}

// attempts is how often a stage is known to have been done on a tier, without
// those attempts that handed the work to the next one.
func (s *State) attempts(stage, tier string) int {
	n := 0
	for _, w := range s.Writes {
		if w.Stage == stage && w.Tier == tier && w.Outcome != "escalate" {
			n++
		}
	}
	if _, there := s.Outputs[stage]; there && s.last(stage) < 0 {
		return 1
	}
	return n
}

// last is the place of a stage's last write, -1 where it isn't known.
func (s *State) last(stage string) int {
	for i := len(s.Writes) - 1; i >= 0; i-- {
		if s.Writes[i].Stage == stage {
			return i
		}
	}
	return -1
}

// stands reports, by place, which writes are what the folder holds.
func (s *State) stands() map[int]bool {
	last := map[string]int{}
	for i, w := range s.Writes {
		last[w.Stage] = i
	}
	places := map[int]bool{}
	for stage, i := range last {
		if _, there := s.Outputs[stage]; there {
			places[i] = true
		}
	}
	return places
}

// newer reports whether input is known to have changed since stage was written:
// by what it read, where that is recorded, else by the order of writes.
func (s *State) newer(input, stage string) bool {
	at, before := s.last(stage), s.last(input)
	if at < 0 || s.AcceptStale {
		return false
	}
	if read, ok := s.Writes[at].Read[input]; ok {
		return read != s.Outputs[input].Digest
	}
	return before > at
}

func text(v any) string { s, _ := v.(string); return s }

func list(v any) []any { l, _ := v.([]any); return l }

func object(v any) map[string]any { m, _ := v.(map[string]any); return m }

// texts are the strings of a list, others as they are written in JSON.
func texts(v any) []string {
	var words []string
	for _, item := range list(v) {
		s, ok := item.(string)
		if !ok {
			b, _ := json.Marshal(item)
			s = string(b)
		}
		words = append(words, s)
	}
	return words
}
