package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

// elsewhere returns the attributes of Crawler whose values do not go as they are into one
// setting.
func elsewhere() map[string]string {
	return map[string]string{
		"name":             "is checked",
		"defaultAccept":    "depends on the crawl space",
		"defaultIndex":     "depends on the crawl space",
		"defaultFollow":    "depends on the crawl space",
		"sleepAfterLoadMS": "is added to throttleTimeMS",
		"crawlLog":         "is a path, which is resolved and checked",
		"fetcher":          "chooses a Fetch",
		"mimeTypesMode":    "is a gate's",
	}
}

// withoutRow returns the settings that no attribute of Crawler alone fills.
func withoutRow() map[string]string {
	const (
		elements = "elements fill it"
		derived  = "follows from other settings"
		program  = "is the program's"
		fetch    = "each Fetch has its own"
		crawls   = "the crawl adds it"
	)
	return map[string]string{
		"ReadingKey": derived, "Name": elements, "Rules": elements, "Space": elements, "Traps": elements, "ReadRejectList": elements, "RejectListEvery": elements, "AddKilled": elements,
		"Remove": elements, "Converters": elements, "Inside": elements, "Mapping": elements, "Refreshes": elements, "Fetches": elements, "DenyPrivate": elements, "Sources": elements, "Rounds": elements, "ListsOnly": elements,
		"Frontier.Weights": elements, "Frontier.Throttles": elements, "CrawlLog": elements,
		"PushContent": derived, "Robots.Agent": derived, "Fetcher.MaxConnectionsPerHost": derived, "Frontier.LeavesTarget": derived, "OnlySources": derived,
		"Frontier.Levels": crawls, "Frontier.Sections": crawls, "KnownXMLFiles": crawls,
		"Frontier.DeletionBody": crawls, "Fetcher.Exempt": crawls, "Fetcher.DenyPrivate": crawls, "Fetcher.Pace": crawls,
		"Fetcher.Judge": crawls,
		"Documents":     program, "CookieFile": program, "Convert": program, "Renderer": program, "Pages": program, "Reading.Supervisor": program, "Fetcher.Accept": program, "Fetcher.MaxHeaderBytes": program,
		"Fetcher.Resolver": program, "Fetcher.Connect": program, "Fetcher.Names": program, "Fetcher.Permit": program, "Reading.Command": program,
		"Robots.MaxAge": program, "Robots.MinBackoff": program, "Robots.MaxBackoff": program, "Robots.Origins": program, "Robots.Bytes": program,
		"Fetcher.Header": fetch, "Fetcher.Roots": fetch, "Fetcher.InsecureTLS": fetch, "Fetcher.Certificates": fetch, "Fetcher.HTTP1": fetch,
		"Fetcher.Proxy": fetch,
	}
}

// TestEveryRowHasASetting: what is documented and supported has an effect, and no two
// attributes have the same.
func TestEveryRowHasASetting(t *testing.T) {
	var c Crawler
	reached, left := map[any]string{}, elsewhere()
	for _, a := range newSchema().elements["Crawler"].Attributes {
		_, read := left[a.Name]
		delete(left, a.Name)
		switch {
		case a.to == nil && !read && a.Status == Supported:
			t.Errorf("%s goes nowhere: write into in its row, or list it here", a.Name)
		case a.to != nil && read:
			t.Errorf("%s has a setting, and is listed as one without", a.Name)
		case a.to != nil:
			at := a.to(&c)
			if first, twice := reached[at]; twice {
				t.Errorf("%s and %s go into one setting", first, a.Name)
			}
			reached[at] = a.Name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("%s is listed here, and no attribute", name)
	}
}

// TestEverySettingHasARow: nothing that can be set is out of the configuration's reach
// without a reason.
func TestEverySettingHasARow(t *testing.T) {
	var c Crawler
	reached, left := map[any]bool{}, withoutRow()
	for _, a := range newSchema().elements["Crawler"].Attributes {
		if a.to != nil {
			reached[a.to(&c)] = true
		}
	}
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		for i := range v.NumField() {
			field, name := v.Field(i), path+v.Type().Field(i).Name
			switch name {
			case "Frontier", "Fetcher", "Robots", "Frontier.Deletions":
				walk(name+".", field)
				continue
			}
			if reached[field.Addr().Interface()] {
				continue
			}
			if _, listed := left[name]; !listed {
				t.Errorf("%s has no row in the table: add one, or list it here with the reason", name)
			}
			delete(left, name)
		}
	}
	walk("", reflect.ValueOf(&c.Settings).Elem())
	walk("Reading.", reflect.ValueOf(&c.Reading).Elem())
	for _, name := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("%s is listed here as without a row, but has one or is gone", name)
	}
}

// otherValue returns a valid value that is not the attribute's default, with the words that its
// setting is shown by.
func otherValue(a *Attribute) (written, shown string) {
	if a.Type == Enum {
		for _, v := range a.Values {
			if v != a.Default {
				return v, v
			}
		}
	}
	if a.Type == Bool {
		other := strconv.FormatBool(!isTrue(a.Default))
		return other, other
	}
	if !a.Type.isNumber() {
		return "other", "other"
	}
	n := a.Min
	if strconv.FormatInt(n, 10) == a.Default {
		n++
	}
	written = strconv.FormatInt(n, 10)
	switch a.Type {
	case Milliseconds:
		return written, (time.Duration(n) * time.Millisecond).String()
	case Seconds:
		return written, (time.Duration(n) * time.Second).String()
	}
	return written, written
}

// TestEveryRowFillsItsSetting writes each attribute and looks where its value went.
func TestEveryRowFillsItsSetting(t *testing.T) {
	for _, a := range newSchema().elements["Crawler"].Attributes {
		if a.to == nil {
			continue
		}
		written, want := otherValue(&a)
		beside := ""
		for name, value := range besideTime(a.Name) {
			beside += fmt.Sprintf(` %s="%s"`, name, value)
		}
		text := fmt.Sprintf(`<CrawlConfig><Crawler name="a" %s="%s"%s><Root url="http://a/"/></Crawler></CrawlConfig>`, a.Name, written, beside)
		file, report := Parse(FileName, []byte(text), Lookups{})
		if len(report.Errors) > 0 && a.Name != "smartRefreshMaxAgeS" { // below the least age
			t.Errorf("%s: %v", a.Name, report.Err())
			continue
		}
		if file == nil {
			continue
		}
		got := fmt.Sprint(reflect.ValueOf(a.to(&file.Crawlers[0])).Elem().Interface())
		switch {
		case a.yes != "":
			want = strconv.FormatBool(written == a.yes)
		case a.Name == "documentMaxMemoryMB":
			got = fmt.Sprint(file.Crawlers[0].Reading.MaxMemory >> 20)
		}
		if got != want {
			t.Errorf("%s=%q gives %s, want %s", a.Name, written, got, want)
		}
	}
}

// TestReadingKey: what has pages read anew changes it, and nothing else, however it is
// written.
func TestReadingKey(t *testing.T) {
	key := func(attributes, inside string) string {
		text := `<CrawlConfig><Crawler name="a" ` + attributes + `><Root url="http://a/"/>` + inside + `</Crawler></CrawlConfig>`
		file, report := Parse(FileName, []byte(text), Lookups{})
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		return file.Crawlers[0].ReadingKey
	}
	for _, same := range [][2]string{
		{"", ""}, {`ignoreNoindex="false" embeddedLinks="0" simpleSiteCollapsingDepth="00"`, ""}, {`smartRefresh="true" nthreads="2"`, `<Throttle hours="1-2"><Host val="a"/></Throttle>`},
	} {
		if got := key(same[0], same[1]); got != "" {
			t.Errorf("%v: pages would be read anew by %q", same, got)
		}
	}
	seen := map[string]string{"": "the defaults"}
	for _, other := range [][2]string{
		{`ignoreNofollow="true"`, ""}, {`ignoreNoindex="true"`, ""}, {`embeddedLinks="true"`, ""}, {`enableSimpleSiteCollapsing="true"`, ""},
		{`enableSimpleSiteCollapsing="true" simpleSiteCollapsingDepth="2"`, ""},
		{"", "<RemoveElements/>"}, {"", `<RemoveElements names="nav"/>`}, {"", `<RemoveElements names="nav" selectors="#x"/>`},
		{"", "<MetadataMapping/>"}, {"", `<MetadataMapping keepUnmapped="true"/>`}, {"", `<MetadataMapping><Map from="a" to="b"/></MetadataMapping>`},
		{"", `<MetadataMapping><Map from="a" to="b" join=","/></MetadataMapping>`}, {"", `<MetadataMapping><MapHeader field="a" to="b"/></MetadataMapping>`},
		{"", `<MetadataMapping><Map from="a" to="b"/><Map from="c" to="d"/></MetadataMapping>`},
	} {
		got := key(other[0], other[1])
		if first, twice := seen[got]; twice {
			t.Errorf("%v has the key of %s: %q", other, first, got)
		}
		seen[got] = fmt.Sprint(other)
	}
	if one, other := key(`ignoreNoindex="1"`, ""), key(`ignoreNoindex="true"`, ""); one != other {
		t.Errorf("%q and %q mean the same", one, other)
	}
}
