package layers

import (
	"errors"
	"strings"

	"golang.org/x/tools/go/packages"
)

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
