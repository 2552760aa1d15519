package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/weburl"
)

// Of returns the settings with the ages of the section that contains a URL in canonical form.
func (s *Settings) Of(url string) *Settings {
	if len(s.Sections) == 0 {
		return s
	}
	u, ok := weburl.FromCanonical(url)
	if !ok {
		return s
	}
	for i := range s.Sections {
		if at := &s.Sections[i]; at.Match(u) {
			own := *s
			own.Sections = nil
			own.SmartRefresh, own.MinAge, own.MaxAge, own.MinimumAged = at.SmartRefresh, at.MinAge, at.MaxAge, at.MinimumAged
			return &own
		}
	}
	return s
}

// Timing identifies the settings that determine when stored URLs are fetched again. When it changes, call Retimed for
// all of them.
func (s *Settings) Timing() string {
	var b strings.Builder
	minAge, maxAge := s.ages()
	_, _ = fmt.Fprint(&b, minAge, " ", maxAge, " ", s.ErrorRefresh)
	for i := range s.Sections {
		at := &s.Sections[i]
		_, _ = fmt.Fprintf(&b, " %q %t %s %s %s", at.Key, at.SmartRefresh, at.MinAge, at.MaxAge, at.MinimumAged)
	}
	return b.String()
}

// Refreshes reports whether good pages, or at least those of a section, are refetched after some time.
func (s *Settings) Refreshes() bool {
	if s.Ages() {
		return true
	}
	for i := range s.Sections {
		if s.Sections[i].SmartRefresh || s.Sections[i].MinimumAged > 0 {
			return true
		}
	}
	return false
}

// Ages reports whether good pages outside of all sections are fetched again after some time.
func (s *Settings) Ages() bool { return s.SmartRefresh || s.MinimumAged > 0 }

// ages returns the least and greatest age at which a good page outside of all sections is due; 0 and 0 if such pages
// are not refreshed.
func (s *Settings) ages() (minAge, maxAge time.Duration) {
	switch {
	case s.SmartRefresh:
		return s.MinAge, s.MaxAge
	case s.MinimumAged > 0:
		return 0, s.MinimumAged
	}
	return 0, 0
}
