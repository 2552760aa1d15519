package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed static
var staticFiles embed.FS

// files are the style sheets and scripts of the console.
type files struct {
	byPath map[string]string // hashes of their contents, by path of the URL
}

// mediaType returns the type of a served file, independent of the system's own, which vary; empty for licences and
// notes, which are not served.
func mediaType(name string) string {
	return map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(name)]
}

func loadFiles() (*files, error) {
	f := &files{byPath: map[string]string{}}
	err := fs.WalkDir(staticFiles, "static", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || mediaType(name) == "" {
			return err
		}
		body, err := staticFiles.ReadFile(name)
		sum := sha256.Sum256(body)
		f.byPath["/"+name] = hex.EncodeToString(sum[:8])
		return err
	})
	return f, err
}

// address returns the URL of a file of static/. It changes with the content, so browsers may cache it.
func (f *files) address(name string) string {
	p := "/static/" + name
	return p + "?v=" + f.byPath[p]
}

// ServeHTTP serves a file.
func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version := f.byPath[r.URL.Path]
	if version == "" {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mediaType(r.URL.Path))
	h.Set("ETag", `"`+version+`"`)
	h.Set("Cache-Control", "no-cache")
	if strings.Contains(r.URL.RawQuery, version) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeFileFS(w, r, staticFiles, r.URL.Path[1:])
}
