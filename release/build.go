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
	"slices"
	"strings"
	"time"
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
	program       = "agent-handoff"
	bucketProgram = "agent-handoff-s3"
	shortName     = "handoff"

	docDir = "share/doc/agent-handoff/"
)

// omitted leaves HTTP/2 out of the programs, which nothing in them needs: 0.6 MB.
const omitted = "nethttpomithttp2"

// cold are the packages in which the compiler does not inline: those that parse, print and
// call others, and not those that read logs and transcripts. The programs are smaller by 2 MB.
var cold = []string{module + "/cmd", module + "/engines", module + "/internal/config", module + "/internal/names",
	module + "/internal/pipeline", module + "/internal/session", module + "/internal/trace/evidence",
	module + "/internal/trace/otlp", module + "/internal/trace/provenance", module + "/internal/trace/pullrequest",
	module + "/thread/page", module + "/workspace",
	"archive/tar", "crypto/ecdsa", "crypto/elliptic", "crypto/hpke", "crypto/internal/fips140/ecdsa",
	"crypto/internal/fips140/edwards25519", "crypto/internal/fips140/mlkem", "crypto/internal/fips140/nistec",
	"crypto/internal/fips140/rsa", "crypto/tls", "crypto/x509", "encoding/asn1",
	"encoding/gob", "encoding/xml", "html/template", "log/slog", "math/big", "net", "os/exec", "text/template",
	"vendor/golang.org/x",
	"github.com/google/jsonschema-go", "github.com/modelcontextprotocol",
	"github.com/nats-io", "github.com/pelletier/go-toml", "github.com/spf13", "github.com/tailscale",
	"github.com/yuin/goldmark", "go.yaml.in/yaml", "golang.org/x/crypto", "golang.org/x/net", "golang.org/x/text"}

// builtPrograms are the builds and their tags.
var builtPrograms = map[string]string{program: omitted, bucketProgram: omitted + ",s3"}

// build builds a program and returns its path.
func (r *release) build(p platform, name string) (string, error) {
	path := filepath.Join(r.work, p.String(), name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	const commands = module + "/cmd/internal"
	flags := fmt.Sprintf("-s -w -buildid= -funcalign=16"+
		" -X '%[1]s/stamp.stamp=agent-handoff release: v%[2]s;'"+
		" -X %[1]s/program.commit=%[3]s -X %[1]s/program.committedAt=%[4]s",
		commands, r.version, r.commit, r.date.Format(time.RFC3339))
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags=" + builtPrograms[name], "-ldflags=" + flags,
		"-o", path}
	for _, packages := range cold {
		args = append(args, "-gcflags="+packages+"/...=-l")
	}
	c := exec.Command("go", append(args, "./cmd/agent-handoff")...)
	c.Dir, c.Stderr = r.source, os.Stderr
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0")
	return path, c.Run()
}

// tree returns the files of an installation on a platform.
func (r *release) tree(p platform, pages []file) ([]file, error) {
	list := slices.Clone(pages)
	for _, name := range []string{program, bucketProgram} {
		path, err := r.build(p, name)
		if err != nil {
			return nil, err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if name == program && len(b) > maxProgram {
			return nil, fmt.Errorf("%s has %d bytes, at most %d", name, len(b), maxProgram)
		}
		list = append(list, file{path: "bin/" + name, data: b, exec: true})
	}
	list = append(list, file{path: "bin/" + shortName, link: program})
	notices, err := r.notices(p)
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
	path, err := r.build(platform{runtime.GOOS, runtime.GOARCH}, program)
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

// notices returns the licences of what the programs contain.
func (r *release) notices(p platform) ([]byte, error) {
	path, err := r.build(p, bucketProgram) // which has all modules
	if err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(path)
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
	if err := add("Go "+info.GoVersion, filepath.Join(goroot, "LICENSE")); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		dir, err := output(r.source, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
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
