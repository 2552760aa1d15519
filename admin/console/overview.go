package console

import (
	"github.com/sextant-crawler/sextant/admin"
)

func overviewPages() []page {
	return []page{{pattern: "GET /{$}", role: admin.Reader, nav: "Overview", title: "Overview", template: "overview", data: overview}}
}

// overviewData is what the overview shows.
type overviewData struct {
	admin.Status
}

func overview(v *visit) (any, error) {
	var all []admin.Status
	if err := v.get("/status", nil, &all); err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Crawler == v.crawler {
			return overviewData{all[i]}, nil
		}
	}
	return overviewData{}, nil
}
