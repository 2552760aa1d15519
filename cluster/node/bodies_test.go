package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sextant-crawler/sextant/cluster"
	"github.com/sextant-crawler/sextant/cluster/peer"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/record"
	"github.com/sextant-crawler/sextant/scheduler/badgerstore/segments"
)

// segment writes bodies as a copy does, and returns their places.
func segment(t *testing.T, dir string, number uint64, bodies ...string) (places []record.BodyPlace) {
	t.Helper()
	var all []byte
	for _, b := range bodies {
		places = append(places, record.BodyPlace{Segment: number, Offset: uint64(len(all)), Length: uint64(len(b)), Sum: segments.Sum([]byte(b))})
		all = append(all, b...)
	}
	if err := os.WriteFile(filepath.Join(dir, segments.Name(number)), all, 0o600); err != nil {
		t.Fatal(err)
	}
	return places
}

// gives starts a node that gives bodies.
func gives(t *testing.T, token peer.Token, dir string) string {
	t.Helper()
	config, err := peer.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	s := httptest.NewUnstartedServer(peer.Guard(token, WithBodies(dir, Handler(func(cluster.Partition) *Active { return nil }, log), log)))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.TLS = config
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func token(t *testing.T) peer.Token {
	t.Helper()
	secret, err := peer.ParseToken(peer.NewToken())
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestBodiesBetweenNodes: over TLS, of several nodes, more than one request holds, some of which nobody has or
// which are damaged; and not without the token.
func TestBodiesBetweenNodes(t *testing.T) {
	dirs := [2]string{t.TempDir(), t.TempDir()}
	var first []string
	for i := range 2*askedMost + 5 {
		first = append(first, fmt.Sprintf("body %d of the first node", i))
	}
	large := strings.Repeat("x", askedBytes-10)
	places := slices.Concat(segment(t, dirs[0], 1<<41, first...), segment(t, dirs[1], 1<<42, large, "second", large, "third"))
	want := slices.Concat(first, []string{large, "second", large, "third"})
	damaged, missing := places[3], places[4]
	damaged.Sum++
	missing.Segment++
	places, want = append(places, damaged, missing), append(want, "", "")
	secret := token(t)
	addresses := []string{gives(t, secret, dirs[0]), gives(t, secret, dirs[1])}
	e := &Elsewhere{Client: &peer.Client{Token: secret}, Addresses: func() ([]string, error) { return addresses, nil }}
	got, err := e.Bodies(t.Context(), places)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if string(got[i]) != want[i] || (got[i] == nil) != (want[i] == "") {
			t.Errorf("place %d: %.30q, want %.30q", i, got[i], want[i])
		}
	}
	stranger := &Elsewhere{Client: &peer.Client{Token: token(t)}, Addresses: e.Addresses}
	if got, err := stranger.Bodies(t.Context(), places); err == nil || got != nil {
		t.Errorf("with another token: %d bodies, %v", len(got), err)
	}
}

// TestNodeThatDoesNotAnswer is waited for, for two minutes since it was last there; then it is taken for gone.
func TestNodeThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		e := &Elsewhere{
			Client:    &peer.Client{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused }},
			Addresses: func() ([]string, error) { return []string{"n1:1", "n2:1"}, nil },
		}
		place := []record.BodyPlace{{Segment: 1 << 41, Length: 5}}
		for range 2 {
			for range 4 {
				if _, err := e.Bodies(t.Context(), place); !errors.Is(err, refused) {
					t.Errorf("within two minutes: %v, want to wait", err)
				}
				time.Sleep(29 * time.Second)
			}
			if e.isGone("n1:1", nil) || e.isGone("n2:1", nil) { // they answered once
				t.Error("who answers is not gone")
			}
		}
		if _, err := e.Bodies(t.Context(), place); !errors.Is(err, refused) {
			t.Errorf("since it answered: %v, want to wait", err)
		}
		time.Sleep(2 * time.Minute)
		if got, err := e.Bodies(t.Context(), place); err != nil || len(got) != 1 || got[0] != nil {
			t.Errorf("after two minutes: %v, %v, want that nobody has it", got, err)
		}
	})
}

// TestNodesNotKnown: as long as it is not known which nodes there are, no body counts as lost.
func TestNodesNotKnown(t *testing.T) {
	unknown := errors.New("unknown")
	e := &Elsewhere{Client: &peer.Client{}, Addresses: func() ([]string, error) { return nil, unknown }}
	if got, err := e.Bodies(t.Context(), []record.BodyPlace{{Segment: 1 << 41, Length: 5}}); !errors.Is(err, unknown) || got != nil {
		t.Errorf("%v, %v, want to wait", got, err)
	}
}

// TestBodiesRefused: what is not such a question is told so.
func TestBodiesRefused(t *testing.T) {
	h := WithBodies(t.TempDir(), http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	many := placesQuery(slices.Repeat([]record.BodyPlace{{Segment: 1, Length: 1}}, askedMost+1))
	huge := placesQuery([]record.BodyPlace{{Segment: 1, Length: askedBytes}, {Segment: 1, Length: 1}})
	for _, query := range []string{"", "at=", "at=1-2-3", "at=0-0-1-0", "at=1-0-0-0", "at=1-0-ffffffffff-0", "at=x", "%zz", many, huge} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, bodiesPath+"?"+query, http.NoBody))
		if w.Code != http.StatusBadRequest || query != "%zz" && !strings.Contains(w.Body.String(), "at") && !strings.Contains(w.Body.String(), "ask for fewer") {
			t.Errorf("%.50q: %d %s", query, w.Code, w.Body)
		}
	}
}

func FuzzPlaces(f *testing.F) {
	f.Add("at=20000000001-0-10-ffffffff&at=1-2-3-4")
	f.Add("at=1-2-3&x=1")
	f.Fuzz(func(t *testing.T, query string) {
		places, err := parsePlaces(query)
		if err != nil {
			return
		}
		again, err := parsePlaces(placesQuery(places))
		if err != nil || !slices.Equal(again, places) {
			t.Errorf("%q is %v, and again %v, %v", query, places, again, err)
		}
	})
}

func FuzzBodies(f *testing.F) {
	f.Add(append(binary.BigEndian.AppendUint64(nil, 4), "abc"...), uint64(3))
	f.Add(binary.BigEndian.AppendUint64(nil, 1<<63), uint64(1)<<40)
	f.Fuzz(func(t *testing.T, answer []byte, length uint64) {
		r := bytes.NewReader(answer)
		bodies, err := readBodies(r, []record.BodyPlace{{Segment: 1, Length: length}, {Segment: 1, Length: 1}})
		if err != nil {
			return
		}
		read := len(answer) - r.Len()
		if len(bodies) != 2 || 16+len(bodies[0])+len(bodies[1]) != read || bodies[0] != nil && uint64(len(bodies[0])) != length {
			t.Errorf("%d bodies out of %d bytes", len(bodies), read)
		}
	})
}

// TestHugeBodies: a node that answers more than it was asked for is not read, and in the end taken for gone.
func TestHugeBodies(t *testing.T) {
	secret := token(t)
	config, err := peer.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(peer.Guard(secret, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := w.Write(binary.BigEndian.AppendUint64(nil, 1<<40))
		for err == nil && r.Context().Err() == nil {
			_, err = w.Write(make([]byte, 1<<16))
		}
	})))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.TLS = config
	s.StartTLS()
	defer s.Close()
	address := s.Listener.Addr().String()
	e := &Elsewhere{Client: &peer.Client{Token: secret}, Addresses: func() ([]string, error) { return []string{address}, nil }}
	place := []record.BodyPlace{{Segment: 1 << 41, Length: 5}}
	if got, err := e.Bodies(t.Context(), place); got != nil || err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "5 were asked for") {
		t.Errorf("%v, %v; want words with the node, and what was asked for", got, err)
	}
	e.since[address] = time.Now().Add(-patience)
	if got, err := e.Bodies(t.Context(), place); err != nil || len(got) != 1 || got[0] != nil {
		t.Errorf("after two minutes: %v, %v, want that nobody has it", got, err)
	}
}
