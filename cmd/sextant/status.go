package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/clock"
	"github.com/sextant-crawler/sextant/scheduler"
)

func printStatuses(c *cli.Context) error {
	if c.Bool("ready") {
		return ready(c)
	}
	if c.Int("hosts") < 0 {
		return wrongUse("--hosts is 0 or more")
	}
	write := func(w io.Writer) error { return writeStatuses(c, w) }
	if !c.Bool("watch") {
		return write(c.App.Writer)
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt)
	defer stop()
	c.Context = ctx
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before := ""
	if onTerminal(c) {
		before = "\x1b[H\x1b[2J" // clears it
	}
	return watch(ctx, c.App.Writer, before, tick.C, write)
}

// watchEvery is the pause between two looks of status --watch.
const watchEvery = 2 * time.Second

// watch prints before, then what write writes, now and at each tick until ctx ends.
func watch(ctx context.Context, out io.Writer, before string, tick <-chan time.Time, write func(io.Writer) error) error {
	for {
		page := bytes.NewBufferString(before) // printed in one piece, or a terminal flickers
		err := write(page)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the user ended it
		}
		if err == nil {
			_, err = page.WriteTo(out)
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

func writeStatuses(c *cli.Context, w io.Writer) error {
	all, err := statuses(c)
	if err != nil {
		return err
	}
	for i, s := range all {
		if c.Bool("json") {
			err = json.NewEncoder(w).Encode(s)
		} else {
			printStatus(w, &s, painter(c))
		}
		if err != nil {
			return err
		}
		if i < len(all)-1 && !c.Bool("json") {
			fmt.Fprintln(w)
		}
	}
	return nil
}

// statuses returns the statuses of the command's Crawlers.
func statuses(c *cli.Context) (all []admin.Status, err error) {
	err = askEach(c, func(client *admin.Client) error {
		these, err := client.Status(c.Context)
		for i := range these {
			if n := c.Int("hosts"); err == nil && n > 0 {
				err = client.Get(c.Context, "/hosts", url.Values{"n": {strconv.Itoa(n)}}, &these[i].HostList)
			}
		}
		all = append(all, these...)
		return err
	})
	return all, err
}

// row writes a named line of a status.
func row(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%-12s%s\n", name, clock.Localize(fmt.Sprintf(format, args...)))
}

// printStatus writes the status of a Crawler for people.
func printStatus(w io.Writer, s *admin.Status, p paint) {
	fmt.Fprintln(w, headline(s, p))
	row(w, "known", "%s on %s, %s indexed", count(s.Known, "URL"), count(s.Hosts.Known, "host"), count(s.Indexed, "document"))
	row(w, "outcomes", "%d ok, %d redirect, %d ignored, %d temporary, %d permanent, %d pending",
		s.ByClass["ok"], s.ByClass["redirect"], s.ByClass["ignored"], s.ByClass["temporary"], s.ByClass["permanent"], s.ByClass["pending"])
	if s.Lost > 0 {
		row(w, "lost", "%s lost before they were sent, because the disk damaged them: they are fetched again first", count(s.Lost, "document"))
	}
	var waiting string
	for source := scheduler.User; source < scheduler.Sources; source++ {
		waiting += fmt.Sprintf("%s %s  ", source, comma(s.Pending[source.String()]))
	}
	first := ""
	if s.NextDue != nil && s.Timed > 0 {
		first = ", the first at " + clock.Local(*s.NextDue)
	}
	row(w, "waiting", "%s(later: %s%s)", waiting, comma(s.Timed), first)
	for _, r := range s.RootsFailing {
		row(w, "root", "%s", r)
	}
	row(w, "outbox", "%d waiting, %d pending, %d dead", s.Outbox.Waiting, s.Outbox.Pending, s.Outbox.Dead)
	if s.Idle == admin.NotRunning {
		row(w, "service", "not running%s", map[bool]string{true: "; paused: it fetches nothing before sextant resume"}[s.Paused])
	} else {
		printRunning(w, s)
	}
	printDeletions(w, s)
	printStore(w, s.Store)
	for _, h := range s.HostList {
		row(w, "host", "%s", h)
	}
}

// printRunning writes the part of the status that only a running service has.
func printRunning(w io.Writer, s *admin.Status) {
	row(w, "in flight", "%s; %s with work, %d of them resting", count(s.InFlight, "URL"), count(s.Hosts.WithWork, "host"), s.Hosts.Closed)
	row(w, "pace", "%.1f requests/s, %.1f pages/s, %s/s", s.Rates.RequestsPerS, s.Rates.PagesPerS, size(int64(s.Rates.BytesPerS)))
	if s.ConfigError != "" {
		row(w, "config", "not reloaded, the old one is in force: %s", s.ConfigError)
	}
	for _, n := range s.Notices {
		row(w, "notices", "%s", n)
	}
	if r := s.Rules; r != nil && r.Running {
		row(w, "rules", "changed: %s of %s judged again, %d excluded, %d readmitted, %d at other times, %d read again, %d to get other metas or another source",
			comma(r.Judged), count(r.Known, "stored URL"), r.Excluded+r.Elsewhere, r.Readmitted, r.Retimed, r.Reread, r.Renewed)
	}
	if r := s.Robots; r != nil {
		row(w, "robots", "stricter robots.txt: %s judged by it, %d excluded; hosts still to judge %d",
			count(r.Judged, "stored URL"), r.Excluded, r.Origins)
	}
	if s.Trapped > 0 {
		row(w, "traps", "%s refused", count(s.Trapped, "link"))
	}
	if d := s.Duplicates; d != nil {
		row(w, "duplicates", "%s", duplicateWords(d))
	}
	if s.Patterns != nil {
		for i := range s.Patterns.Learnt {
			row(w, "pattern", "%s", &s.Patterns.Learnt[i])
		}
	}
	if s.Rendered != nil || s.Browser != nil {
		row(w, "rendered", "%s", renderWords(s))
	}
	if s.Shells != nil {
		row(w, "app shells", "%s", shellWords(s.Shells))
	}
	if words := documentWords(s.Documents); words != "" {
		row(w, "documents", "%s", words)
	}
	if s.Fields != nil {
		row(w, "fields", "%s", fieldWords(s.Fields))
	}
	switch {
	case s.IdleCode == crawl.IdleSlotsFull:
		row(w, "busy", "all threads are at work (%s)", s.IdleCode)
	case s.Idle != "":
		row(w, "idle", "%s (%s)", s.Idle, s.IdleCode)
	}
	printHosts(w, s)
	for _, session := range s.Sessions {
		row(w, "session", "%s", session)
	}
	for _, r := range s.Schedules {
		what := "all"
		if r.Group != "" {
			what = "group " + r.Group
		}
		if r.Match != "" {
			what += " " + r.Match
		}
		row(w, "refresh", "%s at %s (%s)", what, clock.Local(r.Next), r.Spec)
	}
	for _, t := range s.Targets {
		row(w, "target", "%s", t)
	}
}

// printHosts lists the resting hosts with their reasons, and the ill ones.
func printHosts(w io.Writer, s *admin.Status) {
	if len(s.ClosedFor) > 0 {
		var parts []string
		for _, why := range slices.Sorted(maps.Keys(s.ClosedFor)) {
			parts = append(parts, fmt.Sprintf("%s %d", why, s.ClosedFor[why]))
		}
		next := ""
		if s.NextOpening != nil {
			next = "; the first opens at " + clock.Local(*s.NextOpening)
		}
		row(w, "closed", "hosts by reason: %s%s", join(parts), next)
	}
	for _, h := range s.Ill {
		row(w, "ill", "%s since %s: none of its documents is deleted or gets a new text", h.Origin, clock.Local(h.Since))
	}
	if more := s.IllHosts - len(s.Ill); more > 0 {
		row(w, "ill", "and %s more", count(more, "host"))
	}
}

// printDeletions describes the pending deletions, and what to do.
func printDeletions(w io.Writer, s *admin.Status) {
	if s.Outbox.Pending == 0 {
		return
	}
	words := s.PendingWords()
	if s.DeletionsSince != nil {
		words += " since " + clock.Local(*s.DeletionsSince)
	}
	var classes []string
	for _, class := range admin.Classes() {
		if n := s.DeletionsByClass[class]; n > 0 {
			classes = append(classes, fmt.Sprintf("%s: %d", class, n))
		}
	}
	if len(classes) > 0 {
		words += " (" + join(classes) + ")"
	}
	row(w, "pending", "%s: see sextant deletions", words)
	for _, h := range s.Losing {
		row(w, "", "%s", h)
	}
	if more := s.LosingHosts - len(s.Losing); more > 0 {
		row(w, "", "and %s more", count(more, "host"))
	}
	more := max(0, len(s.Edits)-editsShown)
	if more > 0 {
		var losses, moves uint64
		for _, e := range s.Edits[:more] {
			losses, moves = losses+e.Pending, moves+e.Moves
		}
		words := admin.LossWords(losses, 0, moves)
		row(w, "rules", "%s: %s pending; see sextant deletions --by edit", count(more, "older edit"), words)
	}
	for _, e := range s.Edits[more:] {
		row(w, "rules", "%s", e)
	}
}

// editsShown is how many edits are listed on separate lines.
const editsShown = 20

func printStore(w io.Writer, s *admin.StoreStatus) {
	if s == nil {
		return
	}
	if s.Node != "" {
		row(w, "node", "%s crawls", s.Node)
	}
	if s.SetBackAt != nil {
		row(w, "set back", "at %s the database lacked changes that it had confirmed: sextant push verify --repair",
			clock.Local(*s.SetBackAt))
	}
	if s.DiskFull() {
		row(w, "disk", "%s free, %s needed: nothing is stored", size(s.DiskFree), size(s.DiskNeeded))
	}
	row(w, "store", "%s on disk: tables %s, logs %s, bodies %s", size(s.DiskBytes()), size(s.TableBytes), size(s.LogBytes), size(s.BodyBytes))
	if s.Commits > 0 {
		row(w, "commits", "the last took %.0f ms, the longest of the last minute %.0f ms, %d changes wait", 1000*s.LastCommitS, 1000*s.LongestCommitS, s.WritesWaiting)
	}
	switch {
	case s.FingerprintLoading:
		row(w, "memory", "the known URLs are being read; until then each link costs a read")
	case s.Fingerprints > 0:
		row(w, "memory", "%s known in %s", count(s.Fingerprints, "URL"), size(s.FingerprintBytes))
	}
}
