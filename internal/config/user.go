package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/settings"
	"go.yaml.in/yaml/v4"
)

// userSettings is the user's own file of settings, in the user's configuration
// directory. No repository can change it.
type userSettings struct {
	Defaults   Config            `yaml:"defaults"`
	Workspaces map[string]Config `yaml:"workspaces"` // by the directory that Home returns
}

// userFile returns the name of the user's own file, "" if there is no directory for it.
func userFile(getenv func(string) string) string {
	dir := userdir.Config(getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, fileName)
}

// addUser adds the user's own settings.
func (c *Config) addUser(w Workspace, getenv func(string) string) error {
	file := userFile(getenv)
	if file == "" {
		return nil
	}
	b, err := plainfile.ReadLinked(file, maxConfig) // the user may keep it elsewhere
	return read(file, b, err, namesOf(ofUser), func(b []byte) error {
		u, err := parseUser(b)
		if err == nil {
			err = c.add(u.Workspaces[w.Home()], userSection, file)
		}
		if err == nil {
			err = c.add(u.Defaults, userDefaults, file)
		}
		return err
	})
}

// parseUser decodes the user's own file. Every section is checked, so that a
// mistake is noticed where it is made.
func parseUser(b []byte) (u userSettings, err error) {
	if err = parse(b, &u); err != nil {
		return u, err
	}
	check := func(section string, c Config, p place) error {
		err := c.check()
		if err == nil {
			err = (&Config{source: map[string]string{}}).add(c, p, "")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", section, err)
		}
		return nil
	}
	err = check("defaults", u.Defaults, userDefaults)
	for home, c := range u.Workspaces {
		err = errors.Join(err, check(home, c, userSection))
	}
	return u, err
}

// sectionOf returns the place of the changed section, and the keys that lead to it.
func sectionOf(ch settings.Change, w Workspace) (place, []string) {
	if ch.Defaults {
		return userDefaults, []string{"defaults"}
	}
	return userSection, []string{"workspaces", w.Home()}
}

// changeWait is how long a process waits for another that changes the settings.
const changeWait = 10 * time.Second

// Set changes a setting in the user's own file, of a workspace or its defaults. The
// rest of the file and its comments are kept. When Set returns nil, the change is on
// stable storage. Kinds: Invalid, Unavailable.
func Set(ctx context.Context, w Workspace, getenv func(string) string, ch settings.Change) error {
	if err := checkChange(ch, w); err != nil {
		return err
	}
	file := userFile(getenv)
	if file == "" {
		return noDirectory("config set")
	}
	failed := func(err error) error {
		return handoff.E("config set", file, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the file writable").OrSet("XDG_CONFIG_HOME to another directory"))
	}
	if err := durable.MakeDirs(filepath.Dir(file), 0o700); err != nil {
		return failed(err)
	}
	lock, err := os.Open(filepath.Dir(file))
	if err != nil {
		return failed(err)
	}
	defer lock.Close()
	if err := durable.Lock(ctx, lock, syscall.LOCK_EX, changeWait); err != nil {
		return failed(err)
	}
	if real, err := filepath.EvalSymlinks(file); err == nil { // a link stays one
		file = real
	}
	b, err := plainfile.Read(file, maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed(err)
	}
	b, err = applyChange(ch, w, b)
	if err != nil {
		return handoff.E("config set", file, handoff.Invalid, err, handoff.Advice("edit the file"))
	}
	if err := writePrivate(file, string(b)); err != nil {
		return failed(err)
	}
	return nil
}

// checkChange refuses a setting that the section can't have, and a value that is none.
func checkChange(ch settings.Change, w Workspace) error {
	refuse := func(why error, hint string) error {
		return handoff.E("config set", ch.Name, handoff.Invalid, why, handoff.Advice(hint))
	}
	section, _ := sectionOf(ch, w)
	switch in, known := places[ch.Name]; {
	case !known:
		return refuse(errors.New("no such setting"), "the settings are "+strings.Join(namesOf(ofUser), ", "))
	case in&ofUser == 0:
		return refuse(errors.New("is decided by the files of the workspace"),
			"set it in .handoff/config.yaml or handoff.yaml")
	case in&section == 0:
		return refuse(errors.New("is decided for each workspace"), "set it for a workspace, without a default")
	case ch.Unset:
		return nil
	}
	if _, err := applyChange(ch, w, nil); err != nil || slices.Contains([]string{"", "~", "null"},
		strings.ToLower(ch.Value)) {
		return refuse(fmt.Errorf("invalid value %q", ch.Value), "use "+formOf(ch))
	}
	return nil
}

// formOf describes the values of the setting.
func formOf(ch settings.Change) string {
	switch fieldOf(ch).Interface().(type) {
	case *bool:
		return "true or false"
	case Size:
		return "64MiB or a number of bytes"
	case Age:
		return "30d, 12h or 90m"
	case handoff.Keep:
		return "auto, always or never"
	}
	if ch.Name == "prices" {
		return "an absolute path, or one that begins with ~/"
	}
	return "a text"
}

func fieldOf(ch settings.Change) (field reflect.Value) {
	new(Config).each(func(name string, v reflect.Value) {
		if name == ch.Name {
			field = v
		}
	})
	return field
}

// applyChange returns the content of a file of settings with the change.
func applyChange(ch settings.Change, w Workspace, b []byte) ([]byte, error) {
	document := yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	comments := ""
	if isEmpty(string(b)) {
		comments = string(b) // without settings, the library reads none
	} else if err := yaml.Load(b, &document); err != nil {
		return nil, plainfile.InvalidAt(err)
	}
	_, keys := sectionOf(ch, w)
	keys = append(keys, strings.Split(ch.Name, ".")...)
	last := len(keys) - 1
	at, err := document.Content[0], error(nil)
	for _, key := range keys[:last] {
		if at, err = mapping(at, key); err != nil {
			return nil, err
		}
	}
	at.Content = without(at.Content, keys[last])
	if !ch.Unset {
		value := &yaml.Node{Kind: yaml.ScalarNode, Value: ch.Value}
		if fieldOf(ch).Kind() == reflect.String {
			value.SetString(ch.Value)
		}
		at.Content = append(at.Content, scalar(keys[last]), value)
	}
	changed, err := yaml.Dump(&document)
	if err != nil {
		return nil, err
	}
	changed = append([]byte(comments), changed...)
	_, err = parseUser(changed)
	return changed, err
}

func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// mapping returns the mapping that a key of another has. It is added if it is missing
// or empty.
func mapping(in *yaml.Node, key string) (*yaml.Node, error) {
	if in.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: not a mapping", in.Line)
	}
	i := find(in.Content, key)
	if i < 0 {
		in.Content = append(in.Content, scalar(key), &yaml.Node{Kind: yaml.MappingNode})
		i = len(in.Content) - 2
	}
	value := in.Content[i+1]
	if value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null" {
		*value = yaml.Node{Kind: yaml.MappingNode, HeadComment: value.HeadComment, LineComment: value.LineComment,
			FootComment: value.FootComment}
	}
	value.Style &^= flowOfNothing(value)
	if value.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: %s: not a mapping", value.Line, key)
	}
	return value, nil
}

// flowOfNothing returns the style that an empty mapping has, {}, which what is added
// to it should not have.
func flowOfNothing(n *yaml.Node) yaml.Style {
	if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		return yaml.FlowStyle
	}
	return 0
}

// find returns the place of a key in the content of a mapping, -1 if it has none.
func find(content []*yaml.Node, key string) int {
	for i := 0; i+1 < len(content); i += 2 {
		if content[i].Kind == yaml.ScalarNode && content[i].Value == key {
			return i
		}
	}
	return -1
}

func without(content []*yaml.Node, key string) []*yaml.Node {
	if i := find(content, key); i >= 0 {
		return slices.Delete(content, i, i+2)
	}
	return content
}

func noDirectory(op string) error {
	return handoff.E(op, "", handoff.Unavailable, errNoDirectory,
		handoff.Hint{}.OrSet("HOME or XDG_CONFIG_HOME to an absolute path"))
}

// writePrivate writes a file that only the user can read. Its directory exists.
func writePrivate(file, text string) error {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.Base(file)
	empty, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600) // its mode is kept
	if err == nil {
		err = errors.Join(empty.Chmod(0o600), empty.Close())
	}
	if err != nil {
		return err
	}
	return durable.Replace(root, name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}
