package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/settings"
)

// A place is a set of sections and files that may have a setting.
type place uint8

const (
	userSection  place = 1 << iota // a workspace's section of the user's own file
	userDefaults                   // its section for the other workspaces
	runtimeFile                    // .handoff/config.yaml
	teamFile                       // handoff.yaml

	ofUser       = userSection | userDefaults
	ofRepository = runtimeFile | teamFile // a repository can bring both
)

// places has every setting. One that keeps or sends what is private, or that names
// a program, must not be ofRepository: a commit would decide about it. One that
// sends what is private is decided for each workspace.
var places = map[string]place{
	"keep_threads":  ofUser,
	"share_threads": userSection,
	"retention":     ofUser,
	"review_from":   ofUser,
	"prices":        ofUser,

	"channels": ofRepository,
	"log":      ofRepository, // is used once the user has accepted it

	"keep":                 ofUser | ofRepository, // of what was published, in the log that the user has accepted
	"queue":                ofUser | runtimeFile,
	"limits.digest":        ofUser | runtimeFile,
	"limits.worktree_keep": ofUser | runtimeFile,
	"archive_after":        ofUser | runtimeFile,
	"output_folder":        ofUser | runtimeFile,
	"agent_outputs_folder": ofUser | runtimeFile,
}

// namesOf returns the settings that a place may have.
func namesOf(p place) (names []string) {
	for name, in := range places {
		if in&p != 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// each calls do for every setting that c can have, with its name.
func (c *Config) each(do func(name string, value reflect.Value)) {
	eachField(reflect.ValueOf(c).Elem(), "", do)
}

func eachField(v reflect.Value, prefix string, do func(name string, value reflect.Value)) {
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Tag.Get("yaml"), v.Field(i)
		switch {
		case name == "": // is in no file
		case field.Kind() == reflect.Struct:
			eachField(field, prefix+name+".", do)
		default:
			do(prefix+name, field)
		}
	}
}

// add adds the settings of a file that c does not have. Those that only the user
// decides are ignored in a file of the workspace.
func (c *Config) add(other Config, from place, file string) (err error) {
	found := map[string]reflect.Value{}
	other.each(func(name string, v reflect.Value) { found[name] = v })
	c.each(func(name string, v reflect.Value) {
		theirs := found[name]
		switch {
		case theirs.IsZero():
		case places[name]&from == 0 && from&ofRepository != 0 && places[name]&ofRepository == 0:
			c.ignored = append(c.ignored, settings.Entry{Name: name, Value: text(theirs), Source: file, Ignored: true})
		case places[name]&from == 0:
			err = cmp.Or(err, fmt.Errorf("%s: can't be set in this place", name))
		case v.Kind() == reflect.Map:
			c.addChannels(other.Channels, file)
		case v.IsZero():
			v.Set(theirs)
			c.source[name] = file
		}
	})
	return err
}

func (c *Config) addChannels(theirs map[string]string, file string) {
	all := maps.Clone(theirs)
	for name := range theirs {
		key := "channels." + name
		c.source[key] = cmp.Or(c.source[key], file)
	}
	if maps.Copy(all, c.Channels); len(all) > 0 {
		c.Channels = all
	}
}

// text returns the value of a setting for people to read.
func text(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case *bool:
		return fmt.Sprint(*value)
	case Age:
		return time.Duration(value).String()
	case Size:
		return fmt.Sprint(int64(value))
	}
	return fmt.Sprint(v)
}

// Settings returns the settings that apply, by name, and those that are ignored.
// Those that decide where records go and what is kept are listed with their
// defaults, too.
func (c Config) Settings() []settings.Entry {
	list := slices.Clone(c.ignored)
	add := func(name, value string) {
		list = append(list, settings.Entry{Name: name, Value: value, Source: c.source[name]})
	}
	c.each(func(name string, v reflect.Value) {
		switch {
		case v.IsZero():
		case v.Kind() == reflect.Map:
			for channel, purpose := range c.Channels {
				add(name+"."+channel, purpose)
			}
		case name == "log":
			add(name, Redact(c.Log))
		default:
			add(name, text(v))
		}
	})
	for _, s := range []settings.Entry{{Name: "log", Value: "file:"}, {Name: "keep", Value: string(handoff.KeepAuto)}} {
		if c.source[s.Name] == "" {
			s.Source = "default"
			list = append(list, s)
		}
	}
	order.Sort(list, func(a, b settings.Entry) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Ignored returns the settings of the workspace's files that are ignored, because
// only the user decides about them.
func (c Config) Ignored() []settings.Entry { return c.ignored }

// Source returns where a setting comes from.
func (c Config) Source(name string) string { return c.source[name] }

// SharesThreads reports whether the user lets kept transcripts be stored in a log
// that other machines use.
func (c Config) SharesThreads() bool { return c.ShareThreads != nil && *c.ShareThreads }

// Policy returns the policy that the user has set, the zero value for none.
func (c Config) Policy() settings.Policy {
	p, _ := settings.ParsePolicy(c.Retention) // it was checked when it was read
	return p
}

// KeepsThreads reports whether the user wants the transcripts that a session
// references to be kept when it ends.
func (c Config) KeepsThreads() bool { return c.KeepThreads != nil && *c.KeepThreads }

var errNoDirectory = errors.New("there is no configuration directory")
