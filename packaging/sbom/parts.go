package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// part is a module that is linked into the program, Go's own library, or what a module
// carries inside.
type part struct {
	path, version, sum string
	url                string   // package URL, if it is not that of a Go module
	licenses           []string // SPDX identifiers, in order
	files              []licenseFile
}

// licenseFile is a text that goes with a part.
type licenseFile struct{ name, text string }

// goLibrary is the path of the part that is Go's own library and runtime.
const goLibrary = "std"

// listed is what go list tells of a package.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Dir string
		Main      bool
	}
}

// partsOf finds the parts of a program and their licences. A part whose licence is not
// recognised is an error: somebody has to look at it.
func partsOf(ctx context.Context, info *debug.BuildInfo) ([]part, error) {
	packages, err := listPackages(ctx, info)
	if err != nil {
		return nil, err
	}
	var scripts []part
	roots, folders := map[string]string{}, map[string][]string{}
	for _, p := range packages {
		if p.Module != nil && p.Module.Main && strings.HasSuffix(filepath.ToSlash(p.Dir), "/"+consolePackage) {
			if scripts, err = scriptsIn(p.Dir); err != nil {
				return nil, err
			}
		}
		if p.Module != nil && !p.Module.Main {
			roots[p.Module.Path] = p.Module.Dir
			folders[p.Module.Path] = append(folders[p.Module.Path], p.Dir)
		}
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	std := part{path: goLibrary, version: strings.TrimPrefix(info.GoVersion, "go")}
	std.files, err = licensesIn(strings.TrimSpace(string(goroot)), nil)
	parts := []part{std}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p := part{path: m.Path, version: m.Version, sum: m.Sum}
		root, linked := roots[m.Path]
		if !linked {
			return nil, fmt.Errorf("%s is in the program, and not among what its sources import: was it built from them?", m.Path)
		}
		var moreErr error
		p.files, moreErr = licensesIn(root, folders[m.Path])
		inside, insideErr := embeddedIn(m.Path, m.Version)
		err = errors.Join(err, moreErr, insideErr)
		parts = append(append(parts, p), inside...)
	}
	parts = append(parts, scripts...)
	for i := range parts {
		p := &parts[i]
		if p.licenses != nil { // known already
			continue
		}
		for _, f := range p.files {
			p.licenses = append(p.licenses, identify(f.text)...)
		}
		slices.Sort(p.licenses)
		p.licenses = slices.Compact(p.licenses)
		if len(p.licenses) == 0 {
			err = errors.Join(err, fmt.Errorf("%s %s: no licence that is known here is found in its folder", p.path, p.version))
		}
	}
	return parts, err
}

// listPackages lists what is linked for the program's platform.
func listPackages(ctx context.Context, info *debug.BuildInfo) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,Standard,Module", info.Path)
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
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// licensesIn reads the licence files of a module's root and of the folders that are
// linked, up to the root: some packages in a module have other authors.
func licensesIn(root string, folders []string) (files []licenseFile, err error) {
	named := regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|unlicense|patents|third[-_]party)([-._].*)?$`)
	seen := map[string]bool{}
	look := func(dir string) error {
		entries, err := os.ReadDir(dir)
		if err != nil || seen[dir] {
			return err
		}
		seen[dir] = true
		for _, e := range entries {
			if !e.Type().IsRegular() || !named.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			files = append(files, licenseFile{name, string(text)})
		}
		return nil
	}
	for _, dir := range append([]string{root}, folders...) {
		for ; strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
			err = errors.Join(err, look(dir))
		}
	}
	slices.SortFunc(files, func(a, b licenseFile) int { return strings.Compare(a.name, b.name) })
	return files, err
}
