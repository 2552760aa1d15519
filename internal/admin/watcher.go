package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler/deletion"
)

// watcher.mu guards reloads. The goroutine of the history calls see; those of requests call changed.

// watcher creates events: from each change by an operator, and from the differences between two consecutive statuses.
type watcher struct {
	server *Server
	last   map[string]*sighting // by Crawler
	rules  map[string]string    // by Crawler: those by which all stored URLs are judged, as far as events say

	mu      sync.Mutex
	reloads map[string]string // by Crawler: the caller of a reload whose effect has not been observed yet
}

// sighting is the basis of events.
type sighting struct {
	loaded  time.Time
	refused string
	sent    map[uint64]uint64 // losses that the operator's approval has carried out, by edit
	ill     map[string]bool
	down    map[string]bool
	silent  map[string]LosingHost // hosts without a good response, by origin
	roundOf
}

func newWatcher(s *Server) *watcher {
	return &watcher{server: s, last: map[string]*sighting{}, rules: map[string]string{}, reloads: map[string]string{}}
}

// changed records an operator's action. A reload is recorded once its effect is seen, with its caller.
func (w *watcher) changed(c *call) {
	switch c.change {
	case "reload", "write configuration":
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, crawler := range w.server.crawlers {
			w.reloads[crawler.Name()] = c.caller.String()
		}
		return
	}
	if c.crawler == nil {
		return
	}
	text := c.target
	for i := 0; i+1 < len(c.result); i += 2 {
		if n := fmt.Sprint(c.result[i+1]); n != "0" {
			text += fmt.Sprintf(", %v %s", c.result[i], n)
		}
	}
	w.note(context.WithoutCancel(c.r.Context()), c.crawler, events.Event{Kind: c.change, Who: c.caller.String(), Text: strings.TrimPrefix(text, ", ")})
}

// note stores an event. A failure is logged, and has no other effect.
func (w *watcher) note(ctx context.Context, c Crawler, e events.Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if err := c.Note(ctx, e); err != nil {
		w.server.log.Warn("cannot store an event", "crawler", c.Name(), "kind", e.Kind, "error", err)
	}
}

// see compares a status with the previous one.
func (w *watcher) see(ctx context.Context, c Crawler, s *Status) {
	now := &sighting{
		refused: s.ConfigError, sent: s.sent,
		ill: map[string]bool{}, down: map[string]bool{}, silent: map[string]LosingHost{},
	}
	if s.ConfigLoadedAt != nil {
		now.loaded = *s.ConfigLoadedAt
	}
	for _, h := range c.Ill() {
		now.ill[h.Origin] = true
	}
	for _, t := range s.Targets {
		now.down[t.Name] = t.DownSince != nil
	}
	for _, h := range s.Losing {
		if h.GoneAt != nil {
			now.silent[h.Host] = h
		}
	}
	before := w.last[c.Name()]
	now.roundOf = roundsOf(c, s)
	w.last[c.Name()] = now
	if before != nil {
		w.configured(ctx, c, before, now)
	}
	w.edited(ctx, c, s)
	if before == nil {
		return
	}
	w.released(ctx, c, before, now)
	w.fellIll(ctx, c, before, now)
	w.gone(ctx, c, s, before, now)
	w.rounds(ctx, c, s, before, now)
	for _, t := range s.Targets {
		switch {
		case now.down[t.Name] && !before.down[t.Name]:
			w.note(ctx, c, events.Event{Kind: events.IndexerDown, Text: t.Name + ": " + t.LastError})
		case !now.down[t.Name] && before.down[t.Name]:
			w.note(ctx, c, events.Event{Kind: events.IndexerUp, Text: t.Name})
		}
	}
}

// begin records the start of the service.
func (w *watcher) begin(ctx context.Context) {
	for _, c := range w.server.crawlers {
		w.started(ctx, c)
	}
}

// started records a start, and whether the version changed.
func (w *watcher) started(ctx context.Context, c Crawler) {
	version := w.server.about.Version
	all, err := events.List(ctx, c.Reports())
	if err != nil {
		w.server.log.Warn("cannot read the events", "crawler", c.Name(), "error", err)
		return
	}
	is := func(e events.Event) bool { return e.Kind == events.Start }
	if i := slices.IndexFunc(all, is); i >= 0 && all[i].Version != version {
		w.note(ctx, c, events.Event{At: w.server.started, Kind: events.Upgrade, Text: "from " + all[i].Version + " to " + version})
	}
	if i := slices.IndexFunc(all, func(e events.Event) bool { return e.Rules != "" }); i >= 0 {
		w.rules[c.Name()] = all[i].Rules
	} else if s, err := c.Status(ctx); err == nil && s.Rules != nil {
		w.rules[c.Name()] = s.Rules.Version
	}
	w.note(ctx, c, events.Event{At: w.server.started, Kind: events.Start, Version: version, Rules: w.rules[c.Name()], Text: "version " + version})
}

// end records the stop of the service.
func (w *watcher) end(ctx context.Context) {
	for _, c := range w.server.crawlers {
		if now := w.last[c.Name()]; w.server.about.Once && now != nil {
			now.open = &round{of: "run --once", began: w.server.started}
			now.open.end(now.counts)
			w.made(ctx, c, now)
		}
		w.note(ctx, c, events.Event{Kind: events.Stop})
	}
}

// configured records the result of a reload.
func (w *watcher) configured(ctx context.Context, c Crawler, before, now *sighting) {
	reloaded := now.loaded.After(before.loaded)
	refused := now.refused != "" && now.refused != before.refused
	if !reloaded && !refused {
		return
	}
	w.mu.Lock()
	who := w.reloads[c.Name()]
	delete(w.reloads, c.Name())
	w.mu.Unlock()
	if reloaded {
		w.note(ctx, c, events.Event{At: now.loaded, Kind: events.Reload, Who: who, Text: "the configuration"})
	}
	if refused {
		w.note(ctx, c, events.Event{Kind: events.Refused, Who: who, Text: now.refused})
	}
}

// edited records the effect of changed rules, once all stored URLs are judged by them. They may have changed while no
// service ran.
func (w *watcher) edited(ctx context.Context, c Crawler, s *Status) {
	r, before := s.Rules, w.rules[c.Name()]
	if r == nil || r.Running || r.Version == before {
		return
	}
	if w.rules[c.Name()] = r.Version; before == "" {
		return
	}
	e := events.Event{Kind: events.Edit, Rules: r.Version, Text: "version " + r.Version}
	for _, part := range []struct {
		n     uint64
		words string
	}{{r.Excluded + r.Elsewhere, "excluded"}, {r.Unindexed, "no longer indexed"}, {r.Readmitted, "crawled again"}, {r.Moved, "moved to another fifo"}, {r.Reread, "to be read again"}, {r.Renewed, "to get other metas or another source"}} {
		if part.n > 0 {
			e.Text += fmt.Sprintf(", %d %s", part.n, part.words)
		}
	}
	if n := len(s.Edits); n > 0 {
		last := s.Edits[n-1]
		e.Edit = last.Number
		e.Text += "; " + last.Words() + " pending"
	}
	w.note(ctx, c, e)
}

// sentByWord counts the losses that the operator's approval of the rules has carried out, by edit.
func sentByWord(edits []deletion.Edit) map[uint64]uint64 {
	sent := map[uint64]uint64{}
	for _, e := range edits {
		if e.Word {
			sent[e.Number] = e.Sent
		}
	}
	return sent
}

// released records the losses of edits that the operator allowed with --yes.
func (w *watcher) released(ctx context.Context, c Crawler, before, now *sighting) {
	for _, edit := range slices.Sorted(maps.Keys(now.sent)) {
		if n := now.sent[edit] - min(before.sent[edit], now.sent[edit]); n > 0 {
			text := fmt.Sprintf("deletions or moves off a target released by --yes: %d", n)
			w.note(ctx, c, events.Event{Kind: events.Edit, Edit: edit, Text: text})
		}
	}
}

// gone records hosts that count as gone, whose losses were all carried out.
func (w *watcher) gone(ctx context.Context, c Crawler, s *Status, before, now *sighting) {
	for host, was := range before.silent {
		if was.GoneAt.After(time.Now()) {
			continue
		}
		if is, still := now.silent[host]; still { // its documents leave in batches
			is.Pending = max(is.Pending, was.Pending)
			now.silent[host] = is
			continue
		}
		if s.LosingHosts > len(s.Losing) || slices.ContainsFunc(s.Losing, func(h LosingHost) bool { return h.Host == host }) {
			continue
		}
		w.note(ctx, c, events.Event{Kind: events.Gone, Host: host, Text: fmt.Sprintf("no good response since %s: %s deleted", clock.Stamp(*was.SilentSince), Count(was.Pending, "document"))})
	}
}

// illNoted is the number of hosts in an event that became ill, or well, at once.
const illNoted = 20

func (w *watcher) fellIll(ctx context.Context, c Crawler, before, now *sighting) {
	n := 0
	emit := func(kind string, these, those map[string]bool) {
		for host := range these {
			if those[host] {
				continue
			}
			if n++; n <= illNoted {
				w.note(ctx, c, events.Event{Kind: kind, Host: host})
			}
		}
	}
	emit(events.Ill, now.ill, before.ill)
	emit(events.Well, before.ill, now.ill)
	if n > illNoted {
		w.note(ctx, c, events.Event{Kind: events.Ill, Text: fmt.Sprintf("%d more hosts became ill or well at once", n-illNoted)})
	}
}
