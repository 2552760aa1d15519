package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sextant-crawler/sextant/internal/testing/testdir"
)

// events are those of packages that pass, fail, skip, and do not build.
const events = `go: downloading example.com/m v1.0.0
{"Action":"start","Package":"github.com/sextant-crawler/sextant/good"}
{"Action":"run","Package":"github.com/sextant-crawler/sextant/good","Test":"TestA"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/good","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/good","Test":"TestA","Output":"    a_test.go:1: said by the way\n"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/good","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}
{"Action":"pass","Package":"github.com/sextant-crawler/sextant/good","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/good","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/good","Test":"TestB","Output":"    b_test.go:2: curl is not installed\n"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/good","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"github.com/sextant-crawler/sextant/good","Test":"TestB","Elapsed":0}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/good","Output":"PASS\n"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/good","Output":"ok  \tgithub.com/sextant-crawler/sextant/good\t0.010s\n"}
{"Action":"pass","Package":"github.com/sextant-crawler/sextant/good","Elapsed":0.01}
`

const bad = `{"Action":"output","Package":"github.com/sextant-crawler/sextant/bad","Test":"TestC","Output":"=== RUN   TestC\n"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/bad","Test":"TestC","Output":"    c_test.go:3: wrong\n"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/bad","Test":"TestC","Output":"--- FAIL: TestC (0.00s)\n"}
{"Action":"fail","Package":"github.com/sextant-crawler/sextant/bad","Test":"TestC","Elapsed":0}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/bad","Output":"FAIL\n"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/bad","Output":"FAIL\tgithub.com/sextant-crawler/sextant/bad\t0.020s\n"}
{"Action":"fail","Package":"github.com/sextant-crawler/sextant/bad","Elapsed":0.02}
{"ImportPath":"github.com/sextant-crawler/sextant/broken","Action":"build-output","Output":"broken/b.go:1:1: undefined: x\n"}
{"ImportPath":"github.com/sextant-crawler/sextant/broken","Action":"build-fail"}
{"Action":"output","Package":"github.com/sextant-crawler/sextant/broken","Output":"FAIL\tgithub.com/sextant-crawler/sextant/broken [build failed]\n"}
{"Action":"fail","Package":"github.com/sextant-crawler/sextant/broken","Elapsed":0,"FailedBuild":"github.com/sextant-crawler/sextant/broken"}
`

func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		events, allowed string
		want, err       string
	}{
		"all good": {events, "good TestB # a reason\n\n# a comment\n", `skipped:
  good TestB: b_test.go:2: curl is not installed
go: downloading example.com/m v1.0.0
ok  	github.com/sextant-crawler/sextant/good	0.010s
`, ""},
		"a skip that is not allowed": {events, "good TestA\n", `skipped:
  good TestB: b_test.go:2: curl is not installed
go: downloading example.com/m v1.0.0
ok  	github.com/sextant-crawler/sextant/good	0.010s
`, "good TestB"},
		"failures": {bad, "", `skipped:
--- FAIL: TestC (0.00s)
    c_test.go:3: wrong
FAIL
FAIL	github.com/sextant-crawler/sextant/bad	0.020s
broken/b.go:1:1: undefined: x
FAIL	github.com/sextant-crawler/sextant/broken [build failed]
FAIL
`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "skips")
			testdir.Write(t, file, c.allowed)
			allowed, err := readAllowed(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err = report(strings.NewReader(c.events), &out, allowed)
			if out.String() != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", out.String(), c.want)
			}
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}
