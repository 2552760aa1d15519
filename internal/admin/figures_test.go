package admin

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sextant-crawler/sextant/internal/report"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/scheduler"
)

// notMetrics are the parts of a Status that have figures and are no metrics of their own: lists of hosts, roots and the
// like, which could be of any length, sums and rates of metrics, and what is of interest only while somebody looks.
func notMetrics() []string {
	return []string{
		"Browser.Since", "Browser.Started", "DeletionsByClass", "DeletionsByReason", "Duplicates.Freed", "Edits", "HostList", "Hosts.Closed", "Ill",
		"Losing", "Moves", "NewTexts", "NextOpening", "Notices", "Patterns.Learnt", "Rates", "Rendered.Failed", "Rendered.Seconds", "Robots",
		"RootsFailing", "Rules", "Sessions", "Shells.ByHost", "Shells.Hosts", "StartedAt", "Store.LastCommitS",
		"Store.SetBackAt", "Taken",
	}
}

// TestFiguresAreTold: each number and time of a status is the value of a metric, unless notMetrics names it, and what a
// status holds is described in openapi.yaml.
func TestFiguresAreTold(t *testing.T) {
	var s Status
	figures := map[float64]string{}
	number(reflect.ValueOf(&s).Elem(), "", figures)
	helps := map[any]string{}
	for _, m := range metrics() {
		if m.value != nil {
			m.value(&s, func(v float64, _ ...string) {
				delete(figures, v)
				helps[v] = m.help
			})
		}
	}
	for _, path := range slices.Sorted(maps.Values(figures)) {
		if !slices.ContainsFunc(notMetrics(), func(part string) bool { return strings.HasPrefix(path+".", part+".") }) {
			t.Errorf("%s is no metric: write a row in metrics_table.go or metrics_stored.go, or name it in notMetrics", path)
		}
	}
	var members map[string]any
	if b, err := json.Marshal(&s); err != nil || json.Unmarshal(b, &members) != nil {
		t.Fatal(err)
	}
	described := loadAPI(t).Components.Schemas["Status"].Value.Properties
	for name, value := range members {
		if n, single := value.(float64); described[name] == nil && single && *update {
			describe(t, name, helps[n])
		} else if described[name] == nil {
			t.Errorf("%s is not described in openapi.yaml: -update describes a single number that is a metric", name)
		}
	}
}

// describe adds a member of Status to openapi.yaml.
func describe(t *testing.T, name, help string) {
	const after = "        started_at: {type: string, format: date-time, description: \"when the service started\"}\n"
	text := string(testdir.Read(t, "openapi.yaml"))
	line := fmt.Sprintf("        %s: {type: number, description: %q}\n", name, strings.TrimSuffix(help, "."))
	testdir.Write(t, "openapi.yaml", strings.Replace(text, after, after+line, 1))
}

// number gives each number and time below v a value of its own, and notes it with its path.
func number(v reflect.Value, path string, figures map[float64]string) {
	n := len(figures) + 1000
	note := func() { figures[float64(n)] = strings.TrimPrefix(path, ".") }
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		number(v.Elem(), path, figures)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		number(v.Index(0), path, figures)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		number(element, path, figures)
		// Some metrics ask for the words that they know only.
		for _, word := range []string{report.ErrorDNS, scheduler.ByThrottle.String(), strconv.Itoa(n)} {
			key := reflect.New(v.Type().Key()).Elem()
			key.SetString(word)
			v.SetMapIndex(key, element)
		}
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = time.Unix(int64(n), 0)
			note()
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				name := path + "." + f.Name
				if f.Anonymous {
					name = path
				}
				number(v.Field(i), name, figures)
			}
		}
	default:
		if v.CanInt() || v.CanUint() || v.CanFloat() {
			v.Set(reflect.ValueOf(n).Convert(v.Type()))
			note()
		}
	}
}
