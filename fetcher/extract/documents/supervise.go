package documents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// The supervisor is a process between the crawler and a converter. One goroutine waits for the end of its input, by
// which the crawler, or its own end, ends the converter.

// Limits of a converter.
type Limits struct {
	// Memory limits each of its processes, in bytes.
	Memory int64
}

// memoryFlag passes the memory limit.
const memoryFlag = "--memory"

// arguments returns the supervisor's arguments for the limits; the converter's command follows.
func (l Limits) arguments() []string {
	return []string{memoryFlag, strconv.FormatInt(l.Memory, 10), "--"}
}

// maxConverterFile is the largest file that a converter may write.
const maxConverterFile = 1 << 30

// A supervisor's final output: the word, a blank, and more.
const (
	verdictExit   = "exit"   // the status of the converter
	verdictSignal = "signal" // the signal that ended it
	verdictFailed = "failed" // why it could not be started
)

// Supervise runs a converter: it writes the body from in to a file in a separate folder, runs the program there, and
// waits for its end or for that of in. Then it ends all remaining processes of the converter, removes the folder, and
// writes its verdict. starter is the command that starts a program by StartConverter, this program's own if it is
// empty. The converter inherits output and errors of this process, whose last call this must be.
func Supervise(in io.Reader, verdict io.Writer, starter []string, l Limits, program []string) error {
	words, err := supervised(in, starter, l, program)
	if err != nil {
		words = verdictFailed + " " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	_, err = io.WriteString(verdict, words+"\n")
	return err
}

func supervised(in io.Reader, starter []string, l Limits, program []string) (words string, err error) {
	if len(program) == 0 {
		return "", errNoProgram
	}
	if len(starter) == 0 {
		self, err := executable()
		if err != nil {
			return "", err
		}
		starter = []string{self, ConverterCommand, "--start"}
	}
	dir, err := os.MkdirTemp("", "sextant-convert-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	body, err := receive(in, filepath.Join(dir, "document"))
	if err != nil {
		return "", err
	}
	defer body.Close()
	adoptOrphans()
	command, started, err := start(starter, l, program, dir, body)
	if err != nil {
		return "", fmt.Errorf("cannot start %s: %w", program[0], err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in) // ends with the crawler, or at its request
		endConverter(command.Process)
	}()
	failure, _ := io.ReadAll(io.LimitReader(started, verdictBytes))
	_ = started.Close()
	err = command.Wait()
	endConverter(command.Process)
	endOrphans()
	if len(failure) > 0 {
		return "", fmt.Errorf("cannot start %s: %s", program[0], failure)
	}
	var ended *exec.ExitError
	switch state := command.ProcessState.Sys().(syscall.WaitStatus); {
	case state.Signaled():
		return verdictSignal + " " + state.Signal().String(), nil
	case err != nil && !errors.As(err, &ended):
		return "", err
	default:
		return fmt.Sprint(verdictExit, " ", state.ExitStatus()), nil
	}
}

// fileTooLarge is the verdict's name of the signal for a process that wrote too large a file.
var fileTooLarge = syscall.SIGXFSZ.String()

// receive writes the body to a file, and opens it.
func receive(in io.Reader, path string) (*os.File, error) {
	var n uint64
	if err := binary.Read(in, binary.BigEndian, &n); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = io.CopyN(f, in, int64(min(n, maxRequest))); err == nil { //nolint:gosec // bounded
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// start starts the converter. started reports why it could not be started, and just ends if it could.
func start(starter []string, l Limits, program []string, dir string, body *os.File) (command *exec.Cmd, started *os.File, err error) {
	words := append(append([]string{}, starter...), l.arguments()...)
	fromFile := false
	for _, word := range program {
		fromFile = fromFile || strings.Contains(word, extract.ConverterFile)
		words = append(words, strings.ReplaceAll(word, extract.ConverterFile, body.Name()))
	}
	started, resultsWriter, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer resultsWriter.Close()
	command = exec.Command(words[0], words[1:]...) //nolint:gosec,noctx // the operator's own; the supervisor ends it
	if !fromFile {
		command.Stdin = body
	}
	command.Stdout, command.Stderr, command.Dir = os.Stdout, os.Stderr, dir
	command.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir)
	command.ExtraFiles, command.SysProcAttr = []*os.File{resultsWriter}, ownGroup()
	if err := command.Start(); err != nil {
		return nil, nil, errors.Join(err, started.Close())
	}
	return command, started, nil
}
