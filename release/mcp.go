package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// serverName is the name of the server in the MCP registry.
const serverName = "io.github.agent-handoff/handoff"

// download returns the address of a file of the release.
func (r *release) download(name string) string {
	return homepage + "/releases/download/v" + r.version + "/" + name
}

// bundle writes the MCP bundle for a platform: the program and a manifest (MCPB 0.3).
func (r *release) bundle(p platform, tree []file) error {
	const entry = "bin/" + program
	manifest := object{
		"manifest_version": "0.3", "name": program, "display_name": shortName, "version": r.version,
		"description": description, "author": object{"name": shortName}, "license": license, "homepage": homepage,
		"repository": object{"type": "git", "url": homepage + ".git"},
		"server": object{"type": "binary", "entry_point": entry,
			"mcp_config": object{"command": "${__dirname}/" + entry, "args": []string{"mcp"}}},
		"tools_generated": true, "compatibility": object{"platforms": []string{p.os}},
	}
	list := []file{{path: "manifest.json", data: encode(manifest)}}
	for _, f := range tree {
		if f.link == "" && (f.exec || strings.HasPrefix(f.path, docDir)) {
			list = append(list, file{path: strings.TrimPrefix(f.path, docDir), data: f.data, exec: f.exec})
		}
	}
	b, err := zipped(r.date, list)
	if err != nil {
		return err
	}
	return r.write(r.name(p, standard)+".mcpb", b)
}

// serverJSON writes the manifest for the MCP registry: the one of the repository, with the
// packages of this release.
func (r *release) serverJSON() error {
	b, err := os.ReadFile(filepath.Join(r.source, "server.json"))
	if err != nil {
		return err
	}
	var manifest object
	if err := json.Unmarshal(b, &manifest); err != nil {
		return err
	}
	stdio := object{"type": "stdio"}
	packages := []object{{"registryType": "npm", "identifier": program, "version": r.version, "transport": stdio,
		"packageArguments": []object{{"type": "positional", "value": "mcp"}}}}
	for _, p := range r.platforms {
		name := r.name(p, standard) + ".mcpb"
		packages = append(packages, object{"registryType": "mcpb", "identifier": r.download(name),
			"version": r.version, "fileSha256": r.written[name].sha256, "transport": stdio})
	}
	manifest["version"], manifest["packages"] = r.version, packages
	return r.write("server.json", encode(manifest))
}

const pluginDir = "plugins/" + program

// pluginFiles returns the files of the plugin, by path in its directory, in which
// manifests have the version of the release.
func (r *release) pluginFiles() ([]file, error) { return r.pinned(pluginDir, pluginDir) }

// plugins writes the archive of the plugin and of the marketplaces that offer it.
func (r *release) plugins() error {
	var list []file
	for _, dir := range []string{".claude-plugin", ".agents", "plugins"} {
		files, err := r.pinned(dir, ".")
		if err != nil {
			return err
		}
		list = append(list, files...)
	}
	name := program + "-plugins-" + r.version
	b, err := tarball(r.date, prefixed(name, list))
	if err != nil {
		return err
	}
	return r.write(name+".tar.gz", b)
}

// pinned returns the files in a directory of the repository, by path in base. A manifest
// with a version gets that of the release, and so does a plugin of a marketplace.
func (r *release) pinned(dir, base string) (list []file, err error) {
	err = filepath.WalkDir(filepath.Join(r.source, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Join(r.source, base), path)
		if strings.HasSuffix(name, ".json") && err == nil {
			b, err = r.pin(b)
		}
		list = append(list, file{path: name, data: b})
		return err
	})
	return list, err
}

func (r *release) pin(b []byte) ([]byte, error) {
	var manifest object
	if err := json.Unmarshal(b, &manifest); err != nil {
		return nil, err
	}
	if manifest["version"] != nil {
		manifest["version"] = r.version
	}
	offered, _ := manifest["plugins"].([]any)
	for _, plugin := range offered {
		if plugin, ok := plugin.(object); ok {
			plugin["version"] = r.version
		}
	}
	return encode(manifest), nil
}
