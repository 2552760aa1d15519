package service

import (
	"context"
	"fmt"
	"strings"

	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/fetcher/permit"
	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/compare"
	"github.com/sextant-crawler/sextant/push"
	"github.com/sextant-crawler/sextant/push/papi"
)

// papiPush finds a papi target by name, or the only one if the name is empty.
func papiPush(crawler config.Crawler, name string) (config.Push, error) {
	var found []config.Push
	var names []string
	for _, p := range crawler.Push {
		if _, is := p.Settings.(papi.Settings); !is {
			continue
		}
		names = append(names, p.Name)
		if name == "" || p.Name == name {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(names) == 0:
		return config.Push{}, fmt.Errorf("the Crawler %q has no <Push kind=\"papi\">: only the Push API can list the documents of an index", crawler.Name)
	case name != "":
		return config.Push{}, fmt.Errorf("no papi target is named %q: write --target with one of %s", name, strings.Join(names, ", "))
	}
	return config.Push{}, fmt.Errorf("there are several papi targets: name one with --target (%s)", strings.Join(names, ", "))
}

// IndexOf implements admin.Service.
func (s *Service) IndexOf(c admin.Crawler, target string) (compare.Index, error) {
	r, err := s.crawlOf(c)
	if err != nil {
		return nil, err
	}
	return r.indexOf(r.opened, target)
}

// permitted is an index that is changed only under a permit, if there is one.
type permitted struct {
	compare.Index
	permit permit.Permit
}

// Push implements compare.Index.
func (p permitted) Push(ctx context.Context, entries []push.Entry) ([]push.Refusal, error) {
	ctx, end, err := permit.Begin(ctx, p.permit)
	if err != nil {
		return nil, err
	}
	defer end()
	return p.Index.Push(ctx, entries)
}

// indexOf opens the index behind a papi target, which papiPush finds.
func (s stored) indexOf(crawler config.Crawler, name string) (compare.Index, error) {
	p, err := papiPush(crawler, name)
	if err != nil {
		return nil, &admin.Declined{Err: err}
	}
	t, err := papi.New(p.Settings.(papi.Settings)) // papiPush has looked
	if err != nil {
		return nil, &admin.Declined{Err: err}
	}
	index := papiIndex{Target: t, hashes: p.Settings.(papi.Settings).Stamp == papi.StampHash}
	if p.Source != nil {
		index.source = *p.Source
	}
	return permitted{index, s.permit}, nil
}

// papiIndex is the index behind a papi target.
type papiIndex struct {
	*papi.Target
	source string
	hashes bool // stamps are the hashes of contents
}

// Source implements compare.Index.
func (p papiIndex) Source() string { return p.source }

// Enumerate implements compare.Index.
func (p papiIndex) Enumerate(ctx context.Context, fn func(uri, hash string) error) error {
	return p.Target.Enumerate(ctx, "", func(uri, stamp string) error {
		if !p.hashes {
			stamp = ""
		}
		return fn(uri, stamp)
	})
}
