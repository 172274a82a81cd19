package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"maps"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bom returns the bill of materials of the programs for a platform: the modules that Go
// recorded in them.
func (r *release) bom(p platform) ([]byte, error) {
	modules := map[string]cdx.Component{}
	for name := range builtPrograms {
		path, err := r.build(p, name)
		if err != nil {
			return nil, err
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return nil, err
		}
		modules["std"] = component("std", strings.TrimPrefix(info.GoVersion, "go"))
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path+"@"+m.Version] = component(m.Path, m.Version)
		}
	}
	main := component(module, "v"+r.version)
	main.Type = cdx.ComponentTypeApplication
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.date.Format("2006-01-02T15:04:05Z"), Component: &main}
	list := []cdx.Component{}
	for _, key := range slices.Sorted(maps.Keys(modules)) {
		list = append(list, modules[key])
	}
	bom.Components = &list
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return b.Bytes(), err
}

func component(path, version string) cdx.Component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", path, version)
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl}
}
