package admin

import (
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sextant-crawler/sextant/internal/report"
)

// TestReportColumnsAreDescribed: each column of a report stands in the file, with its type,
// and the words that it may have.
func TestReportColumnsAreDescribed(t *testing.T) {
	schemas := loadAPI(t).Components.Schemas
	errors := schemas["ReportErrors"].Value.Properties["by_host"].Value.Items.Value
	look := func(name string, c report.Column, in ...*openapi3.Schema) {
		t.Helper()
		types := map[report.Cell]string{report.Count: "integer", report.Code: "integer", report.Flag: "boolean"}
		want, ok := types[c.Shows]
		if !ok {
			want = "string"
		}
		for _, schema := range in {
			if p := schema.Properties[name]; p != nil {
				if !p.Value.Type.Is(want) || (p.Value.Format == "date-time") != (c.Shows == report.Time) {
					t.Errorf("%s is not described as a %s", name, want)
				}
				return
			}
		}
		t.Errorf("no schema has %s", name)
	}
	for kind, in := range map[string][]*openapi3.Schema{
		report.KindBroken:  {schemas["BrokenLink"].Value, schemas["LinkedFrom"].Value},
		report.KindErrors:  {schemas["ErrorCount"].Value, errors},
		report.KindChanges: {schemas["Change"].Value},
		report.KindRounds:  {schemas["Round"].Value},
	} {
		for _, c := range report.Columns(kind) {
			look(c.Name, c, in...)
		}
	}
	for _, group := range (&report.Documents{}).Groups() {
		schema := schemas["ReportDocuments"].Value.Properties["by_"+group.Of]
		if schema == nil {
			t.Errorf("what is counted by %s is not described", group.Of)
			continue
		}
		for _, c := range group.Columns {
			look(c.Name, c, schema.Value.Items.Value)
		}
	}
	words := func(schema *openapi3.Schema, name string, want []string) {
		t.Helper()
		var got []string
		for _, w := range schema.Properties[name].Value.Enum {
			got = append(got, w.(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the file names %q, want %q", name, got, want)
		}
	}
	words(schemas["Change"].Value, "change", report.ChangeKinds())
	words(schemas["ErrorCount"].Value, "class", report.ErrorClasses())
}
