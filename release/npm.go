package main

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// npmArch has the names of Node for architectures.
var npmArch = map[string]string{"amd64": "x64", "arm64": "arm64"}

func npmName(p platform) string { return program + "-" + p.os + "-" + npmArch[p.arch] }

//go:embed npm.mjs
var npmScript []byte

// npmPackage is what all manifests for npm have.
func (r *release) npmPackage(name string, more object) []byte {
	m := object{"name": name, "version": r.version, "description": description, "license": license,
		"homepage": homepage, "repository": object{"type": "git", "url": "git+" + homepage + ".git"}}
	maps.Copy(m, more)
	return encode(m)
}

// npmPlatform writes the npm package with the program for a platform.
func (r *release) npmPlatform(p platform, tree []file) error {
	list := []file{{path: "package.json", data: r.npmPackage(npmName(p), object{
		"os": []string{p.os}, "cpu": []string{npmArch[p.arch]}, "preferUnplugged": true,
		"description": "The program of agent-handoff for " + p.os + " " + npmArch[p.arch] + ".",
	})}}
	for _, f := range tree {
		if f.link == "" && (f.exec || strings.HasPrefix(f.path, docDir)) {
			list = append(list, file{path: strings.TrimPrefix(f.path, docDir), data: f.data, exec: f.exec})
		}
	}
	return r.npmTarball(npmName(p), list)
}

// npmMain writes the npm package that people install. It is the plugin for the agent
// programs that take one from npm, too, and starts the program of the package for the
// platform, which npm selects by os and cpu: no script runs during an installation.
func (r *release) npmMain() error {
	list, err := r.pluginFiles()
	if err != nil {
		return err
	}
	var manifest object
	for i, f := range list {
		if f.path != "package.json" {
			continue
		}
		if err := json.Unmarshal(f.data, &manifest); err != nil {
			return err
		}
		platforms := object{}
		for _, p := range r.platforms {
			platforms[npmName(p)] = r.version
		}
		manifest["bin"] = object{program: "bin/" + program + ".js", shortName: "bin/" + shortName + ".js"}
		manifest["optionalDependencies"] = platforms
		manifest["mcpName"] = serverName
		manifest["engines"] = object{"node": ">=18"}
		list[i].data = r.npmPackage(program, manifest)
	}
	license, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return err
	}
	list = append(list, file{path: "LICENSE", data: license},
		file{path: "bin/" + program + ".js", data: npmScript, exec: true},
		file{path: "bin/" + shortName + ".js", data: npmScript, exec: true})
	return r.npmTarball(program, list)
}

func (r *release) npmTarball(name string, list []file) error {
	b, err := tarball(r.date, prefixed("package", list))
	if err != nil {
		return err
	}
	return r.write("npm-"+name+"-"+r.version+".tgz", b)
}
