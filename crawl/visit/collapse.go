package visit

import (
	"strings"

	"github.com/sextant-crawler/sextant/weburl"
)

// collapseKey is the meta by which a search engine collapses the documents of a site.
const collapseKey = "collapse_key"

// siteAt returns the URL of the site of a document with more than the given number of path segments; "" for others.
func siteAt(u weburl.URL, depth int) string {
	path := u.Path()
	end, n := 1, 0 // behind the segments that are kept
	for i := 1; i < len(path); {
		next := strings.IndexByte(path[i:], '/')
		if next != 0 {
			if n++; n > depth {
				return u.Origin() + path[:end]
			}
		}
		if next < 0 {
			return ""
		}
		i += next + 1
		end = i
	}
	return ""
}
