// Package config finds a workspace, reads its settings, and determines the
// caller's identity from the environment.
package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/sshsig"
	"github.com/agent-handoff/handoff/settings"
	"go.yaml.in/yaml/v4"
)

// fileName is the name of the settings, in the runtime directory.
const fileName = "config.yaml"

// maxConfig is the size of the largest settings, in bytes.
const maxConfig = 1 << 20

// A Config are the settings of a workspace. Its zero value means that there are
// none. places says which files may have which.
type Config struct {
	// Channels are the channels that this workspace explains, with their
	// purposes. Any other may be used as well.
	Channels map[string]string `yaml:"channels"`

	// Keep says which published files are copied, as they were.
	Keep handoff.Keep `yaml:"keep"`

	// Log is the URL of the log. See CheckLog.
	Log string `yaml:"log"`

	// Queue says whether records are queued on this machine while the log can't be
	// reached; nil for the default of the log.
	Queue *bool `yaml:"queue"`

	Limits Limits `yaml:"limits"`

	// ArchiveAfter is the age, since its end, at which a session is archived; 0 for
	// never.
	ArchiveAfter Age `yaml:"archive_after"`

	// KeepThreads is true if the transcripts that a session references are kept when
	// it ends, with their secrets redacted.
	KeepThreads *bool `yaml:"keep_threads"`

	// Retention says which copies are kept of what is no longer current; see
	// settings.ParsePolicy.
	Retention string `yaml:"retention"`

	// ShareThreads is true if kept transcripts may be stored in a log that other
	// machines use, with their secrets redacted.
	ShareThreads *bool `yaml:"share_threads"`

	// ReviewFrom is a file of allowed signers, or SSH public keys, one on a line. Comments of
	// other machines that they signed are handed to agents.
	ReviewFrom string `yaml:"review_from"`

	// Prices is a file with prices of models, which count before those that are built in.
	Prices string `yaml:"prices"`

	// OutputFolder and AgentOutputsFolder say where session folders go, with
	// the variables of Paths.
	OutputFolder       string `yaml:"output_folder"`
	AgentOutputsFolder string `yaml:"agent_outputs_folder"`

	root    string            // of the repository
	source  map[string]string // where each setting comes from, by its name
	ignored []settings.Entry  // of files that can't decide about them
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

// Parse decodes settings. Unknown keys are errors, so that misspelled ones are
// noticed.
func Parse(b []byte) (Config, error) {
	var c Config
	err := parse(b, &c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return Config{}, err
	}
	return c, nil
}

// parse decodes a file of settings.
func parse(b []byte, into any) error {
	if len(b) > maxConfig {
		return fmt.Errorf("has %d bytes, more than %d", len(b), maxConfig)
	}
	if isEmpty(string(b)) {
		return nil
	}
	if err := yaml.Load(b, into, yaml.WithKnownFields()); err != nil {
		return plainfile.InvalidAt(err)
	}
	return nil
}

func (c Config) check() error {
	for name := range c.Channels {
		if handoff.CheckChannel(name) != nil {
			return errors.New("channels: a name is not lower-case words separated by dashes")
		}
	}
	if c.Keep.Check() != nil {
		return errors.New("keep: must be auto, always or never")
	}
	if _, err := settings.ParsePolicy(c.Retention); err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	if c.Log != "" && Redact(c.Log) == "" {
		return errors.New("log: not a URL of the form scheme:location")
	}
	if from := c.ReviewFrom; from != "" && !sshsig.IsPublicKey(from) && !filepath.IsAbs(from) &&
		!strings.HasPrefix(from, "~/") {
		return errors.New("review_from: neither an absolute path nor an SSH public key")
	}
	if p := c.Prices; p != "" && !filepath.IsAbs(p) && !strings.HasPrefix(p, "~/") {
		return errors.New("prices: neither an absolute path nor one that begins with ~/")
	}
	return nil
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
	order.Sort(own, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return append(list, own...)
}

// An Age is a duration. It is written as a number of days, hours or minutes, such as
// 30d.
type Age time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (a *Age) UnmarshalYAML(n *yaml.Node) (err error) {
	if *a, err = ParseAge(n.Value); err != nil {
		err = fmt.Errorf("line %d: %w", n.Line, err)
	}
	return err
}

// ParseAge parses an age.
func ParseAge(text string) (Age, error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute}
	for suffix, unit := range units {
		digits, ok := strings.CutSuffix(text, suffix)
		count, err := strconv.ParseInt(digits, 10, 32)
		if ok && err == nil && count > 0 && count <= int64(math.MaxInt64/unit) {
			return Age(time.Duration(count) * unit), nil
		}
	}
	return 0, fmt.Errorf("invalid age %q (use 30d, 12h or 90m)", text)
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
