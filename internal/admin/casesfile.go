package admin

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/sextant-crawler/sextant/internal/atomicfile"
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
func (s *Server) cases() (path string, text []byte, mode fs.FileMode, err error) {
	config, err := filepath.EvalSymlinks(s.config.Path())
	if err != nil {
		return "", nil, 0, err
	}
	own, err := os.Stat(config)
	if err != nil {
		return "", nil, 0, err
	}
	path = CasesPath(config)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil, own.Mode().Perm(), nil
	case err != nil:
		return "", nil, 0, err
	case !info.Mode().IsRegular():
		return "", nil, 0, &Declined{Err: errors.New(casesName + " beside the configuration is not a regular file: edit it on the machine")}
	case info.Size() > maxCasesBytes:
		return "", nil, 0, &Declined{Err: errors.New(casesName + " beside the configuration is larger than 4 MiB: edit it on the machine")}
	}
	text, err = os.ReadFile(path)
	return path, text, info.Mode().Perm(), err
}

func (s *Server) readCases(c *call) (any, error) {
	_, text, _, err := s.cases()
	if err != nil {
		return nil, err
	}
	return c.handOut(casesMedia, casesName, text), nil
}

// WrittenCases is the result of writing test cases.
type WrittenCases struct {
	ETag  string `json:"etag"`
	Cases int    `json:"cases"`
}

// writeCases replaces the test cases by a text, if each of its lines is a case and
// they have not changed since the caller read them.
func (s *Server) writeCases(c *call) (any, error) {
	match, text, done, err := s.replacement(c, "the test cases")
	if err != nil {
		return nil, err
	}
	defer done()
	parsed, errs := ParseCases(casesName, string(text))
	if len(errs) > 0 {
		return nil, &Declined{Err: errors.Join(errs...)}
	}
	path, before, mode, err := s.cases()
	if err != nil {
		return nil, err
	}
	if !matches(match, configTag(before)) {
		return nil, newProblem(http.StatusPreconditionFailed, codeChanged, "the test cases were changed in the meantime: read them again, and repeat your change")
	}
	if err := atomicfile.Write(path, mode, text); err != nil {
		return nil, unwritable(path, err)
	}
	out := WrittenCases{ETag: configTag(text), Cases: len(parsed)}
	c.w.Header().Set("ETag", out.ETag)
	c.target, c.result = casesName, []any{"bytes", len(text), "cases", out.Cases}
	return out, nil
}
