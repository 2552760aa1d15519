package main

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

//go:embed embedded.cdx.json licenses.sum pdfium/*.txt
var held embed.FS

// vendored are the licences of the console's scripts, in the main module's folder.
const vendored = "internal/admin/console/static/vendor/*.LICENSE.txt"

// text is the text of a licence or a notice, and its owner.
type text struct{ of, body string }

// partsOf returns the parts of a program, with their texts. An unreviewed text is an error, and so is a changed version
// of a module in which embedded.cdx.json names parts.
func partsOf(ctx context.Context, info *debug.BuildInfo) (parts []cyclonedx.Component, texts []text, err error) {
	folders, err := foldersOf(ctx, info)
	if err != nil {
		return nil, nil, err
	}
	grants, err := readGrants()
	if err != nil {
		return nil, nil, err
	}
	deps := append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	for _, m := range deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if folders[m.Path] == nil {
			return nil, nil, fmt.Errorf("%s is in the program but is not imported by its sources: was it built from them?", m.Path)
		}
		found, textsErr := textsIn(m.Path+" "+m.Version, folders[m.Path])
		ids, idsErr := grants.of(found)
		if len(ids) == 0 {
			idsErr = errors.Join(idsErr, fmt.Errorf("%s %s: its folder contains no licence", m.Path, m.Version))
		}
		parts, texts = append(parts, component(m.Path, m.Version, m.Sum, ids)), append(texts, found...)
		err = errors.Join(err, textsErr, idsErr)
	}
	parts, embeddedErr := withEmbedded(parts)
	more, moreErr := embeddedTexts(folders[info.Main.Path][0])
	return parts, append(texts, more...), errors.Join(err, embeddedErr, moreErr)
}

// withEmbedded adds the components of embedded.cdx.json. A component with a module's name belongs to that module.
func withEmbedded(parts []cyclonedx.Component) ([]cyclonedx.Component, error) {
	file, err := held.ReadFile("embedded.cdx.json")
	if err != nil {
		return nil, err
	}
	var bom cyclonedx.BOM
	if err := json.Unmarshal(file, &bom); err != nil {
		return nil, err
	}
	for _, c := range *bom.Components {
		switch i := slices.IndexFunc(parts, func(p cyclonedx.Component) bool { return p.Name == c.Name }); {
		case i < 0 && c.Components == nil:
			parts = append(parts, c)
		case i < 0: // this program does not contain that module
		case parts[i].Version != c.Version:
			err = errors.Join(err, fmt.Errorf("%s %s: packaging/sbom/embedded.cdx.json lists the parts of %s: list those of the new version there",
				c.Name, parts[i].Version, c.Version))
		default:
			parts[i].Components = c.Components
		}
	}
	return parts, err
}

// embeddedTexts returns the texts of the parts in embedded.cdx.json: those of PDFium's parts are here
// (pdfium/UPSTREAM.md), those of the scripts beside them.
func embeddedTexts(root string) (texts []text, err error) {
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(vendored)))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("%s: %w", vendored, errors.Join(err, os.ErrNotExist))
	}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text{"in the console: " + filepath.Base(name), string(body)})
	}
	entries, err := held.ReadDir("pdfium")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		body, err := held.ReadFile("pdfium/" + e.Name())
		if err != nil {
			return nil, err
		}
		texts = append(texts, text{"in PDFium: " + strings.TrimSuffix(e.Name(), ".txt"), string(body)})
	}
	return texts, nil
}

// grants maps a text's SHA-256 to its licences.
type grants map[string][]string

// readGrants reads licenses.sum.
func readGrants() (grants, error) {
	file, err := held.ReadFile("licenses.sum")
	if err != nil {
		return nil, err
	}
	g := grants{}
	for line := range strings.Lines(string(file)) {
		switch fields := strings.Fields(line); {
		case fields[0] == "#":
		case fields[1] == "-":
			g[fields[0]] = nil
		default:
			g[fields[0]] = strings.Split(fields[1], ",")
		}
	}
	return g, nil
}

// of returns the licences of texts, in order. An unknown text is an error.
func (g grants) of(texts []text) (ids []string, err error) {
	for _, t := range texts {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(t.body)))
		more, ok := g[sum]
		if !ok {
			err = errors.Join(err, fmt.Errorf("this text was not reviewed: read it, and add its licences to packaging/sbom/licenses.sum\n%s  LICENCES  %s", sum, t.of))
		}
		ids = append(ids, more...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// foldersOf maps each module that is linked for the program's platform to its root, which comes first, and the folders
// of its packages. Go's own library is "std".
func foldersOf(ctx context.Context, info *debug.BuildInfo) (map[string][]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}", info.Path)
	cmd.Env = os.Environ()
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			cmd.Env = append(cmd.Env, s.Key+"="+s.Value)
		}
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", info.Path, err)
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	folders := map[string][]string{"std": {strings.TrimSpace(string(goroot))}}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 { // a package of Go's own
			continue
		}
		if folders[fields[0]] == nil {
			folders[fields[0]] = fields[1:2]
		}
		folders[fields[0]] = append(folders[fields[0]], fields[2])
	}
	return folders, nil
}

// textsIn reads the licences and notices in a module's folders, the first of which is its root, and in those above them
// up to the root: some packages in a module have other authors.
func textsIn(of string, folders []string) (texts []text, err error) {
	named := regexp.MustCompile(`(?i)^(.+[-_.])?(licen[cs]e|copying|notice|copyright|unlicense|patents|third[-_]party)([-._].*)?$`)
	root, seen := folders[0], map[string]bool{}
	for _, dir := range folders {
		for ; strings.HasPrefix(dir, root) && !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if !e.Type().IsRegular() || !named.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
					continue
				}
				body, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					return nil, err
				}
				name := strings.TrimPrefix(filepath.ToSlash(filepath.Join(dir, e.Name())), filepath.ToSlash(root)+"/")
				texts = append(texts, text{of + ", " + name, string(body)})
			}
		}
	}
	slices.SortFunc(texts, func(a, b text) int { return strings.Compare(a.of, b.of) })
	return texts, nil
}

// component returns a Go module as a CycloneDX component. sum is its line in go.sum, which has the hash of the module's
// files in base64.
func component(path, version, sum string, ids []string) cyclonedx.Component {
	url := fmt.Sprintf("pkg:golang/%s@%s", path, strings.ReplaceAll(version, "+", "%2B"))
	c := cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: url, PackageURL: url, Name: path, Version: version, Licenses: &cyclonedx.Licenses{}}
	for _, id := range ids {
		*c.Licenses = append(*c.Licenses, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	if hash, ok := strings.CutPrefix(sum, "h1:"); ok {
		if raw, err := base64.StdEncoding.DecodeString(hash); err == nil {
			c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
		}
	}
	return c
}
