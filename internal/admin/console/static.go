package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var staticFiles embed.FS

// files are the style sheets and scripts of the console, in memory.
type files struct {
	byPath map[string]file // by path of the URL
}

type file struct {
	body    []byte
	version string // a hash of the body
	media   string
}

func loadFiles() (*files, error) {
	f := &files{byPath: map[string]file{}}
	err := fs.WalkDir(staticFiles, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		media := mediaTypes()[path.Ext(name)]
		if media == "" {
			return nil // licences and notes are not served
		}
		body, err := staticFiles.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		f.byPath["/"+name] = file{body, hex.EncodeToString(sum[:8]), media}
		return nil
	})
	return f, err
}

// mediaTypes returns the types of the served files, independent of the system's own, which vary.
func mediaTypes() map[string]string {
	utf8 := map[string]string{"charset": "utf-8"}
	return map[string]string{
		".css": mime.FormatMediaType("text/css", utf8),
		".js":  mime.FormatMediaType("text/javascript", utf8),
		".svg": mime.FormatMediaType("image/svg+xml", nil),
	}
}

// address returns the URL of a file of static/. It changes with the content, so browsers may cache it.
func (f *files) address(name string) string {
	p := "/static/" + name
	return p + "?v=" + f.byPath[p].version
}

// ServeHTTP serves a file.
func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, ok := f.byPath[r.URL.Path]
	if !ok {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", one.media)
	h.Set("ETag", `"`+one.version+`"`)
	h.Set("Cache-Control", "no-cache")
	if strings.Contains(r.URL.RawQuery, one.version) {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(one.body))
}
