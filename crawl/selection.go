package crawl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/crawl/policy"
	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// RecordFilter selects stored URLs by their records.
type RecordFilter interface {
	Selects(r *scheduler.Record) bool
}

// Selection selects stored URLs: those that all set fields select. An empty Selection is an error; All alone selects
// everything.
type Selection struct {
	URLs   []string              // these alone; each must be known, except with Forever
	Group  string                // in the sites of this group's roots, or such a root itself, or found from one without a site
	Source string                // last pushed under this source
	If     actionrules.Condition // for which the condition holds
	Filter RecordFilter          // that it selects; nil: all
	All    bool
	// Full makes a refresh fetch without validators and push documents again even if they are unchanged. Remove ignores
	// it.
	Full bool
	// Forever makes a removal add the URLs to the kill list. Refresh ignores it.
	Forever bool

	before time.Time // if set: only URLs last fetched before it that are not being retried
}

// maxNamed is the number of URLs that an error names.
const maxNamed = 10

// selector is a compiled Selection.
type selector struct {
	Selection
	keys  []weburl.Key          // of URLs, sorted
	match *actionrules.Matcher  // nil: any
	group *actionrules.Engine   // nil: any; accepts the group's sites
	found *lineage              // URLs found from the group's roots without a site; nil for none
	adds  map[weburl.Key]string // roots that can be named although they are unknown; nil if not looked up

	killed  []string // URLs that a removal added to the kill list; before that, the unknown ones
	unknown int      // number of unknown URLs in killed
}

// SelectionError means that a Selection, or a list of URLs, is invalid and the user must correct it. All other errors
// come from the store.
type SelectionError struct{ Err error }

func (e *SelectionError) Error() string { return e.Err.Error() }

// Unwrap returns the underlying error.
func (e *SelectionError) Unwrap() error { return e.Err }

// errNothingSelected is the error for an empty Selection.
var errNothingSelected = errors.New("no URLs are selected: name URLs, a group, a source, a condition, or all")

// selects compiles a selection and finds the URLs that it names.
func selects(ctx context.Context, p *policy.Policy, store scheduler.Reader, s Selection) (*selector, error) {
	if len(s.URLs) == 0 && s.Group == "" && s.Source == "" && s.If == nil && s.Filter == nil && !s.All {
		return nil, &SelectionError{errNothingSelected}
	}
	out := &selector{Selection: s}
	var errs []error
	if s.If != nil {
		if out.match, errs = actionrules.CompileCondition(s.If); len(errs) > 0 {
			return nil, &SelectionError{errors.Join(errs...)}
		}
	}
	if s.Group != "" {
		var err error
		if out.group, err = p.GroupSites(s.Group); err != nil {
			return nil, &SelectionError{err}
		}
		out.found = newLineage(p, store, s.Group)
	}
	return out, out.find(ctx, p, store)
}

// find looks the named URLs up, all or none.
func (s *selector) find(ctx context.Context, p *policy.Policy, store scheduler.Reader) error {
	var unknown []string
	for _, raw := range s.URLs {
		u, err := weburl.Parse(raw)
		if err != nil {
			return err
		}
		k := p.Space.Rewrite(u).Key()
		_, err = store.Lookup(ctx, k)
		if errors.Is(err, scheduler.ErrNotFound) {
			// Stored before the query filter gave it another name.
			k = u.Key()
			_, err = store.Lookup(ctx, k)
		}
		switch {
		case errors.Is(err, scheduler.ErrNotFound):
			if s.adds == nil {
				s.adds = p.RootKeys()
			}
			to := p.Space.Rewrite(u)
			switch k = to.Key(); {
			case s.adds[k] != "":
			case s.Forever:
				s.killed = append(s.killed, to.String())
			default:
				unknown = append(unknown, u.String())
			}
		case err != nil:
			return err
		}
		s.keys = append(s.keys, k)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%w: %s; to crawl a new URL, use add", scheduler.ErrNotFound, named(unknown))
	}
	slices.SortFunc(s.keys, weburl.Key.Compare)
	s.keys = slices.Compact(s.keys)
	return nil
}

// named lists URLs, up to a limit.
func named(urls []string) string {
	if len(urls) <= maxNamed {
		return strings.Join(urls, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(urls[:maxNamed], ", "), len(urls)-maxNamed)
}

// selects reports whether a stored URL is selected, as far as its record shows. each checks keys and the roots it was
// found from.
func (s *selector) selects(r *scheduler.Record) bool {
	if s.Source != "" && r.PushedSource != s.Source {
		return false
	}
	if s.Filter != nil && !s.Filter.Selects(r) {
		return false
	}
	if !s.before.IsZero() && (r.Errors > 0 || !r.FetchedAt.Before(s.before)) {
		return false
	}
	if s.match == nil && s.group == nil {
		return true
	}
	u, ok := weburl.FromCanonical(r.URL)
	return ok && (s.match == nil || s.match.Match(u)) && (s.group == nil || s.found != nil || s.group.Decide(u).Accept)
}

// addRoots adds the selected roots of the configuration that are unknown, and returns the number added.
func (s *selector) addRoots(ctx context.Context, p *policy.Policy, frontier *scheduler.Frontier) (int, error) {
	if s.Source != "" || s.Filter != nil {
		return 0, nil // an unknown URL was never pushed, and has no status
	}
	links := slices.DeleteFunc(p.RootLinks(nil), func(l scheduler.Link) bool {
		if len(s.URLs) > 0 {
			_, named := slices.BinarySearchFunc(s.keys, l.URL.Key(), weburl.Key.Compare)
			return !named
		}
		return s.match != nil && !s.match.Match(l.URL) || s.group != nil && !s.group.Decide(l.URL).Accept
	})
	if len(links) == 0 {
		return 0, nil
	}
	return frontier.Add(ctx, links, false)
}

// each calls fn with the selected URLs in batches, in order of their keys. URLs that are stored in the meantime may or
// may not be included.
func (s *selector) each(ctx context.Context, store scheduler.Reader, fn func([]scheduler.KeyedRecord) error) error {
	if len(s.URLs) > 0 {
		return s.eachNamed(ctx, store, fn)
	}
	return scheduler.Walk(ctx, store, weburl.Key{}, s.selects, func(batch []scheduler.KeyedRecord) error {
		batch, err := s.ofGroup(ctx, batch)
		if err != nil {
			return err
		}
		return fn(batch)
	})
}

// ofGroup excludes URLs that pass selects but are not of the group.
func (s *selector) ofGroup(ctx context.Context, batch []scheduler.KeyedRecord) ([]scheduler.KeyedRecord, error) {
	if s.found == nil {
		return batch, nil
	}
	kept := batch[:0]
	for i := range batch {
		r := &batch[i].Record
		u, ok := weburl.FromCanonical(r.URL)
		if !ok {
			continue
		}
		if !s.group.Decide(u).Accept {
			found, err := s.found.includes(ctx, batch[i].Key, r)
			if err != nil {
				return nil, err
			}
			if !found {
				continue
			}
		}
		kept = append(kept, batch[i])
	}
	return kept, nil
}

func (s *selector) eachNamed(ctx context.Context, store scheduler.Reader, fn func([]scheduler.KeyedRecord) error) error {
	for keys := range slices.Chunk(s.keys, scheduler.WalkBatch) {
		var batch []scheduler.KeyedRecord
		for _, k := range keys {
			r, err := store.Lookup(ctx, k)
			if errors.Is(err, scheduler.ErrNotFound) {
				continue // removed since
			}
			if err != nil {
				return err
			}
			if s.selects(&r) {
				batch = append(batch, scheduler.KeyedRecord{Key: k, Record: r})
			}
		}
		batch, err := s.ofGroup(ctx, batch)
		if err != nil {
			return err
		}
		if err := fn(batch); err != nil {
			return err
		}
	}
	return nil
}
