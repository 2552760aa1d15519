package console

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sextant-crawler/sextant/internal/admin"
)

// rulesData is the data of the editor. Without scripts it is a text area with two buttons, and their results.
type rulesData struct {
	// File is the name of the configuration's file, ETag the tag of the text that was read.
	File, ETag string
	// Text has line ends of one character. Windows is set if the file has CR LF.
	Text    string
	Windows bool
	// Refused is the reason why the text cannot be edited here.
	Refused string
	// Taken is the version whose text is in the editor, unsaved.
	Taken    string
	Versions []admin.ConfigVersion

	// Asked describes the deletions that saving would cause, if they need confirmation.
	Asked *foreseen
	// Line is the editor's initial line; 0 for none.
	Line int
	// Cases are the test cases beside the configuration.
	Cases, CasesTag string
	// CasesRefused is the reason why they cannot be edited here.
	CasesRefused string
	// Results of a button without scripts.
	Check *admin.Check
	Saved *admin.Written
	// Problem is the reason why it was not saved; Theirs is the text that another user has saved in the meantime.
	Problem *admin.Problem
	Theirs  string
}

// maxEdited is the largest text for the editor, in bytes.
const maxEdited = 4 << 20

// rules reads the configuration, or one of its kept versions.
func rules(v *visit) (any, error) {
	d, err := readRules(v)
	if err != nil {
		return nil, err
	}
	d.Line, _ = strconv.Atoi(v.r.URL.Query().Get("line")) // else none
	if name := v.r.URL.Query().Get("take"); name != "" && d.Refused == "" {
		_, old, err := v.text("/config/version", url.Values{"name": {name}})
		if err != nil {
			return nil, err
		}
		d.Taken = name
		d.take(old)
	}
	return d, nil
}

// readRules reads the saved configuration.
func readRules(v *visit) (*rulesData, error) {
	d := &rulesData{}
	header, text, err := v.text("/config", nil)
	if err != nil {
		return nil, err
	}
	d.ETag = header.Get("ETag")
	if _, named, err := mime.ParseMediaType(header.Get("Content-Disposition")); err == nil {
		d.File = named["filename"]
	}
	d.take(text)
	var kept struct{ Items []admin.ConfigVersion }
	err = v.get("/config/versions", nil, &kept)
	d.Versions = kept.Items
	if err == nil {
		err = d.readCases(v)
	}
	return d, err
}

// readCases reads the test cases; an error there does not prevent editing the rules.
func (d *rulesData) readCases(v *visit) error {
	header, cases, err := v.text("/config/cases", nil)
	if p, ok := errors.AsType[*admin.Problem](err); ok {
		d.CasesRefused = p.Detail
		return nil
	}
	if err == nil {
		d.Cases, d.CasesTag = strings.ReplaceAll(string(cases), "\r\n", "\n"), header.Get("ETag")
	}
	return err
}

// take loads a text into the editor.
func (d *rulesData) take(text []byte) {
	d.Text, d.Refused = "", notEdited(text)
	if d.Refused != "" {
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
		return "The text declares the encoding " + cut(string(m[1]), 40) + ". The editor writes UTF-8: write encoding=\"UTF-8\" in its first line; a file in another encoding must be converted on the machine of the service."
	}
	if !utf8.Valid(text) {
		return "The file is not in UTF-8. Convert it on the machine of the service, or edit it there and run sextant reload."
	}
	return ""
}

// sendRules handles a button without scripts. The submitted text stays in the editor in any case.
func sendRules(v *visit) error {
	if err := v.r.ParseForm(); err != nil {
		return &admin.Problem{Title: "Too large", Status: http.StatusRequestEntityTooLarge, Detail: "the form cannot be read: the text may be too large for the editor"}
	}
	text := strings.ReplaceAll(v.r.PostForm.Get("text"), "\r\n", "\n")
	sent := &rulesData{ETag: v.r.PostForm.Get("etag"), Text: text, Windows: v.r.PostForm.Get("lines") == "crlf"}
	if sent.Windows {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	status := http.StatusOK
	if refused := notEdited([]byte(text)); refused != "" {
		status, sent.Problem = http.StatusUnprocessableEntity, &admin.Problem{Detail: refused}
	} else if do := v.r.PostForm.Get("do"); do != "check" {
		if err := sent.save(v, text, do); err != nil {
			return err
		}
		if sent.Problem != nil {
			status = sent.Problem.Status
		}
	} else if err := v.post("/check", nil, admin.CheckRequest{Config: text}, &sent.Check); err != nil {
		return err
	}
	now, err := readRules(v)
	if err != nil {
		return err
	}
	sent.File, sent.Versions, sent.Cases, sent.CasesTag, sent.CasesRefused = now.File, now.Versions, now.Cases, now.CasesTag, now.CasesRefused
	if status == http.StatusPreconditionFailed {
		sent.Theirs, sent.ETag = now.Text, now.ETag
	}
	v.console.show(v, status, "rules", "Configuration", sent)
	return nil
}

// save saves the text with the API, or first asks about its deletions: do is save, then save-delete or save-hold. A
// refusal is shown on the page, not returned as an error.
func (d *rulesData) save(v *visit, text, do string) error {
	header := http.Header{"Content-Type": {"application/xml"}, "If-Match": {d.ETag}}
	saved := &admin.Written{}
	query := url.Values{}
	if do == "save-delete" {
		query.Set("yes", "true")
	}
	if do == "save" {
		asked, err := foresee(v, text)
		if p, ok := errors.AsType[*admin.Problem](err); ok && len(p.Findings) == 0 {
			asked, err = &foreseen{Unknown: p.Detail}, nil // saving is possible nevertheless
		} else if ok {
			d.Problem = p
			return nil
		}
		if err != nil {
			return err
		}
		if asked.Unknown != "" || asked.Deleted+asked.Leaving > 0 {
			d.Asked = asked
			return nil
		}
	}
	answer, err := v.api.Ask(v.r.Context(), http.MethodPut, "/api/v1/config", query, header, strings.NewReader(text))
	if p, ok := errors.AsType[*admin.Problem](err); ok {
		d.Problem = p
		return nil
	}
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	answered, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(answered, saved)
	}
	d.Saved, d.ETag = saved, saved.ETag
	return err
}

// Crawlers returns the names of the configuration's Crawlers, as JSON: the script requests the effect of the text on
// each.
func (d *rulesData) Crawlers(v *view) (string, error) {
	names, err := json.Marshal(v.Crawlers)
	return string(names), err
}

// Unsaved reports whether the text differs from the saved one.
func (d *rulesData) Unsaved() bool {
	return d.Taken != "" || d.Check != nil || d.Problem != nil || d.Asked != nil
}

// Lines returns the number of lines, for the height of the field.
func (d *rulesData) Lines() int {
	return min(max(strings.Count(d.Text, "\n")+2, 12), 40)
}

// CaseLines is Lines for the field of test cases.
func (d *rulesData) CaseLines() int {
	return min(max(strings.Count(d.Cases, "\n")+2, 4), 16)
}

// Newest is the time when the newest text was stored; zero if there is none.
func (d *rulesData) Newest() time.Time {
	if len(d.Versions) == 0 {
		return time.Time{}
	}
	return d.Versions[0].Kept
}
