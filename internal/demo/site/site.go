// Package site is the sample that `sextant demo` crawls: the web site of an invented maker of tide gauges, and the
// CrawlConfig.xml for it. The site contains typical cases: departments, listings, a redirect, a dead link, a folder
// that robots.txt forbids, a sitemap with a page without links to it, a noindex page, a canonical one, a download,
// images.
package site

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed content/*.txt library harbour assets page.html
var files embed.FS

// Handler serves the site from memory, for GET and HEAD, with ETag and Last-Modified, and responds to conditional
// requests with 304. It may be used concurrently. It panics if the embedded files are broken, which the package's tests
// rule out.
func Handler() http.Handler {
	s, err := load(files)
	if err != nil {
		panic("site: " + err.Error())
	}
	return s
}

// resource is the response for a path.
type resource struct {
	status      int // 0 is 200
	body        []byte
	contentType string
	etag        string
	modified    time.Time
}

type site struct {
	resources map[string]resource
	redirects map[string]string
	listed    []*page // pages in the sitemap: those at the top of the site
	newest    time.Time
	guest     string // the name of a site other than the main one
}

// sitemap lists pages under the requested origin, as sitemaps.org requires.
func (s *site) sitemap(origin string) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, p := range s.listed {
		fmt.Fprintf(&b, "<url><loc>%s</loc><lastmod>%s</lastmod></url>\n", origin+p.Path, p.Date)
	}
	b.WriteString("</urlset>\n")
	return b.Bytes()
}

// ServeHTTP responds with the resource, a redirect, or 404.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this site is read-only: use GET", http.StatusMethodNotAllowed)
		return
	}
	if target, ok := s.redirects[r.URL.Path]; ok {
		http.Redirect(w, r, target, http.StatusMovedPermanently)
		return
	}
	if r.URL.Path == "/sitemap.xml" {
		w.Header().Set("Content-Type", "application/xml; charset=utf-8")
		http.ServeContent(w, r, "", s.newest, bytes.NewReader(s.sitemap("http://"+r.Host)))
		return
	}
	res, ok := s.resources[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if r.URL.Path == "/robots.txt" { // it names the sitemap under the requested origin
		res.body = bytes.ReplaceAll(res.body, []byte("SITE_ORIGIN"), []byte("http://"+r.Host))
	}
	w.Header().Set("Content-Type", res.contentType)
	if res.status != 0 {
		w.WriteHeader(res.status)
		_, _ = w.Write(res.body)
		return
	}
	w.Header().Set("ETag", res.etag)
	http.ServeContent(w, r, "", res.modified, bytes.NewReader(res.body))
}

func (s *site) add(path, contentType string, modified time.Time, body []byte) {
	sum := sha256.Sum256(body)
	s.resources[path] = resource{
		body: body, contentType: contentType, modified: modified,
		etag: `"` + hex.EncodeToString(sum[:8]) + `"`,
	}
}

func load(files fs.FS) (*site, error) {
	s := &site{}
	if err := s.load(files, "content", false, strings.NewReplacer()); err != nil {
		return nil, err
	}
	return s, s.addAssets(files, s.newest)
}

// load reads the pages of a folder, before or after the change. Addresses in them are replaced by names.
func (s *site) load(files fs.FS, folderName string, changed bool, names *strings.Replacer) error {
	s.resources, s.redirects = map[string]resource{}, map[string]string{}
	pages, err := loadPages(files, folderName, changed)
	if err != nil {
		return err
	}
	layout, err := template.ParseFS(files, "page.html")
	if err != nil {
		return err
	}
	for _, p := range pages {
		if p.Redirect != "" {
			s.redirects[p.Path] = p.Redirect
			continue
		}
		p.Guest = s.guest
		var b bytes.Buffer
		if err := layout.Execute(&b, p); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
		s.add(p.Path, "text/html; charset=utf-8", p.modified, []byte(names.Replace(b.String())))
		if p.Status != 0 {
			s.resources[p.Path] = resource{status: p.Status, contentType: "text/html; charset=utf-8", body: []byte(http.StatusText(p.Status) + "\n")}
		}
		if folder(p.Path) == "/" && !strings.HasSuffix(p.Path, "/") {
			s.listed = append(s.listed, p)
		}
		if p.modified.After(s.newest) {
			s.newest = p.modified
		}
	}
	return nil
}

// loadPages reads all content files of a folder. Each page is listed by the page whose path is its folder; a listing is
// as new as the newest page in it.
func loadPages(files fs.FS, folderName string, changed bool) ([]*page, error) {
	names, err := fs.Glob(files, folderName+"/*.txt")
	if err != nil {
		return nil, err
	}
	var pages []*page
	byPath := map[string]*page{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		more, err := parse(name, string(text), changed)
		if err != nil {
			return nil, err
		}
		pages = append(pages, more...)
	}
	for _, p := range pages {
		if byPath[p.Path] != nil {
			return nil, fmt.Errorf("%s: two pages", p.Path)
		}
		byPath[p.Path] = p
	}
	for _, p := range pages {
		if p.Redirect != "" || p.Robots != "" || p.Status != 0 {
			continue
		}
		for up := folder(p.Path); up != "/"; up = folder(up) {
			parent := byPath[up]
			if parent == nil {
				break
			}
			if up == folder(p.Path) {
				parent.Children = append(parent.Children, p)
			}
			if p.modified.After(parent.modified) {
				parent.modified, parent.Date = p.modified, p.Date
			}
		}
	}
	return pages, nil
}

// folder returns the path of the listing of p: /a/b and /a/b/ are in /a/.
func folder(p string) string {
	d := path.Dir(strings.TrimSuffix(p, "/"))
	if d == "/" {
		return d
	}
	return d + "/"
}

func (s *site) addAssets(files fs.FS, modified time.Time) error {
	contentTypes := map[string]string{
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
	}
	assets, err := fs.Glob(files, "assets/*")
	if err != nil {
		return err
	}
	for _, name := range assets {
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		at := "/" + path.Base(name)
		if path.Ext(name) == ".svg" {
			at = "/images" + at
		}
		s.add(at, contentTypes[path.Ext(name)], modified, body)
	}
	download, err := firmware(modified)
	if err != nil {
		return err
	}
	s.add("/downloads/heron-firmware-3.2.zip", "application/zip", modified, download)
	return nil
}

// firmware returns a small archive, the same at every start.
func firmware(modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: "README.txt", Method: zip.Deflate, Modified: modified})
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte("Heron firmware 3.2: there is nothing in here, the gauge is invented.\n")); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
