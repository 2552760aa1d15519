package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"
)

// number is the version of this tree, or the next one: no other file names it. packaging/version also reads it.
//
//go:embed VERSION
var number string

// version is set when building a release or a package (-ldflags "-X main.version=..."). Without it, a program built
// from a published module has that module's version, and any other one is VERSION-dev.
var version = ""

// commit is set when building a release (-ldflags "-X main.commit=..."). Other builds use what Go records when building
// in a repository.
var commit = ""

// buildInfo identifies the program.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func build() buildInfo {
	b := buildInfo{Version: version, Commit: commit, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if b.Version == "" {
		b.Version = strings.TrimSpace(number)
		if !ok || info.Main.Version != "v"+b.Version {
			b.Version += "-dev"
		}
	}
	if !ok || b.Commit != "" {
		return b
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true" && b.Commit != "":
			b.Commit += " with changes"
		}
	}
	return b
}

func printVersion(c *cli.Context) error {
	return printResult(c, build(), "sextant "+versionWords())
}

// versionWords returns the output of --version.
func versionWords() string {
	b := build()
	of := ""
	if b.Commit != "" {
		of = "commit " + b.Commit + ", "
	}
	return fmt.Sprintf("%s (%s%s, %s)", b.Version, of, b.Go, b.Platform)
}
