package admin

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/scheduler"
)

// DeletionCounts count pending deletions.
type DeletionCounts struct {
	LossCounts
	// OfIllHosts counts those of ill hosts.
	OfIllHosts uint64 `json:"of_ill_hosts"`
	// UpTo is the highest number among them, for DeletionQuery.UpTo of a decision.
	UpTo uint64 `json:"up_to"`
	// Groups is the number of groups, Items the largest of them.
	Groups int             `json:"groups"`
	Items  []DeletionGroup `json:"items"`
}

// DeletionGroup is a count of the deletions with the same values of the counted properties; the other fields are empty.
type DeletionGroup struct {
	DeletionKey
	LossCounts
}

// DeletionKey holds the properties that deletions are counted by.
type DeletionKey struct {
	Host   string `json:"host,omitempty"`
	Reason string `json:"reason,omitempty"`
	Class  string `json:"class,omitempty"`
	Edit   uint64 `json:"edit,omitempty"`
}

// DeletionGroupings returns the properties by which deletions can be counted.
func DeletionGroupings() []string { return []string{"host", "reason", "class", "edit"} }

// CheckGroupings returns an error if by holds anything other than DeletionGroupings.
func CheckGroupings(by []string) error {
	for _, name := range by {
		if !slices.Contains(DeletionGroupings(), name) {
			return wrong("by %q: write %s, or some of them with commas between", name, strings.Join(DeletionGroupings(), ", "))
		}
	}
	return nil
}

// CountDeletions counts the deletions that each visits by some of DeletionGroupings, the largest groups first. It
// returns the first most groups, all for 0.
func (l *Losses) CountDeletions(by []string, most int, each func(fn func(scheduler.StoredDeletion) error) error) (*DeletionCounts, error) {
	if err := CheckGroupings(by); err != nil {
		return nil, err
	}
	out, now := &DeletionCounts{}, time.Now()
	groups := map[DeletionKey]*DeletionGroup{}
	err := each(func(s scheduler.StoredDeletion) error {
		out.add(&s)
		out.UpTo = max(out.UpTo, s.Seq)
		if h, _ := l.hostOf(&s); h.Ill {
			out.OfIllHosts++
		}
		var k DeletionKey
		for _, name := range by {
			switch name {
			case "host":
				k.Host = originOf(s.URL)
			case "reason":
				k.Reason = s.Reason.String()
			case "class":
				k.Class = l.class(&s, now)
			case "edit":
				k.Edit = s.Edit
			}
		}
		g := groups[k]
		if g == nil {
			g = &DeletionGroup{DeletionKey: k}
			groups[k] = g
		}
		g.add(&s)
		return nil
	})
	out.Items = []DeletionGroup{}
	if len(by) == 0 {
		return out, err
	}
	for _, g := range groups {
		out.Items = append(out.Items, *g)
	}
	slices.SortFunc(out.Items, func(a, b DeletionGroup) int {
		return cmp.Or(cmp.Compare(b.Pending, a.Pending), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Edit, b.Edit))
	})
	if out.Groups = len(out.Items); most > 0 && len(out.Items) > most {
		out.Items = out.Items[:most]
	}
	return out, err
}

func (s *Server) deletionCounts(c *call) (any, error) {
	each, err := c.chosen()
	if err != nil {
		return nil, err
	}
	var by []string
	if written := c.query.Get("by"); written != "" {
		by = strings.Split(written, ",")
	}
	losses, err := c.crawler.Losses(c.r.Context())
	if err != nil {
		return nil, err
	}
	return losses.CountDeletions(by, c.number("limit"), each)
}
