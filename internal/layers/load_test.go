package layers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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

// Load type-checks the packages below a folder, without tests.
func Load(folder string) ([]*packages.Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Dir:  folder,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
	}, "./...")
	for _, p := range loaded {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
	}
	return loaded, err
}

// folderOf returns a package's folder in the module.
func folderOf(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, Module), "/")
}
