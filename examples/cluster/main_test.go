package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEmpty: files of somebody else are never removed; those of an earlier run are.
func TestEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	p := place{dir: dir}
	if err := p.empty(); err != nil {
		t.Fatal(err)
	}
	left := p.path("left")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.empty(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what an earlier run left is there still")
	}
	theirs := place{dir: t.TempDir()}
	if err := os.WriteFile(theirs.path("theirs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := theirs.empty(); err == nil || !strings.Contains(err.Error(), "-dir") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(theirs.path("theirs")); err != nil {
		t.Error(err)
	}
}
