package indexer

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fail describes scripted failures. The zero value never fails. "Commands" are all known commands of all protocols that
// were called with the right method, "changes" are those that add or delete documents.
type Fail struct {
	Status       []StatusFailure // applied one after the other from the first command on
	RetryAfter   int             // seconds, sent with scripted 429 and 503; 0: not sent
	Bad          []string        // documents with a URI that contains one of these are refused
	RestartEvery int             // after so many commands: new session, pending operations lost
	DieAfter     int             // the process ends at the command after so many; 0: never
	DieAmid      int             // the process ends in the middle of this change; 0 for never
	Stall        int             // number of commands that get no response
	Garbage      int             // number of commands that get a 200 with garbage and have no effect
	LoseAnswer   int             // so many changes are done, and the connection is closed without a response
	Lose         int             // so many changes are confirmed, but not done
	MaxBytes     int             // longer bodies get 413; 0: only MaxRequestBytes counts
	Slow         time.Duration   // each command waits first
}

// StatusFailure responds to Count commands with Code without doing them.
type StatusFailure struct {
	Code  int // 400 to 599
	Count int // 1 and more
}

// ParseFail reads the settings of --fail, separated by commas:
//
//	status=CODE:N    the next N commands answer CODE (400 to 599); may be repeated
//	retry-after=S    Retry-After of scripted 429 and 503, in seconds
//	bad=SUBSTRING    documents with a URI that contains it are refused; may be repeated.
//	                 The Push API answers 400 to the whole batch, the others by document
//	restart-every=N  after every N commands a new session, pending operations lost
//	die-after=N      the process ends at the command after N
//	die-amid=N       the process ends at change N, of which half was taken
//	stall=N          the first N commands are never answered
//	garbage=N        the first N commands are answered 200 with garbage, and nothing is done
//	lose-answer=N    the first N changes are done, and the connection cut instead of an answer
//	lose=N           the first N changes are answered as done, and nothing is
//	max-bytes=N      413 for a body that is longer
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
			return Fail{}, fmt.Errorf("fail setting %q: %s is written twice: remove one", setting, name)
		}
		seen[name] = true
		if err := f.set(name, value); err != nil {
			return Fail{}, fmt.Errorf("fail setting %q: %w", setting, err)
		}
	}
	if f.RetryAfter > 0 && len(f.Status) == 0 {
		return Fail{}, errors.New("fail setting \"retry-after\": it requires status=429:N or status=503:N: add one")
	}
	return f, nil
}

// counts returns the settings that are one number.
func (f *Fail) counts() map[string]*int {
	return map[string]*int{
		"retry-after": &f.RetryAfter, "restart-every": &f.RestartEvery, "die-after": &f.DieAfter, "die-amid": &f.DieAmid,
		"stall": &f.Stall, "garbage": &f.Garbage, "lose-answer": &f.LoseAnswer, "lose": &f.Lose, "max-bytes": &f.MaxBytes,
	}
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
		return nil
	case "bad":
		if value == "" {
			return errors.New("write bad=SUBSTRING, a substring of the URIs to refuse")
		}
		f.Bad = append(f.Bad, value)
		return nil
	case "slow":
		f.Slow, err = time.ParseDuration(value)
		if err != nil || f.Slow <= 0 {
			return errors.New("write slow=DURATION, such as 200ms or 2s")
		}
		return nil
	}
	counts := f.counts()
	if count := counts[name]; count != nil {
		*count, err = number(value, 1, maxScript)
		return err
	}
	return errors.New("unknown: write status=CODE:N, bad=SUBSTRING, slow=DURATION, " +
		strings.Join(slices.Sorted(maps.Keys(counts)), "=N, ") + "=N")
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

func (f Fail) badFor(uri string) (string, bool) {
	for _, b := range f.Bad {
		if strings.Contains(uri, b) {
			return b, true
		}
	}
	return "", false
}
