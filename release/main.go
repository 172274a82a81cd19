// Command release makes the files of a release: archives, packages for Debian, RPM and npm,
// a Homebrew formula, an install script, bundles and a manifest for MCP, the plugins, the
// libraries, bills of materials and checksums. It is a module of its own, because nothing of it is in handoff.
//
// The same commit gives the same bytes, with the same versions of Go and, for the libraries,
// of npm and setuptools. Run it with: make dist VERSION=v0.1.0
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	module      = "github.com/agent-handoff/handoff"
	homepage    = "https://" + module
	description = "Hand finished files to other agents and later sessions, and find what they left."
	license     = "Apache-2.0"
)

// A release is what all of its files share.
type release struct {
	source    string    // the directory of the repository
	out       string    // where the files go
	work      string    // temporary files
	version   string    // without the v
	date      time.Time // of the commit
	platforms []platform
	written   map[string]written // the files in out, by name
}

// A written file is one that is in out.
type written struct {
	sha256 string
	size   int
}

// A platform is what programs are built for, in the words of Go.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	version := flag.String("version", "", "the `version`, such as v0.1.0")
	out := flag.String("out", "", "write the files to this new `directory`")
	platforms := flag.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64",
		"build for these `platforms`")
	flag.Parse()
	r, err := newRelease(*version, *out, *platforms)
	if err == nil {
		err = r.make()
	}
	if err != nil {
		log.Fatal(err)
	}
}

var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

// newRelease returns a release of the commit that is checked out in the repository above
// the current directory. What is changed since would not be reproducible: it is refused.
func newRelease(version, out, platforms string) (*release, error) {
	if !versionForm.MatchString(version) {
		return nil, fmt.Errorf("version %q is not of the form v0.1.0", version)
	}
	if out == "" {
		return nil, fmt.Errorf("-out is required")
	}
	r := &release{version: version[1:], written: map[string]written{}}
	for p := range strings.SplitSeq(platforms, ",") {
		system, arch, _ := strings.Cut(p, "/")
		r.platforms = append(r.platforms, platform{system, arch})
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	for _, ask := range []struct {
		to   *string
		args []string
	}{
		{&r.source, []string{"rev-parse", "--show-toplevel"}},
		{&seconds, []string{"log", "-1", "--format=%ct"}},
	} {
		if *ask.to != "" {
			continue
		}
		var err error
		if *ask.to, err = output("", "git", ask.args...); err != nil {
			return nil, err
		}
	}
	if changed, err := output(r.source, "git", "status", "--porcelain"); err != nil || changed != "" {
		return nil, fmt.Errorf("%s has changes that are not committed:\n%s", r.source, changed)
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.date = time.Unix(n, 0).UTC()
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(r.out), 0o755); err != nil {
		return nil, err
	}
	return r, os.Mkdir(r.out, 0o755)
}

// make writes all files of the release. If it fails, it removes what it wrote.
func (r *release) make() (err error) {
	if r.work, err = os.MkdirTemp("", "handoff-release-"); err != nil {
		return err
	}
	defer func() {
		os.RemoveAll(r.work)
		if err != nil {
			os.RemoveAll(r.out)
		}
	}()
	if err := r.libraries(); err != nil { // first: it finds what is missing on this machine
		return err
	}
	pages, err := r.pages()
	if err != nil {
		return err
	}
	for _, p := range r.platforms {
		if err := r.makePlatform(p, pages); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	for _, step := range []func() error{r.npmMain, r.plugins, r.formula, r.installScript, r.serverJSON} {
		if err := step(); err != nil {
			return err
		}
	}
	return r.sums()
}

// makePlatform writes the files for one platform.
func (r *release) makePlatform(p platform, pages []file) error {
	tree, err := r.makeArchive(p, standard, pages)
	if err != nil {
		return err
	}
	if _, err := r.makeArchive(p, buckets, pages); err != nil {
		return err
	}
	if p.os == "linux" {
		if err := r.systemPackages(p, tree); err != nil {
			return err
		}
	}
	if err := r.npmPlatform(p, tree); err != nil {
		return err
	}
	return r.bundle(p, tree)
}

// makeArchive writes the archive of an edition for a platform and its bill of materials, and
// returns what is in the archive.
func (r *release) makeArchive(p platform, e edition, pages []file) ([]file, error) {
	tree, err := r.tree(p, e, pages)
	if err != nil {
		return nil, err
	}
	bom, err := r.bom(p, e)
	if err != nil {
		return nil, err
	}
	if err := r.write(r.name(p, e)+".cdx.json", bom); err != nil {
		return nil, err
	}
	return tree, r.archive(p, e, tree)
}

// name returns the name of the files of an edition for a platform, without a suffix.
func (r *release) name(p platform, e edition) string {
	return e.name + "-" + r.version + "-" + p.String()
}

// write writes a file of the release.
func (r *release) write(name string, b []byte) error {
	sum := sha256.Sum256(b)
	r.written[name] = written{sha256: hex.EncodeToString(sum[:]), size: len(b)}
	return os.WriteFile(filepath.Join(r.out, name), b, 0o644)
}

// sums writes the checksums of all files, as sha256sum reads them.
func (r *release) sums() error {
	var lines []string
	for name, w := range r.written {
		lines = append(lines, w.sha256+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}

// output returns what a program prints, without the last newline.
func output(dir, program string, args ...string) (string, error) {
	c := exec.Command(program, args...)
	c.Dir, c.Stderr = dir, os.Stderr
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

// An object is a JSON object that is written to a file.
type object = map[string]any

func encode(v any) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // the values are made in this program
	}
	return []byte(b.String())
}
