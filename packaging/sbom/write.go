package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// ownLicense is the licence of the program itself.
const ownLicense = "Apache-2.0"

// writeBOM writes the bill of materials. It has no serial number, so that the same
// program gives the same bytes.
func writeBOM(w io.Writer, info *debug.BuildInfo, parts []part, version string, at time.Time) error {
	bom := cyclonedx.NewBOM()
	main := component(part{path: info.Main.Path, version: version, licenses: []string{ownLicense}})
	main.Type = cyclonedx.ComponentTypeApplication
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: at.Format(time.RFC3339),
		Component: &main,
		Properties: &[]cyclonedx.Property{
			{Name: "go:version", Value: info.GoVersion},
			{Name: "go:platform", Value: setting(info, "GOOS") + "/" + setting(info, "GOARCH")},
		},
	}
	components, refs := make([]cyclonedx.Component, 0, len(parts)), make([]string, 0, len(parts))
	for _, p := range parts {
		c := component(p)
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// component is a part in the words of CycloneDX.
func component(p part) cyclonedx.Component {
	url := p.url
	if url == "" {
		url = fmt.Sprintf("pkg:golang/%s@%s", p.path, strings.ReplaceAll(p.version, "+", "%2B"))
	}
	c := cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: url, PackageURL: url, Name: p.path, Version: p.version}
	licenses := cyclonedx.Licenses{}
	for _, id := range p.licenses {
		license := cyclonedx.License{ID: id}
		if id == "Unicode-3.0" || strings.HasPrefix(id, "LicenseRef-") { // not in the list of the format's version
			license = cyclonedx.License{Name: id}
		}
		licenses = append(licenses, cyclonedx.LicenseChoice{License: &license})
	}
	c.Licenses = &licenses
	// go.sum has the hash of the module's files in base64, after the name of its kind.
	if sum, ok := strings.CutPrefix(p.sum, "h1:"); ok {
		if raw, err := base64.StdEncoding.DecodeString(sum); err == nil {
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
		}
	}
	return c
}

// writeLicenses writes the texts, each after the part that it belongs to. A text that
// several parts share is written for each: their copyright lines differ.
func writeLicenses(w io.Writer, parts []part) error {
	var b strings.Builder
	b.WriteString("Sextant is licensed under Apache-2.0. The program contains the parts below, under their own licences.\n" +
		"Portions of it are copyright The FreeType Project (www.freetype.org), all rights reserved; it is based in part on the work of the Independent JPEG Group.\n\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "%s %s: %s\n", p.path, p.version, strings.Join(p.licenses, ", "))
	}
	for _, p := range parts {
		for _, f := range p.files {
			fmt.Fprintf(&b, "\n%s\n%s %s, %s\n%s\n\n%s\n", strings.Repeat("=", 80), p.path, p.version, f.name, strings.Repeat("-", 80), strings.TrimSpace(f.text))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
