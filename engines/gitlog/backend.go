package gitlog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/remote"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/storage"
)

// Backends open logs in git repositories:
//
//	git:REMOTE               a remote of the workspace's own repository
//	git:/path, git:./path    a repository on this machine
//	git+ssh://host/path      over ssh
//	git+https://host/path    over HTTPS
//
// A fragment is the name of the log in the repository, by default "default". The
// query can have the settings poll and timeout, durations, and max_body, a size in
// bytes.
var Backends = []storage.Backend{
	{Scheme: "git", Open: open, Destinations: destinations, Remote: true, Queue: true, Settings: settingNames},
	{Scheme: "git+ssh", Open: open, Destinations: destinations, Remote: true, Queue: true, Settings: settingNames},
	{Scheme: "git+https", Open: open, Destinations: destinations, Remote: true, Queue: true, Settings: settingNames},
}

var settingNames = []string{"poll", "timeout", "max_body"}

// defaultPoll is how long records of other machines may stay unseen.
const defaultPoll = time.Second

func open(b storage.BackendOptions) (handoff.Log, handoff.Bodies, error) {
	l, err := newLog(b)
	if err != nil {
		return nil, nil, err
	}
	if d := b.Destinations; len(d) > 0 {
		l.o.Fetch, l.o.Push = d[0], d[len(d)-1]
	}
	return l, l.Bodies(), nil
}

func newLog(b storage.BackendOptions) (*Log, error) {
	o, err := options(b.Location)
	if err != nil {
		return nil, handoff.E("open log", redact(b.Location.String()), handoff.Invalid, err,
			handoff.Advice(
				"use git:REMOTE, git:/path, git+ssh://host/path or git+https://host/path, with #name for a second log"))
	}
	o.Runtime = b.Runtime
	o.Cache = userdir.Cache(b.Getenv)
	o.Rand = b.Rand
	o.Work = b.Root
	if o.Remote == "" && strings.HasPrefix(o.Fetch, ".") {
		o.Fetch = filepath.Join(b.Root, o.Fetch)
	}
	return Open(o), nil
}

// destinations returns the URL that records are fetched from, and the one that they are
// pushed to if it is another. A commit can change both: the remote can be in a file of
// the work tree that .git/config includes, and a path can have a link in it.
func destinations(b storage.BackendOptions) ([]string, error) {
	l, err := newLog(b)
	if err != nil {
		return nil, err
	}
	r, err := l.resolve(context.Background())
	if err != nil {
		return nil, err
	}
	list := []string{l.real(r.fetch)}
	if push := l.real(r.push); push != list[0] {
		list = append(list, push)
	}
	return list, nil
}

// real returns a path of this machine without symbolic links, and any other URL as it
// is.
func (l *Log) real(location string) string {
	path := l.absolute(strings.TrimPrefix(location, "file://"))
	if !filepath.IsAbs(path) {
		return location
	}
	return existing(path)
}

// missing returns the error of a fetch with the kind NotFound if its repository does not
// exist, and Invalid if there is something else at its path. Any other error, such as one
// of the network, is returned as it is.
func (l *Log) missing(fetch string, err error) error {
	if no := l.exists(fetch); no != nil {
		return no
	}
	printed := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(s string) bool { return strings.Contains(err.Error(), s) })
	}
	switch isPath := filepath.IsAbs(l.real(fetch)); {
	case isPath && printed("does not appear to be a git repository", "invalid gitfile format", "not a git repository"):
		return noLog(fetch, handoff.Invalid, "not a git repository")
	case !isPath && printed("does not appear to be a git repository", "epository not found", "' not found"):
		return noLog(fetch, handoff.NotFound, "the server has no such repository, or does not show it")
	}
	return err
}

// Exists returns the error of a log that does not exist. A server is asked for it, until
// it or the network has answered anything else.
func (l *Log) Exists(ctx context.Context) error {
	r, err := l.connect(ctx)
	if err == nil {
		err = l.exists(r.fetch)
	}
	if err != nil || filepath.IsAbs(l.real(r.fetch)) || l.asked.Load() {
		return err
	}
	r.dir = "/"
	r.other = true
	r.env = append(r.env, "GIT_DIR=/dev/null") // the settings of no repository
	if _, answer := r.git(ctx, nil, "ls-remote", "--quiet", "--", r.from, l.ref); answer != nil {
		err = l.missing(r.fetch, answer)
	}
	if no := (*remote.MissingError)(nil); errors.As(err, &no) {
		return err
	}
	l.asked.Store(true)
	return nil // of an outage, the append that follows returns the error
}

// exists returns an error of kind NotFound for a path of this machine where nothing is,
// and Invalid if that is no repository.
func (l *Log) exists(fetch string) error {
	path := l.real(fetch)
	if !filepath.IsAbs(path) {
		return nil
	}
	for _, dir := range []string{path, path + ".git"} { // as git looks for it
		for _, name := range []string{"HEAD", ".git"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return nil
			}
		}
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return noLog(fetch, handoff.NotFound, "no such file or directory")
	}
	return noLog(fetch, handoff.Invalid, "not a git repository")
}

func noLog(fetch string, kind handoff.Kind, reason string) error {
	return handoff.E("open log", redact(fetch), kind, &remote.MissingError{Reason: reason},
		handoff.Advice("check the location of the log, and create the repository with git if there is none yet"))
}

// existing follows the symbolic links of that part of a path that exists.
func existing(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || path == filepath.Dir(path) {
		return cmp.Or(real, path)
	}
	return filepath.Join(existing(filepath.Dir(path)), filepath.Base(path))
}

var (
	remoteForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`) })
	nameForm   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_-])?$`)
	})
)

// options returns the options that a location states.
func options(location *url.URL) (o Options, err error) {
	u := *location
	o.Name, o.Poll = u.Fragment, defaultPoll
	if o.Name == "" {
		o.Name = "default"
	}
	if !nameForm().MatchString(o.Name) || strings.Contains(o.Name, "..") || strings.HasSuffix(o.Name, ".lock") {
		return o, fmt.Errorf("invalid name %q", o.Name)
	}
	for key, values := range u.Query() {
		switch value := values[0]; key {
		case "poll":
			o.Poll, err = time.ParseDuration(value)
		case "timeout":
			o.Timeout, err = time.ParseDuration(value)
		case "max_body":
			o.MaxBody, err = strconv.ParseInt(value, 10, 64)
		default:
			err = errors.New("is not a setting")
		}
		if len(values) > 1 {
			err = errors.New("is repeated")
		}
		if err != nil || o.Poll < 0 || o.Timeout < 0 || o.MaxBody < 0 {
			return o, fmt.Errorf("invalid setting %s", key)
		}
	}
	u.Fragment = ""
	u.RawFragment = ""
	u.RawQuery = ""
	switch transport, found := strings.CutPrefix(u.Scheme, "git+"); {
	case found && (u.Host == "" || strings.HasPrefix(u.Host, "-") || u.Path == ""):
		return o, errors.New("has no host or no path")
	case found:
		u.Scheme = transport
		o.Fetch = u.String()
	case u.Host == "" && strings.HasPrefix(u.Path, "/"):
		o.Fetch = u.Path
	case strings.HasPrefix(u.Opaque, "./"), strings.HasPrefix(u.Opaque, "../"):
		o.Fetch = u.Opaque
	case remoteForm().MatchString(u.Opaque):
		o.Remote = u.Opaque
	default:
		return o, errors.New("not the name of a remote or a path")
	}
	return o, nil
}

// connect returns the private repository for the URLs of the log, which it looks
// up if the location names a remote.
func (l *Log) connect(ctx context.Context) (*repository, error) {
	r, err := l.resolve(ctx)
	if err != nil {
		return nil, err
	}
	r.from = r.authenticate(r.fetch)
	if r.to = r.from; r.push != r.fetch {
		r.to = r.authenticate(r.push)
	}
	if l.o.Remote == "" {
		return r, nil
	}
	// A CI system stores its token in the configuration of the clone.
	headers, err := l.config(ctx, `^http\..*extraheader$`)
	for key, values := range headers {
		name := fmt.Sprintf("HANDOFF_GIT_HEADER_%d", len(r.env))
		r.options = append(r.options, "--config-env="+key+"="+name)
		r.env = append(r.env, name+"="+values[len(values)-1])
	}
	return r, err
}

// config returns settings of the repository of the workspace.
func (l *Log) config(ctx context.Context, pattern string) (map[string][]string, error) {
	own := &repository{dir: l.o.Work, fetch: "remote " + l.o.Remote, timeout: l.o.Timeout, other: true}
	printed, err := own.git(ctx, nil, "config", "--includes", "--null", "--get-regexp", pattern)
	values := map[string][]string{}
	for entry := range strings.SplitSeq(printed, "\x00") {
		if key, value, found := strings.Cut(entry, "\n"); found {
			values[key] = append(values[key], value)
		}
	}
	if ctx.Err() != nil || errors.Is(err, errNoGit) {
		return nil, err
	}
	return values, nil // without a match, git fails
}

// resolve returns a repository with the URLs of the log.
func (l *Log) resolve(ctx context.Context) (*repository, error) {
	r := &repository{fetch: l.o.Fetch, push: l.o.Push, timeout: l.o.Timeout}
	if l.o.Fetch != "" {
		return r, nil
	}
	r.fetch = "remote " + l.o.Remote // for errors
	prefix := "remote." + l.o.Remote + "."
	urls, err := l.config(ctx, "^"+regexp.QuoteMeta(prefix)+"(url|pushurl)$")
	if err != nil {
		return nil, err
	}
	// git fetches from the first URL. It would push to all, but a log is in one place.
	first := func(key string) string { return append(urls[prefix+key], "")[0] }
	if first("url") == "" {
		return nil, handoff.E("open log", "git:"+l.o.Remote, handoff.NotFound,
			&remote.MissingError{Reason: "the repository of the workspace has no remote of this name"},
			handoff.Advice("add the remote with git, or name its URL"))
	}
	r.fetch = l.absolute(first("url"))
	r.push = l.absolute(cmp.Or(first("pushurl"), first("url")))
	return r, nil
}

// absolute returns the URL of a remote as git would read it in the directory of
// the workspace.
func (l *Log) absolute(location string) string {
	// As for git, a colon before the first slash ends the name of a host or of a
	// transport.
	host, _, _ := strings.Cut(location, "/")
	if filepath.IsAbs(location) || strings.Contains(host, ":") {
		return location
	}
	return filepath.Join(l.o.Work, location)
}

// key is the name of the private repository of a log.
func key(location, name string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(location+"\x00"+name)))[:32]
}

// redact returns a URL without user name and password. Of one that can't be parsed,
// it removes everything that could be one.
func redact(location string) string {
	u, err := url.Parse(location)
	if scheme, rest, found := strings.Cut(location, "://"); err != nil && found {
		return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	}
	if err != nil || u.User == nil {
		return location
	}
	u.User = nil
	return u.String()
}
