package indexer

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// The lock of a script guards its counters. The goroutines of requests take it to count.

// scripted is the behaviour that the script requires for one command.
type scripted struct {
	die, restart, stall, garbage bool
	dieAmid, loseAnswer, lose    bool // of changes only
	slow                         time.Duration
	status                       int // 0: none
	retryAfter                   int
}

// script counts the commands.
type script struct {
	fail Fail

	mu       sync.Mutex
	commands int
	changes  int
	failed   int // commands that got a Status
}

func newScript(f Fail) *script { return &script{fail: f} }

// next returns the scripted behaviour of the next command, which may be a change.
func (s *script) next(change bool) scripted {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.commands
	s.commands++
	v := scripted{
		die:     s.fail.DieAfter > 0 && before >= s.fail.DieAfter,
		restart: s.fail.RestartEvery > 0 && before > 0 && before%s.fail.RestartEvery == 0,
		stall:   before < s.fail.Stall,
		garbage: before < s.fail.Garbage,
		slow:    s.fail.Slow,
	}
	if change {
		s.changes++
		v.dieAmid = s.changes == s.fail.DieAmid
		v.loseAnswer = s.changes <= s.fail.LoseAnswer
		v.lose = s.changes <= s.fail.Lose
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

// taken returns how many of n documents or deletions of a change are accepted.
func (v scripted) taken(n int) int {
	switch {
	case v.lose:
		return 0
	case v.dieAmid:
		return n / 2
	}
	return n
}

// follow applies the script before a command is handled.
func (s *Server) follow(ctx context.Context, v scripted, r *http.Request) error {
	if v.die {
		s.die()
	}
	if v.restart {
		s.mu.Lock()
		s.restart()
		s.mu.Unlock()
	}
	if v.slow > 0 {
		timer := time.NewTimer(v.slow)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if v.stall {
		_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client left
		<-ctx.Done()
		panic(http.ErrAbortHandler)
	}
	if v.status != 0 {
		return &refusal{status: v.status, words: "scripted failure", retryAfter: v.retryAfter}
	}
	if most := s.settings.Fail.MaxBytes; most > 0 && r.ContentLength > int64(most) {
		return &refusal{status: http.StatusRequestEntityTooLarge, words: "scripted failure: the body is too long"}
	}
	return nil
}

// end applies the script after a command, before its response.
func (s *Server) end(v scripted) {
	if v.dieAmid {
		s.die()
	}
	if v.loseAnswer {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) die() {
	s.log.Warn("scripted death")
	s.settings.Exit(1)
	panic(http.ErrAbortHandler) // only where Exit returns, in tests
}

// writeGarbage writes a response that no indexer sends.
func writeGarbage(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, "<html>\x00\xff{[welcome</html>")
}
