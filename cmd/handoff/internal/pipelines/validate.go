package pipelines

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/pipeline"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/spf13/cobra"
)

// A validation is the result for one file.
type validation struct {
	File  string `json:"file"`
	Stage string `json:"stage"`
	Valid bool   `json:"valid"`
	contract.Report
}

type validations struct {
	Valid bool         `json:"valid"` // all files are
	Files []validation `json:"files"`
}

func validateCommand(d *desk) *cobra.Command {
	var compat, stage string
	c := &cobra.Command{
		Use:   "validate FILE…",
		Short: "Validate artifacts against their schemas",
		Long: `Validate checks the types, values and structure of artifacts and prints every
error with a JSON pointer. Keys that the contract does not define are warnings.
The stage is determined by the name of the file, or by --stage. - reads standard
input.

With --compat it checks one file like pipeline/schema.py: the presence of
required keys, with the same texts and exit codes. --compat=expert also checks
tiers.

Exit code 1: a file is invalid.`,
		Example: "  handoff pipeline validate .pipeline/42/*.json\n  handoff pipeline validate - --stage plan < plan.json",
		Args:    cobra.ArbitraryArgs,
	}
	c.Flags().StringVar(&compat, "compat", "", "print the output of schema.py, `edition` practitioner or expert")
	c.Flags().Lookup("compat").NoOptDefVal = string(contract.Practitioner)
	c.Flags().StringVar(&stage, "stage", "", "`stage` whose contract applies")
	c.MarkFlagsMutuallyExclusive("compat", "stage")
	c.RunE = func(c *cobra.Command, args []string) error {
		return d.book(func(_ *workspace.Workspace, b *pipeline.Runs) error {
			if c.Flags().Changed("compat") {
				return d.compat(b.Pipeline, contract.Dialect(compat), args)
			}
			if len(args) == 0 {
				return cli.Invalid("validate", "", "requires at least one file", "usage: handoff pipeline validate FILE…")
			}
			return d.validate(b.Pipeline, stage, args)
		})
	}
	return c
}

func (d *desk) compat(p *contract.Pipeline, edition contract.Dialect, files []string) error {
	if d.AsJSON {
		return cli.Invalid("validate", "", "--compat and --json are mutually exclusive", "leave --json out")
	}
	if edition != contract.Practitioner && edition != contract.Expert {
		return cli.Invalid("", "--compat", fmt.Sprintf("unknown edition %q", edition), "use practitioner or expert")
	}
	answer := p.Compat(edition, func(name string) ([]byte, error) { return contract.ReadFile(d.Dir, name, d.In) }, files...)
	io.WriteString(d.Out, answer.Out)
	io.WriteString(d.Err, answer.Err)
	if answer.Code != 0 {
		return cli.ExitCode(answer.Code)
	}
	return nil
}

func (d *desk) validate(p *contract.Pipeline, stage string, files []string) error {
	result := validations{Valid: true, Files: []validation{}}
	for _, file := range files {
		name := stage
		if name == "" {
			name = filepath.Base(file)
		}
		s, err := p.Stage(name)
		if err != nil {
			return err
		}
		b, err := contract.ReadFile(d.Dir, file, d.In)
		if err != nil {
			return err
		}
		report := s.Validate(b)
		result.Valid = result.Valid && report.Valid()
		result.Files = append(result.Files, validation{file, s.Name, report.Valid(), report})
	}
	return d.answer(result.Valid, result, func() { d.validated(result.Files) })
}

func (d *desk) validated(list []validation) {
	for _, v := range list {
		for _, p := range v.Errors {
			fmt.Fprintf(d.Out, "%s: %s\n", cli.OneLine(v.File), cli.OneLine(p.String()))
		}
		for _, p := range v.Warnings {
			d.Warn("%s: %s", v.File, p)
		}
		if v.Valid {
			fmt.Fprintf(d.Out, "%s: ok\n", cli.OneLine(v.File))
		}
	}
}
