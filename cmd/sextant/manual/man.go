package manual

import (
	_ "embed"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/urfave/cli/v2"
)

// page is the template of sextant(1), with the macros of man(7).
//
//go:embed sextant.1.tmpl
var page string

// WritePage writes sextant(1).
func WritePage(w io.Writer, app *cli.App, date time.Time) error {
	t, err := template.New("sextant.1").Funcs(template.FuncMap{
		"text": roffText, "term": roffTerm, "sentence": sentence, "flag": flagText, "names": names,
		"own": Command.own, "common": Command.common,
	}).Parse(page)
	if err != nil {
		return err
	}
	return t.Execute(w, map[string]any{
		"Date": date.Format(time.DateOnly), "Version": strings.Fields(app.Version)[0],
		"Usage": app.Usage, "Commands": Reference(app),
	})
}

// flagText returns the description of a flag, with its default and its environment variable.
func flagText(f Flag) string {
	words := sentence(f.Usage)
	if f.Preset != "" {
		words += " The default is " + f.Preset + "."
	}
	if len(f.Variables) > 0 {
		words += " Variable: " + strings.Join(f.Variables, ", ") + "."
	}
	return words
}

// names returns the long names of flags.
func names(flags []Flag) string {
	var all []string
	for _, f := range flags {
		all = append(all, f.Names[0])
	}
	return strings.Join(all, ", ")
}

// sentence turns a usage line into a sentence.
func sentence(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return strings.TrimSuffix(s, ".") + "."
}

// roffTerm escapes a macro's argument for roff.
func roffTerm(s string) string {
	return strings.NewReplacer(
		`\`, `\e`, "-", `\-`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "’", `\(cq`, `"`, `\(dq`,
	).Replace(s)
}

// roffText returns text escaped for roff, in short lines. Each sentence begins a new line, because roff sets the space
// between sentences.
func roffText(words string) string {
	var b strings.Builder
	words = strings.ReplaceAll(roffTerm(words), `\(dq`, `"`)
	for s := range strings.SplitAfterSeq(strings.Join(strings.Fields(words), " "), ". ") {
		for line := range strings.Lines(wrapped(s, 0, 78)) {
			if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
				line = `\&` + line
			}
			b.WriteString(line)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
