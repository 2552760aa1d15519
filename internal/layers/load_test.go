package layers

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// loaded type-checks the project once for all tests.
var loaded = sync.OnceValues(func() ([]*packages.Package, error) { return Load("../..") })

func project(t *testing.T) []*packages.Package {
	t.Helper()
	all, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// module loads one that has these files.
func module(t *testing.T, files map[string]string) []*packages.Package {
	t.Helper()
	folder := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module "+Module+"\n\ngo 1.26\n")
	for name, text := range files {
		write(name, text)
	}
	all, err := Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
