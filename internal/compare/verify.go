package compare

import (
	"context"
	"fmt"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/push"
)

// Index is a target that can list the documents of its index.
type Index interface {
	Name() string
	// Source is the push source that it gets alone; empty for all.
	Source() string
	// Enumerate calls fn for the URI of each document, with the hash of its content, or "" if that is not its stamp.
	Enumerate(ctx context.Context, fn func(uri, hash string) error) error
	// Present returns which of the URLs it contains.
	Present(ctx context.Context, urls []string) (map[string]bool, error)
	Push(ctx context.Context, entries []push.Entry) ([]push.Refusal, error)
	Sync(ctx context.Context) error
	Close() error
}

// Pushed gives access to the documents that a crawl has pushed.
type Pushed interface {
	// Stored calls fn for each stored URL.
	Stored(ctx context.Context, fn func(report.StoredURL) error) error
	// Waiting returns the URLs whose newest order a target has not stored safely yet.
	Waiting(ctx context.Context, target string) (map[string]bool, error)
	// Still returns an error if documents that are being pushed could be taken for foreign.
	Still(ctx context.Context) error
	// Requeue sends URLs to a full fetch.
	Requeue(ctx context.Context, urls []string) (int, error)
}

// Options select what to compare and to repair.
type Options struct {
	Target        string `json:"target,omitempty"`         // may be empty if only one target can list
	Repair        bool   `json:"repair,omitempty"`         // fetch missing and different documents again
	DeleteForeign bool   `json:"delete_foreign,omitempty"` // delete foreign documents from the index
	Samples       int    `json:"samples"`                  // of each kind
}

// Report contains the results of a comparison; the names are a contract.
type Report struct {
	Target  string     `json:"target"`
	Stored  uint64     `json:"stored"`  // documents that the crawl has pushed
	Indexed uint64     `json:"indexed"` // documents of the connector
	Missing Difference `json:"missing"`
	Foreign Difference `json:"foreign"`
	// Different are documents of both with other content, such as other permissions.
	Different Difference `json:"different"`
	Requeued  int        `json:"requeued"` // of the missing and different, with repair
	Deleted   int        `json:"deleted"`  // of the foreign, with delete_foreign
	// Refused contains the indexer's messages about documents that it does not delete.
	Refused []string `json:"refused,omitempty"`
}

// Difference counts URLs and names some.
type Difference struct {
	Count   uint64   `json:"count"`
	Samples []string `json:"samples"`
}

// maxRefused words of the indexer are kept.
const maxRefused = 100

// comparison compares a store and an index.
type comparison struct {
	index   Index
	pushed  Pushed
	options Options
	report  Report
	waiting map[string]bool

	missing, foreign, different spool
}

// Verify compares the pushed documents with those in an index and, if requested, repairs the differences.
func Verify(ctx context.Context, index Index, pushed Pushed, o Options) (*Report, error) {
	v := &comparison{index: index, pushed: pushed, options: o, report: Report{Target: index.Name()}}
	defer v.missing.close()
	defer v.foreign.close()
	defer v.different.close()
	if o.DeleteForeign {
		if err := pushed.Still(ctx); err != nil {
			return nil, err
		}
	}
	if err := v.compare(ctx); err != nil {
		return nil, err
	}
	return &v.report, v.mend(ctx)
}

func (v *comparison) compare(ctx context.Context) error {
	var err error
	if v.waiting, err = v.pushed.Waiting(ctx, v.index.Name()); err != nil {
		return err
	}
	skip := func(fn func(url, hash string) error) func(url, hash string) error {
		return func(url, hash string) error {
			if v.waiting[url] {
				return nil
			}
			return fn(url, hash)
		}
	}
	stored := func(fn func(url, hash string) error) error { return v.stored(ctx, skip(fn)) }
	indexed := func(fn func(url, hash string) error) error { return v.index.Enumerate(ctx, skip(fn)) }
	r := &v.report
	missing, foreign := v.note(&r.Missing, &v.missing), v.note(&r.Foreign, &v.foreign)
	counts, err := Run(stored, indexed, 0, missing, foreign, v.note(&r.Different, &v.different))
	v.report.Stored, v.report.Indexed = counts.Stored, counts.Indexed
	return err
}

// stored calls fn for each URL that the target is to have.
func (v *comparison) stored(ctx context.Context, fn func(url, hash string) error) error {
	source := v.index.Source()
	return v.pushed.Stored(ctx, func(s report.StoredURL) error {
		if !s.Indexed || source != "" && s.Source != source {
			return nil
		}
		return fn(s.URL, s.Hash)
	})
}

// note counts a difference, and keeps it for mend.
func (v *comparison) note(d *Difference, s *spool) func(string) error {
	d.Samples = []string{}
	return func(url string) error {
		d.Count++
		if len(d.Samples) < v.options.Samples {
			d.Samples = append(d.Samples, url)
		}
		return s.add(url)
	}
}

// mend queues missing documents and deletes foreign ones, if requested.
func (v *comparison) mend(ctx context.Context) error {
	if v.options.Repair {
		err := v.missing.each(500, func(urls []string) error {
			present, err := v.index.Present(ctx, urls)
			if err != nil {
				return err
			}
			var lacking []string
			for _, u := range urls {
				if !present[u] { // else it came since
					lacking = append(lacking, u)
				}
			}
			if len(lacking) == 0 {
				return nil
			}
			n, err := v.pushed.Requeue(ctx, lacking)
			v.report.Requeued += n
			return err
		})
		if err != nil {
			return err
		}
		err = v.different.each(500, func(urls []string) error {
			n, err := v.pushed.Requeue(ctx, urls)
			v.report.Requeued += n
			return err
		})
		if err != nil {
			return err
		}
	}
	if v.options.DeleteForeign {
		return v.foreign.each(100, func(urls []string) error { return v.delete(ctx, urls) })
	}
	return nil
}

// delete takes foreign documents out of the index.
func (v *comparison) delete(ctx context.Context, urls []string) error {
	entries := make([]push.Entry, len(urls))
	for i, u := range urls {
		entries[i] = push.Entry{Seq: uint64(i + 1), Op: push.Delete, URL: u} //nolint:gosec // not negative
	}
	refused, err := v.index.Push(ctx, entries)
	if err != nil {
		return err
	}
	for _, r := range refused {
		if len(v.report.Refused) < maxRefused {
			v.report.Refused = append(v.report.Refused, fmt.Sprintf("%s: the indexer does not delete it: %s", urls[r.Seq-1], r.Words))
		}
	}
	v.report.Deleted += len(urls) - len(refused)
	return v.index.Sync(ctx)
}
