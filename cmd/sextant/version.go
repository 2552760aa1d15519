package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"
)

// number is the version that this tree is, or that it becomes: no other file names it.
// packaging/version reads it, too.
//
//go:embed VERSION
var number string

// version is set by the build of a release or a package (-ldflags "-X main.version=...").
// Without it, a program that was built from a published module has that module's version,
// and any other one is VERSION-dev.
var version = ""

// commit is set by the build of a release (-ldflags "-X main.commit=..."). Other
// builds have what Go writes into a program that is built in a repository.
var commit = ""

// buildInfo says what program this is.
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
	return say(c, build(), "sextant "+versionWords())
}

// versionWords are what --version tells.
func versionWords() string {
	b := build()
	of := ""
	if b.Commit != "" {
		of = "commit " + b.Commit + ", "
	}
	return fmt.Sprintf("%s (%s%s, %s)", b.Version, of, b.Go, b.Platform)
}
