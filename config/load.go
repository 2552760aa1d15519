package config

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/sextant-crawler/sextant/actionrules"
)

// FileName is the name of the configuration in its folder.
const FileName = "CrawlConfig.xml"

// MaxFileBytes is the largest file that is read.
const MaxFileBytes = 64 << 20

// Lookups gives access to everything outside the configuration that it refers to. Its functions are called by one
// goroutine. Each may be nil: then nothing is found, and nothing is a link.
type Lookups struct {
	// Env returns an environment variable.
	Env func(name string) (string, bool)
	// ReadFile reads a file that the configuration names.
	ReadFile func(path string) ([]byte, error)
	// Exists reports whether a file or folder exists.
	Exists func(path string) bool
	// Unrunnable returns why an existing file cannot be run as a program; "" if it can.
	Unrunnable func(path string) string
	// RealPath returns a file's path with all links resolved.
	RealPath func(path string) string
	// Owner describes a file, by its real path, that the program itself writes, so that a configuration must not have
	// it written to; "" for any other file.
	Owner func(path string) string
	// Allow reports whether the configuration may use a resource of the machine. If not, that is an error, and the
	// other functions are not called for it. Nil allows everything.
	Allow func(Use) bool
}

// Load reads a configuration: path is the file or the folder of CrawlConfig.xml. The error means that it could not be
// read at all. The File is nil if the Report has errors.
func Load(path string) (*File, Report, error) { return LoadWith(path, OSLookups()) }

// LoadWith is Load with other lookups; the configuration itself is read from the disk.
func LoadWith(path string, lookups Lookups) (*File, Report, error) { return load(path, lookups, false) }

// LoadQuickly is LoadWith for a caller that compiles the rules itself, and shows no warnings: errors in patterns and in
// files of rules are not found, and Engine and Gates are nil.
func LoadQuickly(path string, lookups Lookups) (*File, Report, error) {
	return load(path, lookups, true)
}

func load(path string, lookups Lookups, quick bool) (*File, Report, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Report{}, fmt.Errorf("configuration %s: %w", path, withoutPath(err))
	}
	if info.IsDir() {
		path = filepath.Join(path, FileName)
	}
	raw, err := readFile(path)
	if err != nil {
		return nil, Report{}, fmt.Errorf("configuration %s: %w", path, withoutPath(err))
	}
	file, report := parse(path, raw, lookups, quick)
	return file, report, nil
}

// OSLookups returns Lookups for the process's environment and files.
func OSLookups() Lookups {
	return Lookups{
		Env:        os.LookupEnv,
		ReadFile:   readFile,
		Exists:     func(path string) bool { _, err := os.Stat(path); return err == nil },
		Unrunnable: unrunnable,
		RealPath:   realPath,
	}
}

// unrunnable checks the kind of file and its mode, since the service's user is unknown here.
func unrunnable(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return "is a folder: write the path of the program in it"
	case !info.Mode().IsRegular():
		return "is not a program file: write the path of one"
	case info.Mode()&0o111 == 0:
		return "is not executable: write the path of a program, or chmod +x it"
	}
	return ""
}

// realPath resolves the folder if the file does not exist yet.
func realPath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}

// readFile reads at most MaxFileBytes + 1 bytes. It does not wait for a writer of a named pipe, on which a reload, and
// a stop after it, would hang.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var read bytes.Buffer
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		read.Grow(int(min(info.Size(), MaxFileBytes)) + bytes.MinRead)
	}
	_, err = read.ReadFrom(io.LimitReader(f, MaxFileBytes+1))
	return read.Bytes(), err
}

// Parse reads a configuration from memory. name is its path: it appears in all positions, and other files are resolved
// relative to it. The File is nil if the Report has errors.
func Parse(name string, raw []byte, lookups Lookups) (*File, Report) {
	return parse(name, raw, lookups, false)
}

func parse(name string, raw []byte, lookups Lookups, quick bool) (*File, Report) {
	var report Report
	p := &parser{lookups: lookups.withDefaults(), report: &report, schema: newSchema(), quick: quick}
	file := p.parse(name, raw)
	p.warnOfInert()
	report.mainFile = name
	report.sort(name)
	report.silence(p.allowed)
	report.sort(name)
	if len(report.Errors) > 0 {
		return nil, report
	}
	return file, report
}

func (p *parser) parse(name string, raw []byte) *File {
	src, ok := p.decode(name, raw, xmlFile)
	if !ok {
		return nil
	}
	p.src = src
	root := p.parseTree()
	if root == nil {
		return nil
	}
	return p.file(root)
}

// Tree parses a configuration as XML, without checking its elements. text is UTF-8 without byte order mark, with LF as
// line ends; the offsets in file refer to it. The children of file are the outermost element and the comments and
// instructions around it. The error reports where raw is not well-formed, or that it is too large.
func Tree(name string, raw []byte) (text []byte, file *Markup, err error) {
	p := &parser{report: &Report{}}
	src, ok := p.decode(name, raw, xmlFile)
	if !ok {
		return nil, nil, p.report.Err()
	}
	s := newScan(newSource(name, lineFeeds(src.data)))
	s.whole = true
	if _, f := s.run(); f != nil {
		p.report.errorf(s.src.position(f.offset), "%s", f.message)
		return nil, nil, p.report.Err()
	}
	return s.src.data, &s.file, nil
}

// lineFeeds converts line ends to LF (XML 1.0, 2.11).
func lineFeeds(text []byte) []byte {
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// decode returns the source of a file's bytes, or reports why it cannot be read.
func (p *parser) decode(name string, raw []byte, n notation) (*source, bool) {
	if len(raw) > MaxFileBytes {
		p.report.errorf(actionrules.Position{File: name}, "the file is larger than %d MiB", MaxFileBytes>>20)
		return nil, false
	}
	text, f := n.decode(raw)
	src := newSource(name, text)
	if f != nil {
		p.report.errorf(src.position(f.offset), "%s", f.message)
		return nil, false
	}
	return src, true
}

func (l Lookups) withDefaults() Lookups {
	if l.Env == nil {
		l.Env = func(string) (string, bool) { return "", false }
	}
	if l.ReadFile == nil {
		l.ReadFile = func(string) ([]byte, error) { return nil, os.ErrNotExist }
	}
	if l.Unrunnable == nil {
		l.Unrunnable = func(string) string { return "" }
	}
	if l.Exists == nil {
		l.Exists = func(string) bool { return false }
	}
	if l.Owner == nil {
		l.Owner = func(string) string { return "" }
	}
	if l.RealPath == nil {
		l.RealPath = func(path string) string { return path }
	}
	return l
}
