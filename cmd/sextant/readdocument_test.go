package main

import (
	"bytes"
	"fmt"
	"html"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sextant-crawler/sextant/fetcher/extract/documents"
	"github.com/sextant-crawler/sextant/internal/testing/testdir"
	"github.com/sextant-crawler/sextant/internal/testing/testdocs"
	"github.com/sextant-crawler/sextant/internal/testing/testneed"
	"github.com/sextant-crawler/sextant/internal/testing/testrun"
	"github.com/sextant-crawler/sextant/push"
)

const documentsConfig = `<CrawlConfig>
  <Crawler name="docs" nthreads="4" aggressive="true" maxPdfBytes="2000000" maxBodyBytes="1000000" %[2]s>
    <Root url="%[1]s/"/>
    <Push kind="file"/>
  </Crawler>
</CrawlConfig>`

// documentSite serves one document of each kind, hostile ones, and pages that only
// documents link to.
func documentSite(t *testing.T) *httptest.Server {
	t.Helper()
	if raceDetector {
		t.Skip("under the race detector a worker compiles PDFium for longer than documents may take; .ci/run has this test without it")
	}
	types := map[string]string{
		"pdf": "application/pdf", "rtf": "text/rtf", "odt": "application/vnd.oasis.opendocument.text",
		"docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "zip": "application/zip",
	}
	bodies := map[string][]byte{}
	for kind := range testdocs.All(testdocs.Content{}) { // copies of others would not be indexed
		body := testdocs.All(testdocs.Content{Title: "A title", Author: "Ann", Text: "What it says. By " + kind, Link: "/beyond-KIND.html"})[kind]
		bodies["good."+kind] = bytes.ReplaceAll(body, []byte("KIND"), []byte(kind)) // only those that are not packed have it
	}
	big := testdocs.PDF(testdocs.PDFFile{Content: testdocs.Content{Title: "A title", Author: "Ann", Link: "/beyond-pdf.html"}, Pages: []string{"What it says."}})
	bodies["large.pdf"] = append(bytes.Repeat([]byte("% padding\n"), 120_000), big...) // above maxBodyBytes, below maxPdfBytes
	bodies["large.pdf"] = append([]byte("%PDF-1.4\n"), bodies["large.pdf"]...)
	bodies["locked.pdf"] = testdocs.PDF(testdocs.PDFFile{Pages: []string{"secret"}, Password: "hidden"})
	bodies["damaged.docx"] = []byte("PK\x03\x04 and nothing more")
	bodies["none.pdf"] = bytes.Repeat([]byte("no PDF at all "), 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		body, ok := bodies[name]
		switch {
		case ok:
			w.Header().Set("Content-Type", types[name[strings.LastIndex(name, ".")+1:]])
			if w.Header().Get("Content-Type") == "" {
				w.Header().Set("Content-Type", "application/octet-stream") // found by its bytes
			}
			_, _ = w.Write(body)
		case name == "":
			fmt.Fprint(w, "<title>Root</title>")
			for name := range bodies {
				fmt.Fprintf(w, "<a href='/%s'>x</a>", html.EscapeString(name))
			}
		case strings.HasPrefix(name, "beyond"):
			fmt.Fprint(w, "<title>Beyond</title>reached as "+html.EscapeString(name))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func crawlDocuments(t *testing.T, site, attributes string) (map[string]push.Document, string) {
	t.Helper()
	return crawlConfigured(t, site, fmt.Sprintf(documentsConfig, site, attributes))
}

// crawlConfigured crawls a site once by a configuration, and returns its documents and what the
// command said.
func crawlConfigured(t *testing.T, site, config string) (map[string]push.Document, string) {
	t.Helper()
	return testrun.Once(t, func(args ...string) *exec.Cmd { return process(t, args...) }, site, config)
}

// TestCrawlDocuments crawls a site with the program, as its user does.
func TestCrawlDocuments(t *testing.T) {
	site := documentSite(t)
	got, out := crawlDocuments(t, site.URL, "")
	for _, kind := range []string{"pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "rtf"} {
		d := got["good."+kind]
		if d.Title != "A title" || !strings.Contains(d.Text, "What it says.") || !cmp.Equal(d.Metas["author"], []string{"Ann"}) ||
			!cmp.Equal(d.Metas["created"], []string{"2026-01-02T03:04:05Z"}) || kind != "rtf" && d.Language != "en-GB" || d.Metas["extraction_error"] != nil {
			t.Errorf("%s: %+v", kind, d)
		}
	}
	for _, name := range []string{"beyond-pdf.html", "beyond-rtf.html", "beyond-KIND.html"} { // the last by those that are packed
		if got[name].Title != "Beyond" {
			t.Errorf("%s was not reached", name)
		}
	}
	if d := got["large.pdf"]; d.Text != "What it says." || d.Metas["truncated"] != nil {
		t.Errorf("large.pdf: %+v", d)
	}
	for name, reason := range map[string]string{"locked.pdf": "encrypted", "damaged.docx": "damaged", "none.pdf": "damaged"} {
		d, ok := got[name]
		if diff := cmp.Diff(map[string][]string{"extraction_error": {reason}}, d.Metas); !ok || diff != "" || d.Text != "" {
			t.Errorf("%s: %+v\n%s", name, d, diff)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// scanned returns a PDF whose one page is a picture, by the program that makes pictures of pages.
func scanned(t *testing.T, text string) (pdf, picture []byte) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page")
	if err := os.WriteFile(name+".pdf", testdocs.PDF(testdocs.PDFFile{Pages: []string{text}}), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "pdftoppm", "-r", "150", "-jpeg", "-singlefile", name+".pdf", name).CombinedOutput(); err != nil { //nolint:gosec // our own file
		t.Fatalf("pdftoppm: %v\n%s", err, out)
	}
	picture = testdir.Read(t, name+".jpg")
	draw := "612 0 0 792 0 0 cm /P Do"
	return fmt.Appendf(nil, `%%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /XObject << /P 4 0 R >> >> /Contents 5 0 R >> endobj
4 0 obj << /Type /XObject /Subtype /Image /Width 1275 /Height 1650 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode /Length %d >>
stream
%s
endstream endobj
5 0 obj << /Length %d >>
stream
%s
endstream endobj
trailer << /Size 6 /Root 1 0 R >>
`, len(picture), picture, len(draw), draw), picture
}

// TestExampleOCR reads scanned documents with the example's program, as it is.
func TestExampleOCR(t *testing.T) {
	if raceDetector {
		t.Skip("as documentSite")
	}
	testneed.Program(t, "pdftoppm", "poppler-utils")
	testneed.Program(t, "tesseract", "tesseract-ocr")
	letter, _ := scanned(t, "The harbour master thanks you for your letter.")
	_, picture := scanned(t, "The lock gates open at seven.")
	program, err := filepath.Abs(filepath.Join(examplesFolder(), "ocr", "ocr.sh"))
	if err != nil {
		t.Fatal(err)
	}
	written := testdir.Read(t, filepath.Join(examplesFolder(), "ocr", "CrawlConfig.xml"))
	converters := regexp.MustCompile(`<Converter[^>]*>`).FindAllString(strings.ReplaceAll(string(written), "/usr/local/lib/sextant/ocr.sh", program), -1)
	got, out := crawlConverted(t, map[string][]byte{
		"letter.pdf": letter, "typed.pdf": testdocs.PDF(testdocs.PDFFile{Pages: []string{"This one was typed."}}), "gates.jpg": picture,
	}, strings.Join(converters, "\n"))
	for name, want := range map[string]string{
		"letter.pdf": "The harbour master thanks you for your letter.", "typed.pdf": "This one was typed.", "gates.jpg": "The lock gates open at seven.",
	} {
		if d := got[name]; d.Text != want || d.Metas["extraction_error"] != nil {
			t.Errorf("%s: %+v\n%s", name, d, out)
		}
	}
}

// crawlConverted crawls a site that has these files, with converters.
func crawlConverted(t *testing.T, files map[string][]byte, converters string) (map[string]push.Document, string) {
	t.Helper()
	site := httptest.NewServer(fileSite(files))
	defer site.Close()
	return crawlConfigured(t, site.URL, strings.Replace(fmt.Sprintf(documentsConfig, site.URL, `maxTemporaryErrors="1"`), "<Push", converters+"<Push", 1))
}

// fileSite serves files, each of the type that its extension has, and a page that links to them.
func fileSite(files map[string][]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		body, ok := files[name]
		switch {
		case ok:
			w.Header().Set("Content-Type", mime.TypeByExtension(filepath.Ext(name)))
			if filepath.Ext(name) == ".note" {
				w.Header().Set("Content-Type", "Text/X-Note; charset=utf-8")
			}
			_, _ = w.Write(body)
		case name == "":
			fmt.Fprint(w, "<title>Root</title>")
			for name := range files {
				fmt.Fprintf(w, "<a href='/%s'>x</a>", html.EscapeString(name))
			}
		default:
			http.NotFound(w, r)
		}
	})
}

// TestConverters: programs of the operator read media types, with their errors in the document.
func TestConverters(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "read.sh")
	text := `case "$(cat "$1")" in wrong*) echo "a bad note" >&2; exit 4;; esac
echo "<title>Note</title><a href='/beyond.note'>x</a><p>It says: $(cat "$1")"
`
	testdir.Write(t, script, text)
	converters := `<Converter mediaType="text/x-note" command="/bin/sh ` + script + ` {file}" output="html"/>
<Converter mediaType="image/png" command="/none/at/all"/>`
	files := map[string][]byte{"a.note": []byte("hello"), "b.note": []byte("wrong"), "c.png": []byte("\x89PNG\r\n\x1a\n"), "beyond.note": []byte("further")}
	got, out := crawlConverted(t, files, converters)
	if d := got["a.note"]; d.Text != "x It says: hello" || d.Title != "Note" {
		t.Errorf("a.note: %+v", d)
	}
	if d := got["beyond.note"]; d.Text != "x It says: further" {
		t.Errorf("beyond.note: %+v", d)
	}
	for name, reason := range map[string]string{"b.note": "failed", "c.png": "unavailable"} {
		if d := got[name]; d.Text != "" || !cmp.Equal(d.Metas["extraction_error"], []string{reason}) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	for _, want := range []string{"ended with status 4: a bad note", "cannot start /none/at/all: no such file or directory"} {
		if !strings.Contains(out, want) {
			t.Errorf("the log does not have %q:\n%s", want, out)
		}
	}
}

// TestFetchShowsConverter: a dry run names the program; check says where it is not there.
func TestFetchShowsConverter(t *testing.T) {
	site := httptest.NewServer(fileSite(map[string][]byte{"a.note": []byte("hello"), "c.png": []byte("\x89PNG\r\n\x1a\n")}))
	defer site.Close()
	path := filepath.Join(t.TempDir(), "CrawlConfig.xml")
	config := strings.Replace(fmt.Sprintf(documentsConfig, site.URL, `maxTemporaryErrors="1"`), "<Push",
		`<Converter mediaType="text/x-note" command="/bin/cat"/><Converter mediaType="image/*" command="/none/at/all"/><Push`, 1)
	testdir.Write(t, path, config)
	for name, want := range map[string]string{"a.note": "page      by the converter /bin/cat", "c.png": "meta      extraction_error = unavailable"} {
		out, err := process(t, "fetch", "-c", path, site.URL+"/"+name).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, not %q:\n%s", name, err, want, out)
		}
	}
	out, err := process(t, "check", "-c", path).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the file /none/at/all does not exist: nothing is run until it does") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDocumentsOff wants no worker at all.
func TestDocumentsOff(t *testing.T) {
	got, _ := crawlDocuments(t, documentSite(t).URL, `readDocuments="false"`)
	for name, d := range got {
		if diff := cmp.Diff(map[string][]string{"extraction_error": {"not-read"}}, d.Metas); strings.HasPrefix(name, "good.") && (d.Text != "" || diff != "") {
			t.Errorf("%s was read: %+v\n%s", name, d, diff)
		}
	}
	if _, ok := got["good.pdf"]; !ok {
		t.Error("good.pdf is not indexed")
	}
}

// TestWorkerEndsWithService kills the service, which can do nothing about its worker then.
func TestWorkerEndsWithService(t *testing.T) {
	testneed.File(t, "/proc/self/stat", "linux")
	dir := t.TempDir()
	path := filepath.Join(dir, "CrawlConfig.xml")
	if err := os.WriteFile(path, fmt.Appendf(nil, documentsConfig, documentSite(t).URL, ""), 0o600); err != nil {
		t.Fatal(err)
	}
	service := process(t, "run", "--listen=off", "-c", path, "-d", filepath.Join(dir, "data"))
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	var worker int
	await(t, "a worker", func() bool { worker = workerOf(service.Process.Pid); return worker != 0 })
	if err := service.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = service.Wait() // it was killed
	await(t, "the end of the worker", func() bool { return !isWorker(worker) })
}

// await waits for what another process does.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}

func isWorker(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte("\x00"+documents.WorkerCommand+"\x00"))
}

// workerOf returns the process that reads documents for another, 0 if there is none.
func workerOf(parent int) int {
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	for _, path := range processes {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) && isWorker(pid) {
			return pid
		}
	}
	return 0
}
