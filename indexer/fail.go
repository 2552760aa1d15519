package indexer

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fail says how the server is to fail. The zero value never does. "Commands" are all
// known commands of the protocol that were called with the right method.
type Fail struct {
	Status       []StatusFailure // worked off one after the other from the first command on
	RetryAfter   int             // seconds, said with scripted 429 and 503; 0: not said
	Bad          []string        // 400 for an add_documents with a URI that contains one of these
	RestartEvery int             // after so many commands: new session, pending operations lost
	DieAfter     int             // the process ends at the command after so many; 0: never
	Slow         time.Duration   // each command waits first
}

// StatusFailure answers Count commands with Code and does nothing of them.
type StatusFailure struct {
	Code  int // 400 to 599
	Count int // 1 and more
}

// ParseFail reads the settings of --fail, separated by commas:
//
//	status=CODE:N    the next N commands answer CODE (400 to 599); may be repeated
//	retry-after=S    Retry-After of scripted 429 and 503, in seconds
//	bad=SUBSTRING    400 for a batch with a URI that contains it; may be repeated
//	restart-every=N  after every N commands a new session, pending operations lost
//	die-after=N      the process ends at the command after N
//	slow=DURATION    every command waits first, as 200ms or 2s
//
// Restarts that come sooner than a client gets to a sync keep it from ever getting
// there: N has to exceed the commands of one batch and its checkpoint.
// SUBSTRING cannot hold a comma. An empty text fails nothing. An error names the
// setting and what is allowed.
func ParseFail(text string) (Fail, error) {
	var f Fail
	if strings.TrimSpace(text) == "" {
		return f, nil
	}
	seen := map[string]bool{}
	for setting := range strings.SplitSeq(text, ",") {
		setting = strings.TrimSpace(setting)
		name, value, _ := strings.Cut(setting, "=")
		if seen[name] && name != "status" && name != "bad" {
			return Fail{}, fmt.Errorf("fail setting %q: %s is given twice: give it once", setting, name)
		}
		seen[name] = true
		if err := f.set(name, value); err != nil {
			return Fail{}, fmt.Errorf("fail setting %q: %w", setting, err)
		}
	}
	if f.RetryAfter > 0 && len(f.Status) == 0 {
		return Fail{}, errors.New("fail setting \"retry-after\": it goes with status=429:N or status=503:N: add one")
	}
	return f, nil
}

func (f *Fail) set(name, value string) (err error) {
	switch name {
	case "status":
		code, count, _ := strings.Cut(value, ":")
		status := StatusFailure{}
		if status.Code, err = number(code, http.StatusBadRequest, 599); err != nil {
			return fmt.Errorf("write status=CODE:N, CODE: %w", err)
		}
		if status.Count, err = number(count, 1, maxScript); err != nil {
			return fmt.Errorf("write status=CODE:N, N: %w", err)
		}
		f.Status = append(f.Status, status)
	case "retry-after":
		f.RetryAfter, err = number(value, 1, maxScript)
	case "bad":
		if value == "" {
			return errors.New("write bad=SUBSTRING, with a substring of the URIs to refuse")
		}
		f.Bad = append(f.Bad, value)
	case "restart-every":
		f.RestartEvery, err = number(value, 1, maxScript)
	case "die-after":
		f.DieAfter, err = number(value, 1, maxScript)
	case "slow":
		f.Slow, err = time.ParseDuration(value)
		if err != nil || f.Slow <= 0 {
			return errors.New("write slow=DURATION, as 200ms or 2s")
		}
	default:
		return errors.New("unknown: write status=CODE:N, retry-after=S, bad=SUBSTRING, restart-every=N, die-after=N or slow=DURATION")
	}
	return err
}

// maxScript bounds the counts of a script.
const maxScript = 1_000_000_000

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q: write a whole number from %d to %d", text, low, high)
	}
	return n, nil
}

// String is the text that ParseFail reads.
func (f Fail) String() string {
	var out []string
	for _, s := range f.Status {
		out = append(out, fmt.Sprintf("status=%d:%d", s.Code, s.Count))
	}
	if f.RetryAfter > 0 {
		out = append(out, fmt.Sprintf("retry-after=%d", f.RetryAfter))
	}
	for _, b := range f.Bad {
		out = append(out, "bad="+b)
	}
	if f.RestartEvery > 0 {
		out = append(out, fmt.Sprintf("restart-every=%d", f.RestartEvery))
	}
	if f.DieAfter > 0 {
		out = append(out, fmt.Sprintf("die-after=%d", f.DieAfter))
	}
	if f.Slow > 0 {
		out = append(out, "slow="+f.Slow.String())
	}
	return strings.Join(out, ",")
}

func (f Fail) badFor(uri string) (string, bool) {
	for _, b := range f.Bad {
		if strings.Contains(uri, b) {
			return b, true
		}
	}
	return "", false
}

// verdict is what a script has in store for one command.
type verdict struct {
	die, restart bool
	slow         time.Duration
	status       int // 0: none
	retryAfter   int
}

// script counts the commands.
type script struct {
	fail Fail

	mu       sync.Mutex
	commands int
	failed   int // commands answered by Status
}

func newScript(f Fail) *script { return &script{fail: f} }

func (s *script) next() verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.commands
	s.commands++
	v := verdict{
		die:     s.fail.DieAfter > 0 && before >= s.fail.DieAfter,
		restart: s.fail.RestartEvery > 0 && before > 0 && before%s.fail.RestartEvery == 0,
		slow:    s.fail.Slow,
	}
	position := s.failed
	for _, status := range s.fail.Status {
		if position < status.Count {
			s.failed++
			v.status = status.Code
			if status.Code == http.StatusTooManyRequests || status.Code == http.StatusServiceUnavailable {
				v.retryAfter = s.fail.RetryAfter
			}
			break
		}
		position -= status.Count
	}
	return v
}
