package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// A file is one of an installation, at a path below its prefix.
type file struct {
	path string
	data []byte
	link string // the target, if it is a symbolic link
	exec bool
}

func (f file) perm() fs.FileMode {
	if f.exec {
		return 0o755
	}
	return 0o644
}

const (
	program   = "agent-handoff"
	shortName = "handoff"

	docDir = "share/doc/agent-handoff/"
)

// An edition is the program with the logs that it can open.
type edition struct {
	name    string // of its archive
	module  string // the directory of its module
	command string // what is built there
}

var (
	standard = edition{program, ".", "./cmd/" + program}
	buckets  = edition{program + "-s3", "cmd/handoff-s3", "."}
)

// build builds the program of an edition, once, and returns its path.
func (r *release) build(p platform, e edition) (string, error) {
	path := filepath.Join(r.work, p.String(), e.name, program)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	flags := fmt.Sprintf("-s -w -X '%s/cmd/internal/stamp.stamp=agent-handoff release: v%s;'", module, r.version)
	c := exec.Command("go", "build", "-trimpath", "-ldflags="+flags, "-o", path, e.command)
	c.Dir, c.Stderr = filepath.Join(r.source, e.module), os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0")
	return path, c.Run()
}

// tree returns the files of an installation of an edition on a platform.
func (r *release) tree(p platform, e edition, pages []file) ([]file, error) {
	path, err := r.build(p, e)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list := append(slices.Clone(pages), file{path: "bin/" + program, data: b, exec: true},
		file{path: "bin/" + shortName, link: program})
	notices, err := r.notices(p, e)
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	return append(list, file{path: docDir + "LICENSE", data: licence}, file{path: docDir + "NOTICES", data: notices}), nil
}

// pages returns the manual pages and the completions, which this program's own build
// prints.
func (r *release) pages() (list []file, err error) {
	path, err := r.build(platform{runtime.GOOS, runtime.GOARCH}, standard)
	if err != nil {
		return nil, err
	}
	short := filepath.Join(filepath.Dir(path), shortName)
	if err := os.Symlink(program, short); err != nil {
		return nil, err
	}
	text, err := output(r.work, short, "help", "all", "--format", "man")
	if err != nil {
		return nil, err
	}
	for page := range strings.SplitSeq(text, "\n.TH ") {
		page = ".TH " + strings.TrimPrefix(page, ".TH ") + "\n"
		name, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(page, ".TH "), `\-`, "-"), " ")
		b, err := compress(r.date, []byte(page))
		if err != nil {
			return nil, err
		}
		list = append(list, file{path: "share/man/man1/" + strings.ToLower(name) + ".1.gz", data: b})
	}
	list = append(list, file{path: "share/man/man1/agent-handoff.1.gz", link: "handoff.1.gz"})
	for shell, form := range map[string]string{"bash": "bash-completion/completions/%s", "zsh": "zsh/site-functions/_%s",
		"fish": "fish/vendor_completions.d/%s.fish"} {
		for _, name := range []string{program, shortName} {
			text, err := output(r.work, filepath.Join(filepath.Dir(path), name), "completion", shell)
			if err != nil {
				return nil, err
			}
			list = append(list, file{path: "share/" + fmt.Sprintf(form, name), data: []byte(text + "\n")})
		}
	}
	slices.SortFunc(list, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// modules returns the version of Go and the modules of others that Go recorded in the
// program of an edition.
func (r *release) modules(p platform, e edition) (goVersion string, list []*debug.Module, err error) {
	path, err := r.build(p, e)
	if err != nil {
		return "", nil, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", nil, err
	}
	list = slices.DeleteFunc(info.Deps, func(m *debug.Module) bool { return m.Path == module })
	return info.GoVersion, list, nil
}

// notices returns the licences of what the program of an edition contains.
func (r *release) notices(p platform, e edition) ([]byte, error) {
	goVersion, modules, err := r.modules(p, e)
	if err != nil {
		return nil, err
	}
	goroot, err := output(r.source, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	add := func(title string, files ...string) error {
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "== %s: %s\n\n%s\n", title, filepath.Base(file), text)
		}
		return nil
	}
	if err := add("Go "+goVersion, filepath.Join(goroot, "LICENSE")); err != nil {
		return nil, err
	}
	for _, m := range modules {
		dir, err := output(filepath.Join(r.source, e.module), "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return nil, err
		}
		files, _ := filepath.Glob(filepath.Join(dir, "[LCN][IOo]*[EGn]*"))
		files = slices.DeleteFunc(files, func(f string) bool { return !isLicence(filepath.Base(f)) })
		if len(files) == 0 {
			return nil, fmt.Errorf("no licence in %s", m.Path)
		}
		if err := add(m.Path+" "+m.Version, files...); err != nil {
			return nil, err
		}
	}
	err = add("data", filepath.Join(r.source, "internal/tool/secret/gitleaks.LICENSE"),
		filepath.Join(r.source, "cmd/internal/web/assets/vendor/licences.txt"))
	return b.Bytes(), err
}

func isLicence(name string) bool {
	for _, prefix := range []string{"LICENSE", "LICENCE", "COPYING", "NOTICE"} {
		if strings.HasPrefix(strings.ToUpper(name), prefix) {
			return true
		}
	}
	return false
}
