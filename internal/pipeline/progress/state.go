// Package progress implements pipeline runs: which stage comes next, whether a
// stage is ready to build on, and the attempts.
//
// A run is a folder, .pipeline/ISSUE, with one file per stage. Any tool may
// write it. Every answer is a function of the contents of the files and, where
// it is known, of the order in which they were written. The order comes from
// records or from the run's own trace, never from file times: a copy or a
// checkout changes those. [Runs] records what stages submit and knows all
// attempts.
package progress

import (
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/agent-handoff/handoff/internal/pipeline/gate"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/agent-handoff/handoff/pipeline"
	"go.yaml.in/yaml/v4"
)

// A State is the state of one run, as read from its folder and its records.
type State struct {
	Issue string

	gate.Artifacts

	// Folder is the run's folder, relative to the workspace. Base is the prefix
	// of the paths in answers, "" if they are relative to the workspace.
	Folder, Base string

	Archived bool // it is in the folder of archived runs
	Missing  bool // its folder was removed; Attempts are known from the records

	// Attempts are the known attempts, oldest first. A stage with an output and
	// no attempt was written once, at an unknown time.
	Attempts []Attempt

	// Rejected are the recorded attempts that were withdrawn or not chosen. They do not count.
	Rejected []Attempt

	// Outdated are the files that have the content of an attempt before the newest.
	Outdated []pipeline.Outdated

	// AcceptStale lets a run go forward over an artifact whose inputs have changed
	// since it was made. What is repeated does not depend on it.
	AcceptStale bool

	// Notes is the content of state.yaml, nil if there is none, and NoteAttempts
	// are its recorded revisions.
	Notes        []byte
	NoteAttempts []Attempt

	// Waits are the stages whose gates wait for somebody.
	Waits map[string]wait

	// Lessons is the path of the lessons file, "" if there is none.
	Lessons string
}

// An Attempt is one attempt of a stage. Its members in JSON are the metadata in its record.
type Attempt struct {
	Stage    string                `json:"stage"`
	ID       string                `json:"-"` // of its record, "" if there is none
	Ref      string                `json:"-"` // 42/plan.json, "" if it is not recorded
	Revision int                   `json:"-"` // of Ref, from 1
	Digest   string                `json:"-"` // SHA-256 in hexadecimal, "" if it is unknown
	Agent    string                `json:"-"`
	Outcome  string                `json:"outcome"` // its verdict, status or classification
	Lenient  bool                  `json:"lenient"` // it was recorded as it is
	Adopted  bool                  `json:"adopted"` // its file existed before its record
	Tier     string                `json:"tier"`
	Gate     *pipeline.GateVerdict `json:"gate"` // when it was submitted, nil if that is unknown

	// Assumed is true if its writer did not say what it was made from: Read and From
	// are then what was current when it was submitted.
	Assumed bool `json:"assumed"`

	// Number is that of the attempt that its writer was given, from 1, 0 if it is
	// unknown. Writer identifies the writer. See sameWork.
	Number int    `json:"attempt"`
	Writer string `json:"-"`
	Work   string `json:"-"` // see fold.WorkOf
	Stale  string `json:"-"` // the first of its inputs that is out of date, as the log has it

	Decisions []string `json:"-"` // what was decided about it, see pipeline.Attempt

	// Read are the digests of the artifacts it was made from, by stage; nil if
	// that is unknown. From are the IDs of their records, for those that had one.
	Read map[string]string `json:"read"`
	From map[string]string `json:"-"`

	// Others are the IDs of the other files of an attempt with several, of which ID is the last.
	Others []string `json:"-"`

	Files map[string]string `json:"files"` // the digests of its files, by name; nil without a pattern
	ids   map[string]string // the IDs of the records of Files

	Started time.Time     `json:"-"` // zero if it is unknown
	Took    time.Duration `json:"-"` // 0 if it is unknown
	At      time.Time     `json:"-"` // when it was recorded, zero if it was not
}

// Read reads the folder of a run. A missing file is a stage that has not been
// done; a file that can't be read is an output with an error in its report. Its
// kinds are Invalid, for the ID, NotFound and Unavailable.
func Read(workspace *os.Root, p *contract.Pipeline, issue string) (State, error) {
	return readFolder(workspace, p, issue, path.Join(contract.Folder, issue))
}

// readOutside reads the files of a run in the folder that its definition names. The folder
// need not exist.
func (s *State) readOutside(workspace *os.Root, p *contract.Pipeline) error {
	s.Folder = path.Join(p.Folder, s.Issue)
	dir, err := workspace.OpenRoot(s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return s.readError(err)
	}
	defer dir.Close()
	return s.readOutputs(dir, p)
}

func readFolder(workspace *os.Root, p *contract.Pipeline, issue, folder string) (State, error) {
	s := State{Issue: issue, Folder: folder, Artifacts: gate.Artifacts{Outputs: map[string]gate.Output{}}}
	if err := contract.CheckIssue(issue); err != nil {
		return s, err
	}
	dir, err := workspace.OpenRoot(folder)
	if err != nil {
		return s, s.readError(err)
	}
	defer dir.Close()
	if p.Folder != contract.Folder {
		err := s.readOutside(workspace, p)
		return s, err
	}
	if err := s.readOutputs(dir, p); err != nil {
		return s, err
	}
	if !p.IsPreset() {
		return s, nil
	}
	if b, err := readFile(dir, contract.TraceFile); err == nil {
		if attempts := tracedAttempts(p, b); len(attempts) > 0 {
			s.Attempts = attempts
		}
	}
	if s.Notes, err = readFile(dir, contract.StateFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, s.readError(err)
	}
	s.Complexity = s.complexity(p)
	if file := path.Join(contract.Folder, contract.Lessons); exists(workspace, file) {
		s.Lessons = file
	}
	return s, nil
}

// readOutputs reads the artifacts of the stages.
func (s *State) readOutputs(dir *os.Root, p *contract.Pipeline) error {
	for _, stage := range p.Stages {
		if stage.IsPattern() {
			out, err := outputOfFiles(dir, stage)
			if err != nil {
				return s.readError(err)
			}
			if len(out.Files) > 0 {
				s.Outputs[stage.Name] = out
			}
			continue
		}
		for _, name := range stage.Files() {
			b, err := readFile(dir, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			out := output(stage, name, b, err)
			if name != stage.Artifact {
				s.Attempts = append(s.Attempts, attemptOf(stage.Name, out))
			}
			s.Outputs[stage.Name] = out
		}
	}
	s.dropSingleAliases(p)
	return nil
}

func (s State) readError(err error) error {
	e := handoff.E("read run", s.Issue, handoff.Unavailable, durable.Reason(err),
		handoff.Advice("make "+s.Folder+" readable"))
	if errors.Is(err, fs.ErrNotExist) {
		e.Kind, e.Err = handoff.NotFound, fmt.Errorf("%s does not exist", s.file(""))
		e.Hint = handoff.Suggest("create it", handoff.ActionStart, s.Issue)
	}
	return e
}

// file returns the path of a file of the run, as answers show it.
func (s State) file(name string) string { return path.Join(s.Base, s.Folder, name) }

// readFile reads a regular file, up to one byte more than the limit of an
// artifact.
func readFile(dir *os.Root, name string) ([]byte, error) {
	info, err := dir.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, contract.MaxArtifact+1))
}

func output(stage *contract.Stage, name string, b []byte, err error) gate.Output {
	if err != nil {
		return gate.Output{File: name, Report: pipeline.Report{
			Errors: []jsonschema.Problem{{Text: "can't be read: " + durable.Reason(err).Error()}}}}
	}
	return gate.Output{File: name, Digest: digestOf(b), Report: stage.Validate(b)}
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// dropSingleAliases drops the attempts of stages that have a single file, under
// an alias: it is the stage's artifact and shows no order.
func (s *State) dropSingleAliases(p *contract.Pipeline) {
	var kept []Attempt
	for _, stage := range p.Stages {
		var own []Attempt
		for _, a := range s.Attempts {
			if a.Stage == stage.Name {
				own = append(own, a)
			}
		}
		if out, ok := s.Outputs[stage.Name]; ok && out.File == stage.Artifact && len(own) > 0 {
			own = append(own, attemptOf(stage.Name, out))
		}
		if len(own) > 1 {
			kept = append(kept, own...)
		}
	}
	s.Attempts = kept
}

// attemptOf returns the attempt that an output itself describes.
func attemptOf(stage string, out gate.Output) Attempt {
	return Attempt{Stage: stage, Digest: out.Digest, Agent: contract.Text(out.Report.Value["produced_by"]),
		Outcome: contract.Outcome(out.Report.Value), Tier: contract.Text(out.Report.Value["tier_used"])}
}

func (s *State) complexity(p *contract.Pipeline) string {
	_, plan := s.Checked(p, contract.CheckPlan)
	if v := contract.Text(plan["complexity"]); v != "" {
		return v
	}
	var notes struct {
		Complexity any `yaml:"complexity"`
	}
	if yaml.Load(s.Notes, &notes) != nil {
		return ""
	}
	return contract.Text(notes.Complexity)
}

// countAttempts returns how often a stage has been done, in all and on a tier.
// Results of different writers for one attempt count once. The count of a tier is
// without the attempts that escalated to the next tier.
func (s *State) countAttempts(stage, tier string) (all, onTier int) {
	for i, a := range s.Attempts {
		if a.Stage != stage || s.isRival(i) {
			continue
		}
		all++
		if tierOf(a.Tier) == tierOf(tier) && a.Outcome != "escalate" {
			onTier++
		}
	}
	if _, ok := s.Outputs[stage]; ok && all == 0 {
		return 1, 1
	}
	return all, onTier
}

// last returns the index of the attempt of a stage that the folder contains: the
// last one with the content of its file, otherwise the last one; -1 if none is known.
func (s *State) last(stage string) int {
	last, digest := -1, s.Outputs[stage].Digest
	for i, a := range slices.Backward(s.Attempts) {
		if a.Stage == stage && digest != "" && a.Digest == digest {
			return i
		}
		if a.Stage == stage && last < 0 {
			last = i
		}
	}
	return last
}

// addUnrecorded inserts the artifacts in the folder that have no record into the
// recorded attempts: each before the attempts that read it, and before those of later
// stages that have no record either, because nothing is known of their order.
func (s *State) addUnrecorded(p *contract.Pipeline) {
	for _, stage := range slices.Backward(p.Stages) {
		out, ok := s.Outputs[stage.Name]
		last := s.last(stage.Name)
		if !ok || last >= 0 && s.Attempts[last].Digest == out.Digest {
			continue
		}
		at := slices.IndexFunc(s.Attempts, func(a Attempt) bool {
			return a.ID == "" || out.Digest != "" && a.Read[stage.Name] == out.Digest
		})
		if at < 0 || at < last {
			at = len(s.Attempts)
		}
		s.Attempts = slices.Insert(s.Attempts, at, attemptOf(stage.Name, out))
	}
}

// isCurrent reports whether the folder contains an attempt, by its index.
func (s *State) isCurrent(i int) bool {
	_, ok := s.Outputs[s.Attempts[i].Stage]
	return ok && s.last(s.Attempts[i].Stage) == i
}

// newer reports whether input is known to have been done again since stage was
// done. An attempt with the same bytes is newer, too. If the attempt that stage
// was made from had no record, its digest identifies it; if nothing is known
// about it, the order of attempts decides.
func (s *State) newer(input, stage string) bool {
	at, before := s.last(stage), s.last(input)
	if at < 0 || s.AcceptStale {
		return false
	}
	a := s.Attempts[at]
	if id := a.From[input]; id != "" &&
		slices.ContainsFunc(s.Attempts, func(known Attempt) bool { return known.ID == id }) {
		return s.Attempts[before].ID != id
	}
	read, ok := a.Read[input]
	if !ok {
		return before > at
	}
	return read != s.Outputs[input].Digest || slices.ContainsFunc(s.Attempts[at+1:], func(later Attempt) bool {
		// A file that was recorded later, as it was, is the one that was read.
		return later.Stage == input && (later.Read != nil || later.Digest != read)
	})
}
