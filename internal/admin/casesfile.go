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
func (s *Server) cases() (folder *os.Root, text []byte, mode fs.FileMode, err error) {
	path, err := filepath.EvalSymlinks(s.config.Path())
	if err != nil {
		return nil, nil, 0, err
	}
	opened, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = opened.Close()
		}
	}()
	config, err := opened.Stat(filepath.Base(path))
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
	folder, before, mode, err := s.cases()
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	if !matches(match, configTag(before)) {
		return nil, newProblem(http.StatusPreconditionFailed, codeChanged, "the test cases were changed in the meantime: read them again, and repeat your change")
	}
	path := filepath.Join(folder.Name(), casesName)
	if err := atomicfile.Write(path, mode, text); err != nil {
		return nil, unwritable(path, err)
	}
	out := WrittenCases{ETag: configTag(text), Cases: len(parsed)}
	c.w.Header().Set("ETag", out.ETag)
	c.target, c.result = casesName, []any{"bytes", len(text), "cases", out.Cases}
	return out, nil
}
