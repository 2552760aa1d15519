package policy

import (
	"context"
	"slices"

	"github.com/sextant-crawler/sextant/scheduler"
	"github.com/sextant-crawler/sextant/weburl"
)

// The store remembers, as JSON, the XML files that the configuration names or has named: an XML file
// is the whole list of its documents, so that they go with it.

const (
	// listsName is the key of the stored value with the lists.
	listsName = "crawl.lists"
	listsWhat = "the XML files of the configuration"
)

// goneDetail is the reason for deleting a document whose XML file is no longer configured.
const goneDetail = "the configuration no longer has its <XMLDocuments>"

// goneLists returns the XML files that are no longer configured. It returns none while others are configured: they may
// list the same documents, and a record knows only the file that was read last.
func goneLists(s *Settings) []string {
	if len(xmlFiles(s)) > 0 {
		return nil
	}
	return slices.Sorted(slices.Values(s.KnownXMLFiles))
}

// KeepsGone reports whether documents of a removed XML file stay because the settings name other files.
func (p *Policy) KeepsGone() bool {
	now := xmlFiles(&p.Settings)
	return len(now) > 0 && slices.ContainsFunc(p.Settings.KnownXMLFiles, func(url string) bool { return !slices.Contains(now, url) })
}

func xmlFiles(s *Settings) []string {
	var urls []string
	for i := range s.Sources {
		if s.Sources[i].XML != nil {
			urls = append(urls, s.Sources[i].URL.String())
		}
	}
	return urls
}

// StoredLists returns the XML files that the configuration names or has named.
func StoredLists(ctx context.Context, store scheduler.ValueReader) (urls []string, err error) {
	return urls, scheduler.LoadValue(ctx, store, scheduler.CrawlValue(listsName), listsWhat, &urls)
}

// SaveLists adds the lists of the policy to the stored ones.
func (p *Policy) SaveLists(ctx context.Context, store scheduler.Values) error {
	before, err := StoredLists(ctx, store)
	if err != nil {
		return err
	}
	all := slices.Concat(before, xmlFiles(&p.Settings))
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == len(before) {
		return nil
	}
	return scheduler.SaveValue(ctx, store, scheduler.CrawlValue(listsName), listsWhat, all)
}

// GoneLists returns the keys of the XML files that the configuration no longer names.
func (p *Policy) GoneLists() []weburl.Key {
	var keys []weburl.Key
	for _, url := range p.gone {
		if u, ok := weburl.FromCanonical(url); ok {
			keys = append(keys, u.Key())
		}
	}
	return keys
}

// IndexesStored is Indexes for a stored URL: a document of an XML file is removed with the file.
func (p *Policy) IndexesStored(v *Verdict, r *scheduler.Record) (ok bool, why scheduler.Reason, words string) {
	if p.ListGone(r) {
		return false, scheduler.ReasonListGone, goneDetail
	}
	return p.Indexes(v)
}

// ListGone reports whether a stored URL is a document of an XML file that the configuration no longer names.
func (p *Policy) ListGone(r *scheduler.Record) bool {
	if len(p.gone) == 0 || r.Kind != scheduler.KindItem {
		return false
	}
	_, gone := slices.BinarySearch(p.gone, r.Referrer)
	return gone
}
