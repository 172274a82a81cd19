// Package config finds a workspace, reads its settings, and determines the
// caller's identity from the environment.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/plainfile"
	"go.yaml.in/yaml/v4"
)

// fileName is the name of the settings, in the runtime directory.
const fileName = "config.yaml"

// maxConfig is the size of the largest settings, in bytes.
const maxConfig = 1 << 20

// A Config is the content of config.yaml. Its zero value means that there is no
// file.
type Config struct {
	// Channels are the channels that this workspace explains, with their
	// purposes. Any other may be used as well.
	Channels map[string]string `yaml:"channels"`

	// Keep says which published files are copied, as they were.
	Keep handoff.Keep `yaml:"keep"`

	Limits Limits `yaml:"limits"`

	// OutputFolder and AgentOutputsFolder say where session folders go, with
	// the variables of Paths.
	OutputFolder       string `yaml:"output_folder"`
	AgentOutputsFolder string `yaml:"agent_outputs_folder"`
}

// Limits bound what handoff does by itself.
type Limits struct {
	// Digest is the size up to which a body that is not kept gets a digest; 0 for
	// the default.
	Digest Size `yaml:"digest"`

	// WorktreeKeep is the size up to which a body published in a linked git
	// worktree is kept, because worktrees are removed; 0 for the default.
	WorktreeKeep Size `yaml:"worktree_keep"`
}

// Load reads the settings in a runtime directory. A missing file is not an
// error. Error kinds: Invalid, Unavailable.
func Load(runtime string) (Config, error) {
	name := filepath.Join(runtime, fileName)
	b, err := plainfile.Read(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, &handoff.Error{Op: "read config", Name: name, Kind: handoff.Unavailable, Err: reason(err), Hint: handoff.Advice("make the file readable")}
	}
	c, err := Parse(b)
	if err != nil {
		return Config{}, &handoff.Error{Op: "read config", Name: name, Kind: handoff.Invalid, Err: err,
			Hint: handoff.Advice("the keys are channels, keep, limits, output_folder and agent_outputs_folder, a size is a number of bytes or such as 64MiB; README.md shows each")}
	}
	return c, nil
}

// Parse decodes settings. Unknown keys are errors, so that misspelled ones are
// noticed.
func Parse(b []byte) (Config, error) {
	var c Config
	if len(b) > maxConfig {
		return c, fmt.Errorf("has %d bytes, more than %d", len(b), maxConfig)
	}
	if isEmpty(string(b)) {
		return c, nil
	}
	if err := yaml.Load(b, &c, yaml.WithKnownFields()); err != nil {
		return Config{}, plainfile.InvalidAt(err, "YAML")
	}
	for name := range c.Channels {
		if handoff.CheckChannel(name) != nil {
			return Config{}, errors.New("channels: a name is not lower-case words separated by dashes")
		}
	}
	if c.Keep.Check() != nil {
		return Config{}, errors.New("keep: must be auto, always or never")
	}
	return c, nil
}

// isEmpty reports whether settings have only comments, which the decoder rejects.
func isEmpty(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return false
		}
	}
	return true
}

// Purposes returns the channels with a description, the built-in ones first.
func (c Config) Purposes() [][2]string {
	var list [][2]string
	for _, known := range handoff.Channels {
		purpose := known.Purpose
		if own, ok := c.Channels[known.Name]; ok {
			purpose = own
		}
		list = append(list, [2]string{known.Name, purpose})
	}
	var own [][2]string
	for name, purpose := range c.Channels {
		if !slices.ContainsFunc(list, func(k [2]string) bool { return k[0] == name }) {
			own = append(own, [2]string{name, purpose})
		}
	}
	slices.SortFunc(own, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return append(list, own...)
}

// A Size is a number of bytes. It is written as a number, or as one with KiB,
// MiB or GiB.
type Size int64

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *Size) UnmarshalYAML(n *yaml.Node) error {
	size, err := parseSize(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*s = size
	return nil
}

func parseSize(text string) (Size, error) {
	digits, unit := text, int64(1)
	for suffix, factor := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if before, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = strings.TrimSpace(before), factor
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("invalid size %q (use 64MiB or a number of bytes)", text)
	}
	return Size(n * unit), nil
}
