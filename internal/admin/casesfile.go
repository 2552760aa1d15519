package admin

import (
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
)

const (
	casesName     = "cases.txt"
	casesMedia    = "text/plain; charset=utf-8"
	maxCasesBytes = 4 << 20
)

// CasesPath returns the file of test cases beside a configuration.
func CasesPath(config string) string { return filepath.Join(filepath.Dir(config), casesName) }

// cases reads the file; its text is empty if there is none. Only a regular file in the folder of the configuration is
// read and replaced.
func (s *Server) cases() (folder *os.Root, text []byte, mode fs.FileMode, err error) {
	opened, base, err := s.versions()
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = opened.Close()
		}
	}()
	config, err := opened.Stat(base)
	if err != nil {
		return nil, nil, 0, err
	}
	info, err := opened.Lstat(casesName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return opened, nil, config.Mode().Perm(), nil
	case err != nil:
		return nil, nil, 0, err
	case !info.Mode().IsRegular():
		return nil, nil, 0, &Declined{Err: errors.New(casesName + " beside the configuration is not a regular file: edit it on the machine")}
	case info.Size() > maxCasesBytes:
		return nil, nil, 0, &Declined{Err: errors.New(casesName + " beside the configuration is larger than 4 MiB: edit it on the machine")}
	}
	text, err = opened.ReadFile(casesName)
	return opened, text, info.Mode().Perm(), err
}

func (s *Server) readCases(c *call) (any, error) {
	folder, text, _, err := s.cases()
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	c.w.Header().Set("ETag", configTag(text))
	c.w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": casesName}))
	return document{casesMedia, text}, nil
}

// WrittenCases is the result of writing test cases.
type WrittenCases struct {
	ETag  string `json:"etag"`
	Cases int    `json:"cases"`
}

// writeCases replaces the test cases by a text, if each of its lines is a case and
// they have not changed since the caller read them.
func (s *Server) writeCases(c *call) (any, error) {
	match, err := c.match("the test cases")
	if err != nil {
		return nil, err
	}
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	parsed, errs := ParseCases(casesName, string(text))
	if len(errs) > 0 {
		return nil, &Declined{Err: errors.Join(errs...)}
	}
	done, err := s.writeAlone(c.r.Context())
	if err != nil {
		return nil, err
	}
	defer done()
	folder, before, mode, err := s.cases()
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	if !matches(match, configTag(before)) {
		return nil, newProblem(http.StatusPreconditionFailed, codeChanged, "the test cases were changed in the meantime: read them again, and make your change in those")
	}
	if err := replaceIn(folder, casesName, text, mode); err != nil {
		return nil, unwritable(filepath.Join(folder.Name(), casesName), err)
	}
	out := WrittenCases{ETag: configTag(text), Cases: len(parsed)}
	c.w.Header().Set("ETag", out.ETag)
	c.target, c.result = casesName, []any{"bytes", len(text), "cases", out.Cases}
	return out, nil
}
