package console

import (
	"encoding/json"
	"errors"
	"mime"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// rulesData is the data of the editor, which is a script. Without it the page shows the text.
type rulesData struct {
	// File is the name of the configuration's file, ETag the tag of the text that was read.
	File, ETag string
	// Text has line ends of one character. Windows is set if the file has CR LF.
	Text    string
	Windows bool
	// Refused is why the text cannot be edited here.
	Refused  string
	Versions []admin.ConfigVersion

	// Line is the editor's initial line; 0 for none.
	Line int
	// Cases are the test cases beside the configuration.
	Cases, CasesTag string
	// CasesRefused is why they cannot be edited here.
	CasesRefused string
}

// maxEdited is the largest text for the editor, in bytes.
const maxEdited = 4 << 20

// rules reads the configuration.
func rules(v *visit) (any, error) {
	d := &rulesData{}
	d.Line, _ = strconv.Atoi(v.r.URL.Query().Get("line")) // else none
	header, text, err := v.api.Text(v.r.Context(), "/config", nil)
	if err != nil {
		return nil, err
	}
	d.ETag = header.Get("ETag")
	if _, named, err := mime.ParseMediaType(header.Get("Content-Disposition")); err == nil {
		d.File = named["filename"]
	}
	d.take(text)
	var kept struct{ Items []admin.ConfigVersion }
	if err := v.get("/config/versions", nil, &kept); err != nil {
		return nil, err
	}
	d.Versions = kept.Items
	header, cases, err := v.api.Text(v.r.Context(), "/config/cases", nil)
	if p, ok := errors.AsType[*admin.Problem](err); ok { // it does not prevent editing the rules
		d.CasesRefused = p.Detail
		return d, nil
	}
	d.Cases, d.CasesTag = strings.ReplaceAll(string(cases), "\r\n", "\n"), header.Get("ETag")
	return d, err
}

// take puts a text into the editor.
func (d *rulesData) take(text []byte) {
	if d.Refused = notEdited(text); d.Refused != "" {
		return
	}
	first, _, _ := strings.Cut(string(text), "\n")
	d.Windows = strings.HasSuffix(first, "\r")
	d.Text = strings.ReplaceAll(string(text), "\r\n", "\n")
}

// declared matches the encoding in an XML declaration.
var declared = regexp.MustCompile(`^\x{FEFF}?<\?xml\s[^>]*?encoding\s*=\s*["']([^"'>]*)["']`)

// notEdited returns why a text cannot be edited in a browser, which writes UTF-8.
func notEdited(text []byte) string {
	if len(text) > maxEdited {
		return "The file is larger than 4 MiB. Edit it on the machine of the service, then run sextant reload."
	}
	if m := declared.FindSubmatch(text); m != nil && !strings.EqualFold(string(m[1]), "utf-8") && !strings.EqualFold(string(m[1]), "us-ascii") {
		return "The text says that it is in " + cut(string(m[1]), 40) + ". The editor writes UTF-8: write encoding=\"UTF-8\" in its first line; a file in another encoding must be converted on the machine of the service."
	}
	if !utf8.Valid(text) {
		return "The file is not in UTF-8. Convert it on the machine of the service, or edit it there and run sextant reload."
	}
	return ""
}

// Crawlers returns the names of the configuration's Crawlers, as JSON: the script asks for each what the text would
// delete.
func (d *rulesData) Crawlers(v *view) (string, error) {
	names, err := json.Marshal(v.Crawlers)
	return string(names), err
}

// Lines returns the number of lines, for the height of the field.
func (d *rulesData) Lines() int {
	return min(max(strings.Count(d.Text, "\n")+2, 12), 40)
}

// CaseLines is Lines for the field of test cases.
func (d *rulesData) CaseLines() int {
	return min(max(strings.Count(d.Cases, "\n")+2, 4), 16)
}

// Newest is when the newest text was kept; zero if none is.
func (d *rulesData) Newest() time.Time {
	if len(d.Versions) == 0 {
		return time.Time{}
	}
	return d.Versions[0].Kept
}
