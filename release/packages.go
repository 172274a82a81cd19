package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// systemPackages makes the packages for Debian and RPM.
func (r *release) systemPackages(p platform, tree []file) error {
	for _, format := range []string{"deb", "rpm"} {
		contents, err := r.contents(format, p, tree)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: program, Arch: p.arch, Platform: p.os, Version: r.version, Section: "devel",
			Maintainer: "handoff <handoff@agent-handoff.invalid>", Description: description, Homepage: homepage,
			License: license, MTime: r.date, DisableGlobbing: true,
			Overridables: nfpm.Overridables{
				Contents: contents, Suggests: []string{"git"}, RPM: nfpm.RPM{BuildHost: "localhost"},
			},
		})
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		var b bytes.Buffer
		if err := packager.Package(info, &b); err != nil {
			return err
		}
		if err := r.write(r.name(p, standard)+"."+format, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// contents writes the files of a package to disk, where nfpm reads them.
func (r *release) contents(format string, p platform, tree []file) (list files.Contents, err error) {
	stage := filepath.Join(r.work, p.String(), format)
	for _, f := range tree {
		path := f.path
		if format == "deb" {
			path = strings.Replace(path, "zsh/site-functions", "zsh/vendor-completions", 1)
			path = strings.Replace(path, "agent-handoff/LICENSE", "agent-handoff/copyright", 1)
		}
		c := &files.Content{Destination: "/usr/" + path, Source: f.link, Type: files.TypeSymlink,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", MTime: r.date}}
		if f.link == "" {
			c.Source, c.Type, c.FileInfo.Mode = filepath.Join(stage, f.path), files.TypeFile, f.perm()
			if err := os.MkdirAll(filepath.Dir(c.Source), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(c.Source, f.data, 0o644); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	return list, nil
}
