package main

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// pdfium is the module that carries PDFium as WebAssembly, without the licences of what
// is in it.
const pdfium = "github.com/klippa-app/go-pdfium"

// pdfiumModule is the version of the module whose WebAssembly was looked at, for the
// parts below. Its sources name PDFium's version (.github/workflows/pdfium.pc).
const pdfiumModule, pdfiumVersion = "v1.19.2", "7789"

//go:embed pdfium/*.txt
var pdfiumTexts embed.FS

// embeddedPart is software inside of the WebAssembly.
type embeddedPart struct {
	name     string
	version  string // empty: that which belongs to this version of PDFium
	licenses []string
}

// pdfiumParts are what PDFium is linked with where it has neither XFA nor JavaScript, and
// what Emscripten links to it. Their texts are named after them.
func pdfiumParts() []embeddedPart {
	return []embeddedPart{
		{"pdfium", pdfiumVersion, []string{"Apache-2.0", "BSD-3-Clause"}},
		{"abseil", "", []string{"Apache-2.0"}},
		{"agg23", "2.3", []string{"LicenseRef-AGG-2.3"}},
		{"emscripten", "", []string{"MIT"}},
		{"fast_float", "", []string{"MIT"}},
		{"freetype", "", []string{"FTL"}},
		{"harfbuzz", "", []string{"MIT-Modern-Variant"}},
		{"icu", "78", []string{"Unicode-3.0"}},
		{"lcms2", "", []string{"MIT"}},
		{"libjpeg-turbo", "", []string{"BSD-3-Clause", "IJG"}},
		{"llvm", "", []string{"Apache-2.0", "LLVM-exception"}}, // libc++, libc++abi, compiler-rt
		{"musl", "", []string{"MIT"}},
		{"openjpeg", "", []string{"BSD-2-Clause"}},
		{"simdutf", "", []string{"MIT"}},
		{"zlib", "", []string{"Zlib"}},
	}
}

// embeddedIn gives what a module carries in a form that the list of modules does not
// show. Another version of the module is an error: somebody has to look at what is in it.
func embeddedIn(module, version string) (parts []part, err error) {
	if module != pdfium {
		return nil, nil
	}
	if version != pdfiumModule {
		return nil, fmt.Errorf("%s %s: packaging/sbom/embedded.go knows what is in pdfium.wasm of %s: look at that of the new version, and say there what is in it", module, version, pdfiumModule)
	}
	for _, e := range pdfiumParts() {
		files, err := textsOf(e.name, "embedded in "+pdfium+" "+version)
		if err != nil {
			return nil, err
		}
		p := part{path: e.name, version: e.version, url: "pkg:generic/" + e.name, licenses: e.licenses}
		if p.version == "" {
			p.version = "as in PDFium " + pdfiumVersion
		} else {
			p.url += "@" + e.version
		}
		p.files = files
		parts = append(parts, p)
	}
	return parts, nil
}

// textsOf are a part's texts, as upstream has them (pdfium/UPSTREAM.md): NAME.txt, and
// NAME.MORE.txt where there are more.
func textsOf(name, where string) ([]licenseFile, error) {
	text, err := pdfiumTexts.ReadFile("pdfium/" + name + ".txt")
	if err != nil {
		return nil, err
	}
	files := []licenseFile{{where, string(text)}}
	more, err := fs.Glob(pdfiumTexts, "pdfium/"+name+".*.txt")
	if err != nil {
		return nil, err
	}
	for _, path := range more {
		if text, err = pdfiumTexts.ReadFile(path); err != nil {
			return nil, err
		}
		files = append(files, licenseFile{where + ": " + strings.TrimSuffix(strings.TrimPrefix(path, "pdfium/"+name+"."), ".txt"), string(text)})
	}
	return files, nil
}
