package main

import (
	"bytes"
	"fmt"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bom returns the bill of materials of the program of an edition for a platform.
func (r *release) bom(p platform, e edition) ([]byte, error) {
	goVersion, modules, err := r.modules(p, e)
	if err != nil {
		return nil, err
	}
	list := []cdx.Component{component("std", strings.TrimPrefix(goVersion, "go"))}
	for _, m := range modules {
		list = append(list, component(m.Path, m.Version))
	}
	main := component(module, "v"+r.version)
	main.Type = cdx.ComponentTypeApplication
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.date.Format("2006-01-02T15:04:05Z"), Component: &main}
	bom.Components = &list
	var b bytes.Buffer
	err = cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return b.Bytes(), err
}

func component(path, version string) cdx.Component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", path, version)
	return cdx.Component{BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl}
}
