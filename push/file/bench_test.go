package file

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/pushtest"
)

// BenchmarkRelay is the way of documents with 5 KB of text from an outbox in
// memory through the relay into synced files.
func BenchmarkRelay(b *testing.B) {
	o := pushtest.NewOutbox()
	text := strings.Repeat("All words of a page of some length. ", 5000/36)
	var size int64
	for i := range b.N {
		e := pushtest.Doc(fmt.Sprintf("http://host/page/%d", i), text)
		size = int64(len(e.Body))
		o.Put(e)
	}
	target, err := Open(Settings{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	r, err := push.NewRelay(o, []push.TargetSettings{{Target: target}}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ReportAllocs()
	b.ResetTimer()
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	if err := r.Drained(b.Context()); err != nil {
		b.Error(err)
	}
	b.StopTimer()
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

// BenchmarkPush is the target alone, without syncing.
func BenchmarkPush(b *testing.B) {
	target, err := Open(Settings{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	var entries []push.Entry
	for i := range 500 {
		e := pushtest.Doc(fmt.Sprintf("http://host/page/%d", i), strings.Repeat("x", 5000))
		entries = append(entries, e)
	}
	b.SetBytes(int64(len(entries) * len(entries[0].Body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := target.Push(b.Context(), pushtest.Numbered(1, entries...)); err != nil {
			b.Fatal(err)
		}
	}
	if err := target.Close(); err != nil {
		b.Error(err)
	}
}
