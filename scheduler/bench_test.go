package scheduler_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/teststore"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/scheduler/storetest"
)

// benchmark takes and completes b.N pages of 10,000 hosts with no pause.
func benchmark(b *testing.B, setup func(*scheduler.Settings)) {
	const hosts = 10_000
	ctx, cancel := context.WithCancel(b.Context())
	set := scheduler.DefaultSettings()
	setup(&set)
	f := scheduler.New(teststore.New(b), set, slog.New(slog.DiscardHandler))
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
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		l, err := f.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Complete(ctx, l, ok(l)); err != nil {
			b.Fatal(err)
		}
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
			benchmark(b, func(s *scheduler.Settings) { s.Aggressive, s.Throttle = aggressive, 0 })
		})
	}
}

// BenchmarkInFlight completes pages of one host while so many others are in flight.
func BenchmarkInFlight(b *testing.B) {
	for _, flying := range []int{16, 256, 1024} {
		b.Run(fmt.Sprint(flying), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			set := scheduler.DefaultSettings()
			set.Aggressive, set.Throttle, set.MaxConnectionsPerHost = true, 0, flying+1
			f := scheduler.New(teststore.New(b), set, slog.New(slog.DiscardHandler))
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
