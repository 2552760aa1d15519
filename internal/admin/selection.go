package admin

import (
	"errors"
	"net/url"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
	"github.com/sextant-crawler/sextant/internal/report"
)

// Selection is the transmitted form of a crawl.Selection: the condition is still the user's XML.
type Selection struct {
	URLs   []string `json:"urls,omitempty"`
	Group  string   `json:"group,omitempty"`
	Source string   `json:"source,omitempty"`
	Match  string   `json:"match,omitempty"`
	All    bool     `json:"all,omitempty"`
	Full   bool     `json:"full,omitempty"`
	// Forever is as in crawl.Selection.
	Forever bool `json:"forever,omitempty"`
	// Status, Class, Reason, Fate, Fifo, Error, Host and Text are as in report.ParseFilter.
	Status string `json:"status,omitempty"`
	Class  string `json:"class,omitempty"`
	Reason string `json:"reason,omitempty"`
	Fate   string `json:"fate,omitempty"`
	Fifo   string `json:"fifo,omitempty"`
	Error  string `json:"error,omitempty"`
	Host   string `json:"host,omitempty"`
	Text   string `json:"text,omitempty"`
}

// SelectionOf selects the URLs that a filter of stored URLs matches. An empty filter selects nothing.
func SelectionOf(filter url.Values) Selection {
	s := Selection{Source: filter.Get("source"), Match: filter.Get("match")}
	for name, field := range s.fields() {
		*field = filter.Get(name)
	}
	return s
}

// fields returns the fields that a report.Filter has and no other field of a selection.
func (s *Selection) fields() map[string]*string {
	return map[string]*string{
		"status": &s.Status, "class": &s.Class, "reason": &s.Reason, "fate": &s.Fate,
		"fifo": &s.Fifo, "error": &s.Error, "host": &s.Host, "text": &s.Text,
	}
}

// Filter returns the selection's part for report.ParseFilter; ok is false if it is empty.
func (s *Selection) Filter() (f url.Values, ok bool) {
	f = url.Values{}
	for name, field := range s.fields() {
		if *field != "" {
			f.Set(name, *field)
		}
	}
	return f, len(f) > 0
}

// Empty reports whether the selection is empty.
func (s *Selection) Empty() bool {
	_, filtered := s.Filter()
	return len(s.URLs) == 0 && s.Group == "" && s.Source == "" && s.Match == "" && !s.All && !filtered
}

// Compile returns the selection for package crawl.
func (s Selection) Compile() (crawl.Selection, error) {
	out := crawl.Selection{URLs: s.URLs, Group: s.Group, Source: s.Source, All: s.All, Full: s.Full, Forever: s.Forever}
	if written, ok := s.Filter(); ok {
		f, err := report.ParseFilter(written)
		if err != nil {
			return out, err
		}
		out.Filter = &f
	}
	if s.Match == "" {
		return out, nil
	}
	var err error
	out.If, err = ParseCondition(s.Match)
	return out, err
}

// ParseCondition reads a condition in the elements of CrawlConfig.xml, and compiles it.
func ParseCondition(xml string) (actionrules.Condition, error) {
	condition, err := config.ParseCondition("--match", []byte(xml))
	if err != nil {
		return nil, err
	}
	_, errs := actionrules.CompileCondition(condition)
	return condition, errors.Join(errs...)
}
