package console

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// overviewData is the data of the overview.
type overviewData struct {
	*admin.Status
	Is admin.State
	// NextSchedule is the time of the next schedule, nil if none.
	NextSchedule *time.Time
}

func overview(v *visit) (any, error) {
	status, err := statusOf(v)
	if err != nil {
		return nil, err
	}
	d := overviewData{Status: status, Is: status.State()}
	for i := range d.Schedules {
		if at := &d.Schedules[i].Next; d.NextSchedule == nil || at.Before(*d.NextSchedule) {
			d.NextSchedule = at
		}
	}
	return d, nil
}

// RenderSeconds returns the mean time of rendering a page, "" if there was none.
func (d overviewData) RenderSeconds() string {
	if n := d.Rendered.Pages + d.Rendered.Failed; n > 0 {
		return fmt.Sprintf("%.1f", d.Rendered.Seconds/float64(n))
	}
	return ""
}

// may reports whether the visitor may open a page of the console.
func (v *visit) may(path string) bool {
	for i := range v.console.routes {
		p := &v.console.routes[i]
		if strings.TrimSuffix(p.pattern, "{$}") == "GET "+path {
			return v.caller.Role >= p.role
		}
	}
	return false
}

// steer calls a route of the API without a body.
func steer(v *visit, path, done string) error {
	if err := v.post(path, nil, nil, new(struct{})); err != nil {
		return err
	}
	return v.redirect("/", nil, done)
}

// add adds the URLs of a form, one a line.
func add(v *visit) error {
	urls := strings.Fields(v.r.PostForm.Get("urls"))
	done, err := v.api.Submit(v.r.Context(), urls)
	if err != nil {
		return err
	}
	counts, first := map[string]int{}, ""
	for _, one := range done {
		counts[one.Result]++
		if first == "" && one.Words != "" {
			first = " (" + one.Words + ")"
		}
	}
	var parts []string
	for result, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(result, "_", " ")))
	}
	slices.Sort(parts)
	return v.redirect("/", nil, strings.Join(parts, ", ")+first)
}
