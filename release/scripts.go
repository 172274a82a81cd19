package main

import (
	_ "embed"
	"strings"
	"text/template"
)

var (
	//go:embed agent-handoff.rb.tmpl
	formulaText string
	//go:embed install.sh.tmpl
	installText string
)

// An archived platform is one with its archive, as the templates name it.
type archived struct {
	OS, Arch, File, URL, SHA256 string
	Size                        int
}

// fill writes a file of the release from a template.
func (r *release) fill(name, text string) error {
	data := struct {
		Version, Description, Homepage, License, Download string

		Archives, Buckets []archived
	}{r.version, description, homepage, license, strings.TrimSuffix(r.download(""), "/"), r.archives(standard),
		r.archives(buckets)}
	t, err := template.New(name).Parse(text)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	return r.write(name, []byte(b.String()))
}

// archives returns the archives of an edition.
func (r *release) archives(e edition) (list []archived) {
	for _, p := range r.platforms {
		file := r.name(p, e) + ".tar.gz"
		w := r.written[file]
		list = append(list, archived{p.os, p.arch, file, r.download(file), w.sha256, w.size})
	}
	return list
}

// formula writes the formula for Homebrew.
func (r *release) formula() error { return r.fill(program+".rb", formulaText) }

// installScript writes the script that installs an archive of this release. It has their
// checksums: whoever controls the server of the archives cannot replace them.
func (r *release) installScript() error { return r.fill("install.sh", installText) }
