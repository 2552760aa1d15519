package pgkv

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// mark is a file with the node's name, its last commit, and the database that has it. It is not synced: it serves to
// notice that the database was set back, not to repair anything.
type mark struct {
	file                 *os.File // nil: none
	node                 string
	incarnation, commits int64 // as the file was opened
	system, timeline     int64 // of the database; 0: unknown
}

// markForm has a fixed length: each write replaces the last one.
const markForm = "%s %020d %020d %020d %010d\n"

func openMark(path string) (*mark, error) {
	if path == "" {
		return &mark{}, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	m := &mark{file: f}
	_, err = fmt.Fscanf(f, "%s %d %d %d %d\n", &m.node, &m.incarnation, &m.commits, &m.system, &m.timeline)
	if errors.Is(err, io.EOF) {
		m.node, err = newName()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return m, nil
}

// newName returns a name that begins with the machine's and that no other node has.
func newName() (string, error) {
	host, err := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(host))
	if plain == "" || plain[0] < 'a' {
		plain = "n" + plain
	}
	return fmt.Sprintf("%.13s-%s", plain, strings.ToLower(rand.Text()[:4])), err
}

func (m *mark) write(incarnation, commits int64) error {
	if m.file == nil {
		return nil
	}
	_, err := m.file.WriteAt(fmt.Appendf(nil, markForm, m.node, incarnation, commits, m.system, m.timeline), 0)
	return err
}

func (m *mark) close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}
