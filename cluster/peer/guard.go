package peer

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// stalled is how long the other node may take nothing of an answer before it is given up: a store that is busy with its
// disk reads nothing for a while, and one that is frozen would keep the log, and a body's file, for ever.
const stalled = 2 * time.Minute

// Guard answers by next whoever proves to have the token, and nobody else. Its own proof goes
// with the answer, and only to those that have shown theirs.
func Guard(t Token, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !t.proves(r.TLS, asks, r.Header.Get(header)) {
			http.Error(w, "this cluster's token is not proved", http.StatusForbidden)
			return
		}
		own, err := t.proof(r.TLS, answers)
		if err != nil {
			http.Error(w, "no proof can be given", http.StatusInternalServerError)
			return
		}
		w.Header().Set(header, own)
		next.ServeHTTP(&urged{w}, r)
	})
}

// urged gives each piece of an answer its time.
type urged struct{ http.ResponseWriter }

// Write implements http.ResponseWriter.
func (u *urged) Write(b []byte) (written int, err error) {
	for piece := range slices.Chunk(b, enough) {
		if err := http.NewResponseController(u.ResponseWriter).SetWriteDeadline(time.Now().Add(stalled)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return written, err
		}
		n, err := u.ResponseWriter.Write(piece)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// cutHeader is the trailer that says why an answer was not finished.
const cutHeader = "Sextant-Cut"

// Cut ends an answer that cannot be finished, in a way that nobody takes for its end; a Client is told why. It does not return if it cannot tell.
func Cut(w http.ResponseWriter, r *http.Request, why error) {
	if r.Header.Get("TE") != "trailers" || http.NewResponseController(w).Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	words := strings.Join(strings.Fields(why.Error()), " ")
	w.Header().Set(http.TrailerPrefix+cutHeader, words[:min(len(words), 2<<10)])
}

// whole reads an answer that may have been cut.
type whole struct{ *http.Response }

// Read implements io.Reader.
func (a whole) Read(b []byte) (int, error) {
	n, err := a.Body.Read(b)
	if err == io.EOF { //nolint:errorlint // what io.Reader gives
		if why := a.Trailer.Get(cutHeader); why != "" {
			err = fmt.Errorf("%w: %s", ErrDeclined, why)
		}
	}
	return n, err
}

// Unwrap is for http.ResponseController.
func (u *urged) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Question reads what a node asks by Lines, of at most so many bytes, in the time that it may be silent.
func Question(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	timed := http.NewResponseController(w)
	if err := timed.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return nil, fmt.Errorf("the question cannot be read: %w", err)
	}
	return b, timed.SetReadDeadline(time.Time{})
}
