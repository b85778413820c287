package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	packageurl "github.com/package-url/packageurl-go"
)

// sbom writes the list of what is in the program on any of the platforms.
func (o options) sbom(mods map[string]*module, packages []webPackage) error {
	program, err := o.programComponent()
	if err != nil {
		return err
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: o.time().Format(time.RFC3339),
		Tools: &cdx.ToolsChoice{Components: &[]cdx.Component{
			{Type: cdx.ComponentTypeApplication, Name: "pleat-dist", Version: o.version},
		}},
		Component:  &program,
		Properties: o.properties(mods),
	}
	components, dependencies := o.components(mods, packages, program.BOMRef)
	bom.Components, bom.Dependencies = &components, &dependencies
	var text bytes.Buffer
	if err := encode(&text, bom); err != nil {
		return err
	}
	// The number follows from the content, so that equal lists have equal numbers.
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceOID, text.Bytes()).URN()
	text.Reset()
	if err := encode(&text, bom); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "pleat_"+o.version+".cdx.json"), text.Bytes(), 0o644)
}

// properties returns the versions of the programs on which the bytes depend.
func (o options) properties(mods map[string]*module) *[]cdx.Property {
	all := []cdx.Property{{Name: "pleat:tool:go", Value: mods[standard].version}}
	for _, t := range o.tools {
		all = append(all, cdx.Property{Name: "pleat:tool:" + t.name, Value: t.version})
	}
	return &all
}

func encode(w io.Writer, bom *cdx.BOM) error {
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// programComponent describes the program, with the hashes of its files.
func (o options) programComponent() (cdx.Component, error) {
	var files []cdx.Component
	for _, p := range o.platforms {
		in, err := os.Open(o.program(p))
		if err != nil {
			return cdx.Component{}, err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, in)
		if err != nil {
			return cdx.Component{}, err
		}
		if err := in.Close(); err != nil {
			return cdx.Component{}, err
		}
		name := filepath.Base(o.program(p))
		files = append(files, cdx.Component{
			Type: cdx.ComponentTypeFile, BOMRef: name, Name: name, Version: o.version,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash.Sum(nil))}},
		})
	}
	return cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: "pleat@" + o.version, Name: "pleat", Version: o.version,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}}, Components: &files,
	}, nil
}

// components returns the modules and packages, and which of them need which.
func (o options) components(mods map[string]*module, packages []webPackage, program string) ([]cdx.Component,
	[]cdx.Dependency,
) {
	refs := map[string]string{"": program}
	for name, m := range mods {
		if name != "" {
			refs[name] = purl("golang", name, m.version)
		}
	}
	var components []cdx.Component
	var dependencies []cdx.Dependency
	for _, name := range slices.Sorted(maps.Keys(mods)) {
		var needs []string
		for to := range mods[name].needs {
			needs = append(needs, refs[to])
		}
		if name == "" {
			for _, p := range packages {
				needs = append(needs, p.purl())
			}
		} else {
			components = append(components, o.moduleComponent(mods[name], refs[name]))
		}
		slices.Sort(needs)
		dependencies = append(dependencies, cdx.Dependency{Ref: refs[name], Dependencies: &needs})
	}
	for _, p := range packages {
		components = append(components, p.component())
	}
	return components, dependencies
}

// moduleComponent describes a module of Go. Its hash is that of go.sum, as other tools for modules write it too.
func (o options) moduleComponent(m *module, ref string) cdx.Component {
	c := cdx.Component{
		Type: cdx.ComponentTypeLibrary, BOMRef: ref, Name: m.path, Version: m.version, PackageURL: ref,
		Scope: cdx.ScopeRequired,
	}
	if encoded, ok := strings.CutPrefix(m.sum, "h1:"); ok {
		if hash, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
		}
	}
	for _, p := range o.platforms {
		if !m.systems[p.os] { // it is not in every program
			systems := strings.Join(slices.Sorted(maps.Keys(m.systems)), ",")
			c.Properties = &[]cdx.Property{{Name: "pleat:systems", Value: systems}}
		}
	}
	return c
}

// component describes a package of npm or PyPI.
func (p webPackage) component() cdx.Component {
	c := cdx.Component{
		Type: cdx.ComponentTypeLibrary, BOMRef: p.purl(), Name: p.name, Version: p.version, PackageURL: p.purl(),
		Scope: cdx.ScopeRequired, Licenses: &cdx.Licenses{{License: &cdx.License{ID: p.licence}}},
		Properties: &[]cdx.Property{{Name: "pleat:part", Value: p.part}},
	}
	if p.sha512 != nil {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: hex.EncodeToString(p.sha512)}}
	}
	return c
}

func (p webPackage) purl() string { return purl(p.kind, p.name, p.version) }

// purl returns the address of a package, such as pkg:npm/preact@11.2.0.
func purl(kind, name, version string) string {
	folder, base := path.Split(name)
	return packageurl.NewPackageURL(kind, strings.TrimSuffix(folder, "/"), base, version, nil, "").ToString()
}
