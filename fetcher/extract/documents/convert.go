package documents

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/extract"
)

// A conversion has one goroutine. Timers and the end of its context only close the pipe that keeps its supervisor
// running, or kill the supervisor.

// ConverterCommand is the command of this program that runs a converter and ends it.
const ConverterCommand = "convert-document"

const (
	// endGrace is the time that a supervisor has to end its processes.
	endGrace = 5 * time.Second
	// verdictBytes bounds a supervisor's final output.
	verdictBytes = 4 << 10
)

// Convert runs an external program that reads a body. The error is an *Error, or that of ctx if ctx ended. As many
// programs run at once as there may be workers.
func (p *Pool) Convert(ctx context.Context, c extract.Converter, body []byte) (extract.Page, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.closing, func() { cancel(errClosed) })()
	if err := p.enter(ctx, p.conversions); err != nil {
		return extract.Page{}, err
	}
	defer func() { <-p.conversions }()
	p.mu.Lock()
	supervisor, err := p.settings.supervisor()
	p.mu.Unlock()
	if err != nil {
		return extract.Page{}, &Error{Unavailable, err.Error()}
	}
	run := conversion{converter: &c, stderr: &crashOutput{}}
	output, err := run.of(ctx, supervisor, body)
	switch {
	case ctx.Err() != nil:
		return extract.Page{}, context.Cause(ctx)
	case err != nil:
		return extract.Page{}, err
	}
	page, err := c.Converted(output)
	if err != nil {
		return extract.Page{}, &Error{Damaged, err.Error()}
	}
	if run.cut {
		page.Metas = append(page.Metas, extract.Meta{Name: "truncated", Content: "true"})
	}
	return page, nil
}

// supervisor returns the supervisor's command, to which the converter's is appended.
func (s Settings) supervisor() ([]string, error) {
	if len(s.Supervisor) > 0 {
		return s.Supervisor, nil
	}
	program, err := executable()
	return []string{program, ConverterCommand}, err
}

// conversion is one run of a converter.
type conversion struct {
	converter *extract.Converter
	stderr    *crashOutput
	slow      atomic.Bool
	cut       bool // the output exceeded the limit
}

// of runs the converter for a body and returns its output.
func (r *conversion) of(ctx context.Context, supervisor []string, body []byte) ([]byte, error) {
	limits := Limits{Memory: r.converter.MaxMemory}
	words := append(append(supervisor[:len(supervisor):len(supervisor)], limits.arguments()...), r.converter.Command...)
	command := exec.Command(words[0], words[1:]...) //nolint:gosec,noctx // our own program, which runs the operator's; closing its input ends both
	command.Env, command.Dir = converterEnvironment(), "/"
	command.Stderr, command.SysProcAttr, command.WaitDelay = r.stderr, ownGroup(), endGrace
	in, err := command.StdinPipe()
	if err != nil {
		return nil, &Error{Unavailable, err.Error()}
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, &Error{Unavailable, err.Error()}
	}
	results, resultsWriter, err := os.Pipe()
	if err != nil {
		return nil, &Error{Unavailable, err.Error()}
	}
	defer results.Close()
	command.ExtraFiles = []*os.File{resultsWriter}
	err = command.Start()
	_ = resultsWriter.Close() // the supervisor has its own
	if err != nil {
		return nil, &Error{Unavailable, err.Error()}
	}
	end := func() { _ = in.Close() } // it fails only if already closed
	defer context.AfterFunc(ctx, end)()
	timer := time.AfterFunc(r.converter.Timeout, func() { r.slow.Store(true); end() })
	killer := time.AfterFunc(r.converter.Timeout+endGrace, func() {
		killGroup(command.Process)
		// If the supervisor was ended or stopped, the converter still has these open.
		_ = out.Close()
		_ = results.SetReadDeadline(time.Now())
	})
	_ = writeBody(in, body) // the supervisor's verdict has any error
	output := r.read(out)
	if r.cut {
		end()
	}
	verdict, _ := io.ReadAll(io.LimitReader(results, verdictBytes))
	timer.Stop()
	end()
	_ = command.Wait() // the verdict has it
	killer.Stop()
	if r.cut {
		return output, nil
	}
	return output, r.judge(string(verdict))
}

// writeBody writes the length of the body, and the body.
func writeBody(w io.Writer, body []byte) error {
	if err := binary.Write(w, binary.BigEndian, uint64(len(body))); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

// read reads the output, up to the limit.
func (r *conversion) read(out io.Reader) []byte {
	output, _ := io.ReadAll(io.LimitReader(out, r.converter.MaxOutput+1)) // the verdict explains an interruption
	if int64(len(output)) > r.converter.MaxOutput {
		output, r.cut = output[:r.converter.MaxOutput], true
	}
	return output
}

// judge turns a supervisor's final output into an error.
func (r *conversion) judge(verdict string) error {
	program := r.converter.Command[0]
	message := firstLine(r.stderr.String())
	if message != "" {
		message = ": " + message
	}
	how, detail, _ := strings.Cut(strings.TrimSpace(verdict), " ")
	switch {
	case how == verdictExit && detail == "0":
		return nil
	case r.slow.Load():
		return &Error{TooSlow, fmt.Sprintf("%s did not end within %s", program, r.converter.Timeout)}
	case how == verdictFailed:
		return &Error{Unavailable, detail}
	case how == "":
		return &Error{Crashed, "the supervisor of " + program + " ended" + message}
	case converterOutOfMemory(r.stderr.String()):
		return &Error{OutOfMemory, program + " ran out of memory" + message}
	case how == verdictSignal && detail == fileTooLarge:
		return &Error{TooLarge, program + " wrote a file that is too large" + message}
	case how == verdictSignal:
		return &Error{Crashed, program + " was ended by the signal " + detail + message}
	}
	return &Error{Failed, fmt.Sprintf("%s ended with status %s%s", program, detail, message)}
}

// converterOutOfMemory recognizes the messages of programs that ran out of memory.
func converterOutOfMemory(words string) bool {
	words = strings.ToLower(words)
	for _, sign := range [...]string{"out of memory", "bad_alloc", "memory exhausted", "memoryerror", "cannot allocate"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return outOfMemory(words)
}

// converterEnvironment returns a converter's environment: not the service's own, which may contain secrets.
func converterEnvironment() []string {
	env := []string{}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// enter acquires a slot, or returns the reason why there is none.
func (p *Pool) enter(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-p.closing.Done():
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

var errNoProgram = errors.New("no program to run")
