package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// consolePackage carries the scripts of others that run in the console's pages.
const consolePackage = "internal/admin/console"

// scriptsIn lists those scripts, out of the table in static/vendor/VENDOR.md below the
// folder of the console, and for the editor, which is bundled, out of its package-lock.json.
func scriptsIn(folder string) ([]part, error) {
	vendor := filepath.Join(folder, "static", "vendor")
	table, err := os.ReadFile(filepath.Join(vendor, "VENDOR.md"))
	if err != nil {
		return nil, err
	}
	var parts []part
	seen := map[string]bool{}
	row := regexp.MustCompile(`(?m)^\| \S+\.(?:js|css) \| ([^|,]+),[^|]* \| ([^|]+) \| ([^|,]+), ([^| ]+) \| [0-9a-f]{64} \|$`)
	for _, m := range row.FindAllStringSubmatch(string(table), -1) {
		name, version, license, file := m[1], m[2], m[3], m[4]
		if seen[name] {
			continue
		}
		seen[name] = true
		text, err := os.ReadFile(filepath.Join(vendor, file))
		if err != nil {
			return nil, err
		}
		texts := []licenseFile{{file, string(text)}}
		if strings.Contains(version, "package-lock.json") {
			bundled, err := bundledIn(filepath.Join(folder, "editor", "package-lock.json"), texts)
			if err != nil {
				return nil, err
			}
			parts = append(parts, bundled...)
			continue
		}
		parts = append(parts, npmPart(name, version, license, texts))
	}
	if len(parts) < len(seen) || len(seen) == 0 {
		return nil, fmt.Errorf("%s: no scripts are found in its table", filepath.Join(vendor, "VENDOR.md"))
	}
	return parts, nil
}

// bundledIn lists what an npm lock file installs, except what only builds.
func bundledIn(lock string, texts []licenseFile) ([]part, error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var locked struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(text, &locked); err != nil {
		return nil, fmt.Errorf("%s: %w", lock, err)
	}
	var parts []part
	for path, p := range locked.Packages {
		name, installed := strings.CutPrefix(path, "node_modules/")
		if !installed || p.Dev {
			continue
		}
		if p.License == "" {
			return nil, fmt.Errorf("%s: %s has no licence", lock, name)
		}
		parts = append(parts, npmPart(name, p.Version, p.License, texts))
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.path, b.path) })
	return parts, nil
}

func npmPart(name, version, license string, texts []licenseFile) part {
	url := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version
	return part{path: name, version: version, url: url, licenses: []string{license}, files: texts}
}
