package admin

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
)

// configVersions lists the stored versions, newest first.
func (s *Server) configVersions(c *call) (any, error) {
	kept, err := s.config.History().list()
	if err != nil {
		return nil, err
	}
	return list(s, c, "versions of the configuration", func(fn func(item any, at string) error) error {
		for _, v := range kept {
			if err := fn(v, v.Name); err != nil {
				return err
			}
		}
		return nil
	})
}

// configVersion returns a kept text.
func (s *Server) configVersion(c *call) (any, error) {
	history, name := s.config.History(), c.query.Get("name")
	text, err := os.ReadFile(filepath.Join(history.Folder, filepath.Base(name)))
	if _, ok := history.at(name); !ok || errors.Is(err, fs.ErrNotExist) {
		return nil, newProblem(http.StatusNotFound, codeNotKnown,
			"no version of the configuration has the name %.100q: GET /api/v1/config/versions lists them", name)
	}
	return document{configMedia, text}, err
}
