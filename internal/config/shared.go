package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/plainfile"
	"github.com/agent-handoff/handoff/internal/safepath"
)

// sharedName is the name of the settings that a repository shares, at its root.
// A setting in the private config.yaml wins over the same one in this file.
const sharedName = "handoff.yaml"

// LogVariable is the variable that names the log. It wins over every file.
const LogVariable = "HANDOFF_LOG"

// A Setting is a setting that applies, with its value for people to read.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // a file, an environment variable, or "default"
}

// shared are the settings that handoff.yaml may have.
type shared struct {
	Channels  map[string]string `yaml:"channels"`
	Keep      handoff.Keep      `yaml:"keep"`
	Pipelines string            `yaml:"pipelines"`
	Log       string            `yaml:"log"`
}

// Load returns the settings of a workspace: those of its private config.yaml, of
// the handoff.yaml at the root of its main worktree, and of the environment.
// Missing files are not an error. Error kinds: Invalid, Unavailable.
func Load(w Workspace, getenv func(string) string) (Config, error) {
	c := Config{root: cmp.Or(w.Worktree(""), w.Root), source: map[string]string{}}
	private, team := filepath.Join(w.Runtime, fileName), filepath.Join(c.root, sharedName)
	err := read(private, "channels, keep, pipelines, log, queue, limits, archive_after, keep_threads, share_threads, output_folder and agent_outputs_folder", func(b []byte) (err error) {
		found, err := Parse(b)
		found.root, found.source = c.root, c.source
		c = found
		c.cite(private)
		return err
	})
	if err != nil {
		return Config{}, err
	}
	err = read(team, "channels, keep, pipelines and log", func(b []byte) error {
		var s shared
		if err := parse(b, &s); err != nil {
			return err
		}
		t := Config{Channels: s.Channels, Keep: s.Keep, Pipelines: s.Pipelines, Log: s.Log, source: map[string]string{}}
		t.cite(team)
		c.add(t)
		return t.check()
	})
	if err != nil {
		return Config{}, err
	}
	if log := getenv(LogVariable); log != "" {
		c.Log, c.source["log"] = log, LogVariable
	}
	return c, nil
}

// read parses a file of settings, if there is one.
func read(name, keys string, parse func([]byte) error) error {
	b, err := plainfile.Read(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &handoff.Error{Op: "read config", Name: name, Kind: handoff.Unavailable, Err: reason(err), Hint: handoff.Advice("make the file readable")}
	}
	if err := parse(b); err != nil {
		return &handoff.Error{Op: "read config", Name: name, Kind: handoff.Invalid, Err: err,
			Hint: handoff.Advice("the keys are " + keys + "; a size is a number of bytes or has a unit (64MiB), an age has a unit (30d)")}
	}
	return nil
}

// cite notes the file that the settings of c come from.
func (c *Config) cite(file string) {
	for _, s := range c.set() {
		c.source[s.Name] = file
	}
}

// add adds the settings of other that c does not have.
func (c *Config) add(other Config) {
	for name, from := range other.source {
		if c.source[name] == "" {
			c.source[name] = from
		}
	}
	c.Keep, c.Pipelines, c.Log = cmp.Or(c.Keep, other.Keep), cmp.Or(c.Pipelines, other.Pipelines), cmp.Or(c.Log, other.Log)
	channels := maps.Clone(other.Channels)
	if channels == nil {
		channels = map[string]string{}
	}
	maps.Copy(channels, c.Channels)
	if len(channels) > 0 {
		c.Channels = channels
	}
}

// set returns the settings that have a value.
func (c Config) set() []Setting {
	list := []Setting{
		{Name: "log", Value: Redact(c.Log)}, {Name: "keep", Value: string(c.Keep)}, {Name: "pipelines", Value: c.Pipelines},
		{Name: "output_folder", Value: c.OutputFolder}, {Name: "agent_outputs_folder", Value: c.AgentOutputsFolder},
	}
	for name, size := range map[string]Size{"limits.digest": c.Limits.Digest, "limits.worktree_keep": c.Limits.WorktreeKeep} {
		if size > 0 {
			list = append(list, Setting{Name: name, Value: fmt.Sprint(int64(size))})
		}
	}
	if c.Queue != nil {
		list = append(list, Setting{Name: "queue", Value: fmt.Sprint(*c.Queue)})
	}
	if c.ArchiveAfter > 0 {
		list = append(list, Setting{Name: "archive_after", Value: time.Duration(c.ArchiveAfter).String()})
	}
	for name, on := range map[string]bool{"keep_threads": c.KeepThreads, "share_threads": c.ShareThreads} {
		if on {
			list = append(list, Setting{Name: name, Value: "true"})
		}
	}
	for name, purpose := range c.Channels {
		list = append(list, Setting{Name: "channels." + name, Value: purpose})
	}
	return slices.DeleteFunc(list, func(s Setting) bool { return s.Value == "" && (s.Name != "log" || c.Log == "") })
}

// Settings returns the settings that apply, by name. Those that decide where
// records go and what is kept are listed with their defaults, too.
func (c Config) Settings() []Setting {
	list := c.set()
	for i, s := range list {
		list[i].Source = c.source[s.Name]
	}
	for _, s := range []Setting{{"log", "file:", "default"}, {"keep", string(handoff.KeepAuto), "default"}} {
		if c.source[s.Name] == "" {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Source returns where a setting comes from.
func (c Config) Source(name string) string { return c.source[name] }

// PipelineDir returns the directory of the workspace's own pipelines: the one in
// the runtime directory if it exists, otherwise the one that a setting names,
// which is inside the repository and not reached through a link.
func (c Config) PipelineDir(w Workspace) (string, error) {
	private := filepath.Join(w.Runtime, "pipelines")
	if _, err := os.Lstat(private); err == nil || c.Pipelines == "" {
		return private, nil
	}
	fail := func(reason string) (string, error) {
		return "", &handoff.Error{Op: "read config", Name: c.source["pipelines"], Kind: handoff.Invalid, Err: fmt.Errorf("pipelines: %s", reason),
			Hint: handoff.Advice("name a directory of the repository, relative to its root")}
	}
	if !filepath.IsLocal(c.Pipelines) {
		return fail("path leaves the repository")
	}
	if err := safepath.Check(c.Pipelines); err != nil {
		return fail(err.Error())
	}
	dir := c.root
	for _, element := range strings.Split(filepath.ToSlash(filepath.Clean(c.Pipelines)), "/") {
		dir = filepath.Join(dir, element)
		if err := plainfile.CheckDir(dir); err != nil {
			return fail(element + " is missing or not a directory")
		}
	}
	return dir, nil
}

// Redact returns the URL of a log without user name and password. It is "" if the
// text can't be parsed: it may contain a password anywhere.
func Redact(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Scheme == "" {
		return ""
	}
	u.User = nil
	u.Opaque = u.Opaque[strings.LastIndexByte(u.Opaque, '@')+1:]
	return u.String()
}
