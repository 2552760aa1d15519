package admin

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/internal/atomicfile"
)

// ConfigHistory is a folder of texts that were the configuration, which the service alone writes.
type ConfigHistory struct {
	Folder string // made when it is needed
	Base   string // name of the configuration's file, which the names of the texts begin with
}

// ConfigVersion is a text that was the configuration.
type ConfigVersion struct {
	Name  string    `json:"name"` // of its file
	Kept  time.Time `json:"kept"` // when it came into force, or another text was about to replace it
	Bytes int64     `json:"bytes"`
}

// mostVersions is the number of texts that are kept; all fit on one page of a list.
const mostVersions = 100

// at reads when a text was kept of its file's name; ok is false for any other name.
func (h ConfigHistory) at(name string) (kept time.Time, ok bool) {
	suffix, ok := strings.CutPrefix(name, h.Base)
	if !ok {
		return time.Time{}, false
	}
	kept, err := time.Parse(".20060102-150405", suffix) // a fraction is read, too
	return kept, err == nil
}

// list returns the stored versions, newest first.
func (h ConfigHistory) list() ([]ConfigVersion, error) {
	kept := []ConfigVersion{}
	entries, err := os.ReadDir(h.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		at, ok := h.at(e.Name())
		if info, err := e.Info(); ok && err == nil {
			kept = append(kept, ConfigVersion{e.Name(), at, info.Size()})
		}
	}
	slices.SortFunc(kept, func(a, b ConfigVersion) int {
		return cmp.Or(b.Kept.Compare(a.Kept), strings.Compare(b.Name, a.Name))
	})
	return kept, nil
}

// Keep stores a text unless it is the newest one. It returns the name of its file. The oldest of too many go.
func (h ConfigHistory) Keep(text []byte, now time.Time) (name string, err error) {
	if err := os.MkdirAll(h.Folder, 0o700); err != nil {
		return "", err
	}
	kept, err := h.list()
	if err != nil {
		return "", err
	}
	if len(kept) > 0 {
		if last, err := os.ReadFile(filepath.Join(h.Folder, kept[0].Name)); err == nil && bytes.Equal(last, text) {
			return kept[0].Name, nil
		}
	}
	name = h.Base + now.UTC().Format(".20060102-150405.000000000")
	if err := atomicfile.Write(filepath.Join(h.Folder, name), 0o600, text); err != nil {
		return "", err
	}
	for _, v := range kept[min(len(kept), mostVersions-1):] {
		err = errors.Join(err, os.Remove(filepath.Join(h.Folder, v.Name)))
	}
	return name, err
}
