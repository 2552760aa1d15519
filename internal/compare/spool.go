package compare

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
)

// spool stores URLs in an unnamed file, since there may be many.
type spool struct {
	file *os.File
	out  *bufio.Writer
}

func (s *spool) add(url string) error {
	if s.file == nil {
		f, err := os.CreateTemp("", "sextant-verify-")
		if err != nil {
			return err
		}
		if err := os.Remove(f.Name()); err != nil { // it goes with the process
			return errors.Join(err, f.Close())
		}
		s.file, s.out = f, bufio.NewWriter(f)
	}
	_, err := s.out.WriteString(strconv.Quote(url) + "\n") // always one line
	return err
}

// each calls fn for the URLs, up to n at a time.
func (s *spool) each(n int, fn func(urls []string) error) error {
	if s.file == nil {
		return nil
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReader(s.file)
	for {
		var urls []string
		for len(urls) < n {
			line, err := in.ReadString('\n')
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			u, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
			if err != nil {
				return err
			}
			urls = append(urls, u)
		}
		if len(urls) == 0 {
			return nil
		}
		if err := fn(urls); err != nil {
			return err
		}
	}
}

func (s *spool) close() {
	if s.file != nil {
		_ = s.file.Close() // nothing of it is kept
	}
}
