// Command sbom lists the contents of a built program of this module: a bill of materials in CycloneDX JSON, and the
// texts of the licences of its parts.
//
// The program itself contains the list of modules, the module cache the texts. Two files are maintained by hand:
// licenses.sum maps texts to licences, and embedded.cdx.json names parts that are not modules: the contents of PDFium's
// WebAssembly and the scripts of the console's pages.
package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// run writes the requested files. SOURCE_DATE_EPOCH is the time in the bill.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	flags.SetOutput(stderr)
	program := flags.String("program", "", "the built program, a `FILE`")
	version := flags.String("version", "", "its `VERSION`")
	bom := flags.String("bom", "", "write the bill of materials to `FILE`")
	notices := flags.String("licenses", "", "write the licences to `FILE`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *program == "" || *version == "" || *bom == "" || *notices == "" {
		return errors.New("write -program FILE -version VERSION -bom FILE -licenses FILE")
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: write seconds since 1970: %w", err)
	}
	info, err := buildinfo.ReadFile(*program)
	if err != nil {
		return err
	}
	parts, texts, err := partsOf(ctx, info)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := writeBOM(&b, info, parts, *version, time.Unix(seconds, 0).UTC()); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(*bom, []byte(b.String()), 0o644),                  //nolint:gosec // it is published
		os.WriteFile(*notices, []byte(noticesOf(parts, texts)), 0o644), //nolint:gosec // it is published
	)
}

// writeBOM writes the bill of materials. It has no serial number, so that it is reproducible.
func writeBOM(w io.Writer, info *debug.BuildInfo, parts []cyclonedx.Component, version string, at time.Time) error {
	setting := func(key string) string {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
		return ""
	}
	main := component(info.Main.Path, version, "", []string{"Apache-2.0"})
	main.Type = cyclonedx.ComponentTypeApplication
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: at.Format(time.RFC3339),
		Component: &main,
		Properties: &[]cyclonedx.Property{
			{Name: "go:version", Value: info.GoVersion},
			{Name: "go:platform", Value: setting("GOOS") + "/" + setting("GOARCH")},
		},
	}
	refs := make([]string, 0, len(parts))
	for _, p := range parts {
		refs = append(refs, p.BOMRef)
	}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}

// noticesOf lists the parts with their licences, then all texts. A text that several parts share is repeated for each,
// so that everything about a part is in one place.
func noticesOf(parts []cyclonedx.Component, texts []text) string {
	var b strings.Builder
	b.WriteString("Sextant is licensed under Apache-2.0. The program contains the parts below, under their own licences.\n" +
		"Portions of it are copyright The FreeType Project (www.freetype.org), all rights reserved; it is based in part on the work of the Independent JPEG Group.\n\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "%s %s: %s\n", p.Name, p.Version, granted(p))
		if p.Components != nil {
			for _, inside := range *p.Components {
				fmt.Fprintf(&b, "  %s %s: %s\n", inside.Name, inside.Version, granted(inside))
			}
		}
	}
	for _, t := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), t.of, strings.Repeat("-", 80), strings.TrimSpace(t.body))
	}
	return b.String()
}

// granted returns the licences of a part as text.
func granted(c cyclonedx.Component) string {
	var words []string
	for _, l := range *c.Licenses {
		words = append(words, l.License.ID+l.License.Name) // one of the two is set
	}
	return strings.Join(words, ", ")
}
