package scheduler_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
	"github.com/sextant-crawler/sextant/weburl"
)

// benchmark takes and completes b.N pages of 10,000 hosts with no pause; with documents, of
// pages that have one, which most often does not change.
func benchmark(b *testing.B, documents bool, setup func(*scheduler.Settings)) {
	const hosts = 10_000
	ctx, cancel := context.WithCancel(b.Context())
	set := scheduler.DefaultSettings()
	setup(&set)
	f := scheduler.New(storetest.NewMemory(), set, slog.New(slog.DiscardHandler))
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	var all []scheduler.Link
	for i := range b.N/hosts + 2 {
		for h := range hosts {
			all = append(all, storetest.Link(fmt.Sprintf("http://h%d.test/%d", h, i), scheduler.Source(h%5)))
		}
	}
	if _, err := f.Add(ctx, all, false); err != nil {
		b.Fatal(err)
	}
	visit := func(i int) {
		l, err := f.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		r := ok(l)
		switch {
		case documents && l.Record.Indexed && i%10 > 0:
			r = scheduler.Result{Status: 304, Conditional: true, Decided: l.Record.Fifo}
		case documents:
			r.Document = &scheduler.Document{Hash: [16]byte{byte(i), 1}, Source: "s"}
		}
		if err := f.Complete(ctx, l, r); err != nil {
			b.Fatal(err)
		}
	}
	if documents {
		for i := range len(all) {
			visit(i)
		}
		if _, err := f.Add(ctx, all, true); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		visit(i)
	}
	b.StopTimer()
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
}

func BenchmarkNextComplete(b *testing.B) {
	for _, aggressive := range []bool{false, true} {
		b.Run(fmt.Sprint("aggressive=", aggressive), func(b *testing.B) {
			benchmark(b, false, func(s *scheduler.Settings) { s.Aggressive, s.Throttle = aggressive, 0 })
		})
	}
}

// BenchmarkNextCompleteDocument is that of pages that have documents, with losses that are
// confirmed and not: what a page costs that tells of its host's health.
func BenchmarkNextCompleteDocument(b *testing.B) {
	for _, off := range []bool{true, false} {
		b.Run(fmt.Sprint("off=", off), func(b *testing.B) {
			benchmark(b, true, func(s *scheduler.Settings) { s.Aggressive, s.Throttle, s.Deletions.Off = true, 0, off })
		})
	}
}

// BenchmarkChangedText completes 100 pages of one host whose text changes a little at each visit, so that nothing is
// lost: what comparing it costs.
func BenchmarkChangedText(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	set := scheduler.DefaultSettings()
	set.Aggressive, set.Throttle = true, 0
	f := scheduler.New(storetest.NewMemory(), set, slog.New(slog.DiscardHandler))
	done := make(chan error)
	go func() { done <- f.Run(ctx) }()
	draw := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	texts := map[weburl.Key]*scheduler.Document{}
	links := make([]scheduler.Link, 100)
	for i := range links {
		links[i] = storetest.Link(fmt.Sprintf("http://h.test/%d", i), scheduler.User)
		d := &scheduler.Document{Source: "s"}
		for bin := range d.Sketch.Minima {
			d.Sketch.Minima[bin] = uint8(1 + draw.IntN(255)) //nolint:gosec // fits
		}
		texts[links[i].URL.Key()] = d
	}
	visit := func() {
		if _, err := f.Add(ctx, links, true); err != nil {
			b.Fatal(err)
		}
		for range links {
			l, err := f.Next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			r, d := ok(l), *texts[l.Key]
			for i := range d.Hash {
				d.Hash[i] = uint8(1 + draw.IntN(255)) //nolint:gosec // fits
				d.Sketch.Minima[i] = d.Hash[i]
			}
			r.Document = &d
			if err := f.Complete(ctx, l, r); err != nil {
				b.Fatal(err)
			}
		}
	}
	visit()
	b.ReportAllocs()
	for b.Loop() {
		visit()
	}
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
}

// BenchmarkInFlight completes pages of one host while so many others are in flight.
func BenchmarkInFlight(b *testing.B) {
	for _, flying := range []int{16, 256, 1024} {
		b.Run(fmt.Sprint(flying), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			set := scheduler.DefaultSettings()
			set.Aggressive, set.Throttle, set.MaxConnectionsPerHost = true, 0, flying+1
			f := scheduler.New(storetest.NewMemory(), set, slog.New(slog.DiscardHandler))
			done := make(chan error)
			go func() { done <- f.Run(ctx) }()
			var all []scheduler.Link
			for i := range b.N + flying + 1 {
				all = append(all, storetest.Link(fmt.Sprintf("http://h.test/%d", i), scheduler.Source(1)))
			}
			if _, err := f.Add(ctx, all, false); err != nil {
				b.Fatal(err)
			}
			next := func() *scheduler.Lease {
				l, err := f.Next(ctx)
				if err != nil {
					b.Fatal(err)
				}
				return l
			}
			complete := func(l *scheduler.Lease) {
				if err := f.Complete(ctx, l, ok(l)); err != nil {
					b.Fatal(err)
				}
			}
			complete(next()) // the host is greeted
			var leases []*scheduler.Lease
			for range flying {
				leases = append(leases, next())
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				complete(leases[i%flying])
				leases[i%flying] = next()
			}
			b.StopTimer()
			cancel()
			if err := <-done; err != nil {
				b.Error(err)
			}
		})
	}
}
