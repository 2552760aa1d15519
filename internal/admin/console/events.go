package console

import (
	"strings"

	"github.com/sextant-crawler/sextant/crawl/events"
	"github.com/sextant-crawler/sextant/internal/admin"
)

type eventsData struct {
	Kind  string
	Items []events.Event
	Total int
	Next  string
}

// Kinds returns the values of the list's filter, with their labels.
func (d *eventsData) Kinds() [][2]string {
	return [][2]string{
		{"", "all"}, {"start,stop,upgrade", "starts and stops"}, {"reload,reload refused,edit", "configuration"}, {"pause,resume", "pauses"},
		{"release deletions,drop deletions", "decided deletions"}, {"add,refresh,remove", "URLs"}, {"host ill,host well", "hosts"}, {"indexer down,indexer up", "indexers"}, {"round", "rounds"},
	}
}

func eventList(v *visit) (any, error) {
	d := &eventsData{Kind: strings.TrimSpace(v.r.URL.Query().Get("kind"))}
	var err error
	ask, kept := admin.Query("kind", d.Kind), admin.Query("kind", d.Kind)
	d.Items, d.Total, d.Next, err = paged[events.Event](v, "/events", ask, "/events", kept)
	return d, err
}

// EventTag returns the CSS class of a kind's tag.
func (v *view) EventTag(kind string) string {
	return map[string]string{
		events.Ill: "bad", events.Gone: "bad", events.IndexerDown: "bad", events.Refused: "bad",
		events.Well: "good", events.IndexerUp: "good", "resume": "good", "pause": "warn", events.Stop: "warn",
	}[kind]
}
