package pgkv

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// mark is a file with the node's last commit. It is not synced: it serves to notice that the database was set back,
// not to repair anything.
type mark struct {
	file                 *os.File // nil: none
	incarnation, commits int64    // as the file was opened
}

// markForm has a fixed length: each write replaces the last one.
const markForm = "%020d %020d\n"

func openMark(path string) (*mark, error) {
	if path == "" {
		return &mark{}, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	m := &mark{file: f}
	if _, err := fmt.Fscanf(f, markForm, &m.incarnation, &m.commits); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return m, nil
}

func (m *mark) write(incarnation, commits int64) error {
	if m.file == nil {
		return nil
	}
	_, err := m.file.WriteAt(fmt.Appendf(nil, markForm, incarnation, commits), 0)
	return err
}

func (m *mark) close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}
