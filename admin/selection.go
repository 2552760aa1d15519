package admin

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sextant-crawler/sextant/actionrules"
	"github.com/sextant-crawler/sextant/config"
	"github.com/sextant-crawler/sextant/crawl"
)

// Selection is a crawl.Selection as it is sent: the condition is still the XML in
// which the user wrote it.
type Selection struct {
	URLs   []string `json:"urls,omitempty"`
	Group  string   `json:"group,omitempty"`
	Source string   `json:"source,omitempty"`
	Match  string   `json:"match,omitempty"`
	All    bool     `json:"all,omitempty"`
	Full   bool     `json:"full,omitempty"`
}

// Compile makes it what crawl knows.
func (s Selection) Compile() (crawl.Selection, error) {
	out := crawl.Selection{URLs: s.URLs, Group: s.Group, Source: s.Source, All: s.All, Full: s.Full}
	if s.Match == "" {
		return out, nil
	}
	var err error
	out.If, err = ParseCondition(s.Match)
	return out, err
}

// String is for the log.
func (s Selection) String() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+strconv.Quote(value))
		}
	}
	if n := len(s.URLs); n > 0 {
		parts = append(parts, strconv.Itoa(n)+" URLs, the first "+s.URLs[0])
	}
	add("group", s.Group)
	add("source", s.Source)
	add("match", s.Match)
	if s.All {
		parts = append(parts, "all")
	}
	if s.Full {
		parts = append(parts, "full")
	}
	return strings.Join(parts, ", ")
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
