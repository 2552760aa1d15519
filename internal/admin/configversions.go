package admin

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ConfigVersion is an earlier text of the configuration, kept beside it.
type ConfigVersion struct {
	Name     string    `json:"name"`     // of its file
	Replaced time.Time `json:"replaced"` // when another text replaced it
	Bytes    int64     `json:"bytes"`
}

// versionOf parses the name of a kept text, as made by replaceConfig; ok is false for any other name.
func versionOf(base, name string) (replaced time.Time, ok bool) {
	suffix, ok := strings.CutPrefix(name, base)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.ParseInLocation(".20060102-150405", suffix, time.Local) // it also accepts a fraction
	return at, err == nil
}

// versions returns the folder of the configuration, and the name of its file.
func (s *Server) versions() (folder *os.Root, base string, err error) {
	path, err := filepath.EvalSymlinks(s.config.Path())
	if err != nil {
		return nil, "", err
	}
	folder, err = os.OpenRoot(filepath.Dir(path))
	return folder, filepath.Base(path), err
}

// configVersions lists the kept texts, newest first.
func (s *Server) configVersions(c *call) (any, error) {
	folder, base, err := s.versions()
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return nil, err
	}
	kept := []ConfigVersion{}
	for _, e := range entries {
		at, ok := versionOf(base, e.Name())
		if !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed in the meantime
		}
		if err != nil {
			return nil, err
		}
		kept = append(kept, ConfigVersion{e.Name(), at, info.Size()})
	}
	slices.SortFunc(kept, func(a, b ConfigVersion) int {
		return cmp.Or(b.Replaced.Compare(a.Replaced), strings.Compare(b.Name, a.Name))
	})
	from := 0
	if cursor := c.query.Get("cursor"); cursor != "" {
		if from = slices.IndexFunc(kept, func(v ConfigVersion) bool { return v.Name == cursor }); from < 0 {
			return nil, errCursor
		}
	}
	return list(s, c, "versions of the configuration", func(fn func(item any, at string) error) error {
		for _, v := range kept[from:] {
			if err := fn(v, v.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// configVersion returns a kept text.
func (s *Server) configVersion(c *call) (any, error) {
	folder, base, err := s.versions()
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	name := c.query.Get("name")
	none := newProblem(http.StatusNotFound, codeNotKnown, "no text of the configuration is kept under the name %.100q: GET /api/v1/config/versions lists them", name)
	if _, ok := versionOf(base, name); !ok {
		return nil, none
	}
	info, err := folder.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes))
	return document{configMedia, text}, err
}
