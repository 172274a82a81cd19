package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/contract"
	"github.com/spf13/cobra"
)

// validation is what a contract says of one file.
type validation struct {
	File  string `json:"file"`
	Stage string `json:"stage"`
	Valid bool   `json:"valid"`
	contract.Report
}

func pipelineValidateCommand(a *app) *cobra.Command {
	var compat, stage string
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Hold artifacts against their contracts",
		Long: `Validate checks the types, values and shapes of artifacts, and prints everything
that is wrong, each with a JSON pointer. Keys that the contract doesn't name are
warnings. A file's name tells its stage, unless --stage does; - is standard
input.

With --compat it checks one file as pipeline/schema.py does: the presence of
required keys, with the same texts and exit codes. --compat=expert also checks
tiers.

Exit code 1 says that a file breaks its contract.`,
		Example: "  handoff pipeline validate .pipeline/42/*.json\n  handoff pipeline validate - --stage plan < plan.json",
	}
	c.Flags().StringVar(&compat, "compat", "", "answer as schema.py of this `edition`: practitioner or expert")
	c.Flags().Lookup("compat").NoOptDefVal = string(contract.Practitioner)
	c.Flags().StringVar(&stage, "stage", "", "the `stage` whose contract counts")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.MarkFlagsMutuallyExclusive("compat", "stage")
	c.MarkFlagsMutuallyExclusive("compat", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.pipelineOf(func(_ *os.Root, p *contract.Pipeline) error {
			if c.Flags().Changed("compat") {
				return a.compat(p, contract.Dialect(compat), args)
			}
			if len(args) == 0 {
				return invalid("validate", "", "takes files", "usage: handoff pipeline validate FILE…")
			}
			return a.validate(p, stage, args, asJSON)
		})
	}
	return c
}

func (a *app) compat(p *contract.Pipeline, edition contract.Dialect, files []string) error {
	if edition != contract.Practitioner && edition != contract.Expert {
		return invalid("--compat", string(edition), "no such edition", "the editions are practitioner and expert")
	}
	answer := p.Compat(edition, a.readArtifact, files...)
	io.WriteString(a.out, answer.Out)
	io.WriteString(a.err, answer.Err)
	if answer.Code != 0 {
		return exitCode(answer.Code)
	}
	return nil
}

func (a *app) validate(p *contract.Pipeline, stage string, files []string, asJSON bool) error {
	list := []validation{}
	var refused error
	for _, file := range files {
		name := stage
		if name == "" {
			name = filepath.Base(file)
		}
		s, err := p.Stage(name)
		if err != nil {
			return err
		}
		b, err := a.readArtifact(file)
		if err != nil {
			return artifactError(file, err)
		}
		report := s.Validate(b)
		if !report.Valid() {
			refused = errNo
		}
		list = append(list, validation{file, s.Name, report.Valid(), report})
	}
	if asJSON {
		if err := a.json(list); err != nil {
			return err
		}
		return refused
	}
	for _, v := range list {
		for _, p := range v.Errors {
			fmt.Fprintf(a.out, "%s: %s\n", oneLine(v.File), oneLine(p.String()))
		}
		for _, p := range v.Warnings {
			a.warn("%s: %s", v.File, p)
		}
		if v.Valid {
			fmt.Fprintf(a.out, "%s: ok\n", oneLine(v.File))
		}
	}
	return refused
}

func artifactError(file string, err error) error {
	e := &handoff.Error{Op: "validate", Name: file, Kind: handoff.Unavailable, Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		e.Kind, e.Err, e.Hint = handoff.NotFound, errors.New("there is no such file"), "its stage has not been written yet; handoff pipeline next ISSUE says who writes"
	}
	return e
}

// readArtifact reads a file, or standard input, up to one byte more than an
// artifact may have.
func (a *app) readArtifact(name string) ([]byte, error) {
	in := a.in
	if name != "-" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(a.dir, name)
		}
		if info, err := os.Stat(name); errors.Is(err, syscall.ENOTDIR) {
			return nil, fs.ErrNotExist
		} else if err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, errors.New("is no regular file")
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, contract.MaxArtifact+1))
}
