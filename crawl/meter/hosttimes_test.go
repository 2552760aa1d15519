package meter

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/fetcher/render"
	"github.com/sextant-crawler/sextant/weburl"
)

// TestHostTimes: each host has its mean, and there is room for so many hosts only.
func TestHostTimes(t *testing.T) {
	key := func(i int) (k weburl.HostKey) {
		binary.BigEndian.PutUint64(k[:], uint64(i))
		return k
	}
	var times HostTimes
	if m := times.Mean(key(1)); m != 0 {
		t.Errorf("nothing took %s", m)
	}
	times.Add(key(1), time.Second)
	times.Add(key(1), 3*time.Second)
	times.Add(key(2), time.Millisecond)
	if a, b := times.Mean(key(1)), times.Mean(key(2)); a != 2*time.Second || b != time.Millisecond {
		t.Errorf("means %s and %s", a, b)
	}
	for i := range maxMeteredHosts + 100 {
		times.Add(key(i), time.Minute)
	}
	if n := len(times.hosts); n != maxMeteredHosts {
		t.Errorf("%d hosts are remembered, want %d", n, maxMeteredHosts)
	}
	if m := times.Mean(key(maxMeteredHosts + 99)); m != time.Minute {
		t.Errorf("the last one took %s", m)
	}
}

// TestHostPages: a host has its counts and the names of its log-ins, and what was given away does not change.
func TestHostPages(t *testing.T) {
	var pages HostPages
	host := weburl.HostKey{1}
	if s := pages.Status(host); s != nil {
		t.Errorf("something is known: %+v", s)
	}
	pages.AddRendered(host, true)
	pages.AddRendered(host, true)
	pages.AddRendered(host, false)
	pages.AddSearched(host, true)
	pages.AddSearched(host, false)
	pages.AddMain(host, true)
	pages.AddMain(host, false)
	for _, name := range []string{"wiki", "shop", "wiki"} {
		pages.AddLogIn(host, name)
	}
	before := pages.Status(host)
	want := &HostPagesStatus{Rendered: 2, RenderFailed: 1, Searched: 2, NoField: 1, Main: 2, NoMain: 1, LogIns: []string{"wiki", "shop"}}
	if !reflect.DeepEqual(before, want) {
		t.Errorf("%+v, want %+v", before, want)
	}
	for i := range 2 * maxHostLogIns {
		pages.AddLogIn(host, string(rune('a'+i)))
	}
	if after := pages.Status(host); len(after.LogIns) != maxHostLogIns || !reflect.DeepEqual(before, want) {
		t.Errorf("%d log-ins are named, and before there were %+v", len(after.LogIns), before)
	}
	if s := pages.Status(weburl.HostKey{2}); s != nil {
		t.Errorf("another host has %+v", s)
	}
}

// TestRendered: time-outs are failures, too; a page that waits for a browser is none.
func TestRendered(t *testing.T) {
	var r Rendered
	if r.Status() != nil {
		t.Error("something was counted")
	}
	for _, err := range []error{nil, nil, &render.Error{Kind: render.TimedOut}, &render.Error{Kind: render.Crashed}, &render.Error{Kind: render.Unavailable}, errors.New("another")} {
		r.Add(time.Second, err)
	}
	if got, want := *r.Status(), (RenderedStatus{Pages: 2, Failed: 3, TimedOut: 1, NoBrowser: 1, Seconds: 6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
