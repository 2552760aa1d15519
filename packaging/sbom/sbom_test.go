package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// builtSBOM builds a small program of several modules, this one, and says what is in it.
func builtSBOM(t *testing.T) (bom []byte, licenses string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	bomFile, licenseFile := filepath.Join(dir, "bom"), filepath.Join(dir, "licenses")
	if err := run(t.Context(), []string{"-program", program, "-version", "1.2.3", "-bom", bomFile, "-licenses", licenseFile}, io.Discard); err != nil {
		t.Fatal(err)
	}
	bom, err := os.ReadFile(bomFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(licenseFile)
	if err != nil {
		t.Fatal(err)
	}
	return bom, string(text)
}

func TestSBOM(t *testing.T) {
	bom, licenses := builtSBOM(t)
	again, _ := builtSBOM(t)
	if !bytes.Equal(bom, again) {
		t.Error("two runs differ")
	}
	validate(t, bom)
	var decoded cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(bom), cyclonedx.BOMFileFormatJSON).Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	if got := decoded.Metadata.Component; got.Name != "github.com/sextant-crawler/sextant" || got.Version != "1.2.3" {
		t.Errorf("the program is %s %s", got.Name, got.Version)
	}
	i := slices.IndexFunc(*decoded.Components, func(c cyclonedx.Component) bool { return c.Name == "github.com/CycloneDX/cyclonedx-go" })
	if i < 0 {
		t.Fatalf("a module is missing among %d", len(*decoded.Components))
	}
	c := (*decoded.Components)[i]
	if c.PackageURL != "pkg:golang/github.com/CycloneDX/cyclonedx-go@"+c.Version || len(*c.Hashes) != 1 || (*c.Licenses)[0].License.ID != "Apache-2.0" {
		t.Errorf("the module is told of as %+v", c)
	}
	for _, want := range []string{"github.com/CycloneDX/cyclonedx-go " + c.Version + ": Apache-2.0\n", "Copyright OWASP Foundation", "Copyright 2009 The Go Authors."} {
		if !strings.Contains(licenses, want) {
			t.Errorf("%q is not in the licences", want)
		}
	}
}

// validate checks against the schema of the format's authors, which their module carries.
func validate(t *testing.T, bom []byte) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(out)), "schema")
	compiler := jsonschema.NewCompiler()
	for url, name := range map[string]string{
		"http://cyclonedx.org/schema/bom-1.6.schema.json":  "bom-1.6.schema.json",
		"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
		"http://cyclonedx.org/schema/jsf-0.82.schema.json": "jsf-0.82.schemax.json",
	} {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(f)
		if err := compiler.AddResource(url, document); err != nil {
			t.Fatal(err)
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var instance any
	if err := json.Unmarshal(bom, &instance); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(instance); err != nil {
		t.Error(err)
	}
	instance.(map[string]any)["components"].([]any)[0].(map[string]any)["type"] = "nonsense"
	if schema.Validate(instance) == nil {
		t.Error("the schema takes anything")
	}
}

func TestIdentify(t *testing.T) {
	for text, want := range map[string][]string{
		"Apache License\n   Version 2.0, January 2004":                                                         {"Apache-2.0"},
		"Mozilla Public License, version 2.0":                                                                  {"MPL-2.0"},
		"Permission is hereby granted, free\nof charge, to any person obtaining a copy of this":                {"MIT"},
		"Redistribution and use in source and binary forms ... this list of conditions":                        {"BSD-2-Clause"},
		"Redistribution and use in source and binary forms ... Neither the name of":                            {"BSD-3-Clause"},
		"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee": {"ISC"},
		"This is free and unencumbered software released into the public domain.":                              {"Unlicense"},
		"All rights reserved. You may look.":                                                                   nil,
	} {
		if diff := cmp.Diff(want, identify(text)); diff != "" {
			t.Errorf("%.40q: %s", text, diff)
		}
	}
}

// TestUnknownLicenseIsAnError takes a program whose modules are not those of its sources.
func TestUnknownModuleIsAnError(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	info.Path = "github.com/sextant-crawler/sextant/packaging/sbom"
	info.Deps[0].Path = "example.com/gone"
	if _, err := partsOf(t.Context(), info); err == nil || !strings.Contains(err.Error(), "example.com/gone") {
		t.Errorf("an error about example.com/gone is wanted, not %v", err)
	}
}

func TestLicenseFiles(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"LICENSE", "NOTICE.txt", "license.go", "a/README", "a/b/COPYING", "c/LICENSE"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := licensesIn(root, []string{filepath.Join(root, "a", "b"), root})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	// c is not linked.
	if diff := cmp.Diff([]string{"LICENSE", "NOTICE.txt", "a/b/COPYING"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestBuildTime(t *testing.T) {
	if at, err := buildTime("86400"); err != nil || !at.Equal(time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("86400 is %v, %v", at, err)
	}
	if _, err := buildTime("today"); err == nil {
		t.Error("today is taken")
	}
}
