package admin

import (
	"net/http"
	"strings"

	"github.com/sextant-crawler/sextant/internal/report"
)

// deletionFilter are the parameters that select pending deletions.
const deletionFilter = "host reason edit up_to url"

// routes returns all routes of the service, except those that Mount adds. Each route is one row: its path, the role
// that it requires, its parameters, and the change that the log and the events name.
func (s *Server) routes() []route { return append(s.lookRoutes(), s.actRoutes()...) }

// lookRoutes show stored data, the state of the service, and predictions for URLs. They change nothing, except for
// push/verify with repairs. Those that take the text of a configuration require the operator, because files that it
// names are read.
func (s *Server) lookRoutes() []route {
	all := []route{
		{method: "GET", path: "/healthz", role: Nobody, plain: http.HandlerFunc(healthz)},
		{method: "GET", path: "/readyz", role: Nobody, plain: http.HandlerFunc(s.readyz)},
		{method: "GET", path: "/status", role: Local, answer: s.status},
		{method: "GET", path: "/metrics", role: Local, plain: s.metrics()},
		{method: "GET", path: "/api/v1/openapi.yaml", role: Reader, answer: openAPI},
		{method: "GET", path: "/api/v1/status", role: Reader, answer: s.status},
		{method: "GET", path: "/api/v1/hosts", role: Reader, crawler: true, query: "n#", answer: s.hosts},
		{method: "GET", path: "/api/v1/urls", role: Reader, crawler: true, query: strings.Join(report.FilterNames(), " ") + " match sort limit# cursor", answer: s.urls},
		{method: "GET", path: "/api/v1/url", role: Reader, crawler: true, query: "url", answer: s.url},
		{method: "GET", path: "/api/v1/document", role: Reader, crawler: true, query: "url", answer: s.document},
		{method: "GET", path: "/api/v1/robots", role: Reader, crawler: true, query: "url agent original", answer: s.robots},
		{method: "GET", path: "/api/v1/moves", role: Reader, crawler: true, answer: s.moves},
		{method: "GET", path: "/api/v1/traps", role: Reader, crawler: true, query: "host", answer: s.traps},
		{method: "GET", path: "/api/v1/duplicates", role: Reader, crawler: true, answer: s.duplicates},
		{method: "GET", path: "/api/v1/verify", role: Reader, crawler: true, heavy: true, answer: s.verify},
		{method: "GET", path: "/api/v1/schema", role: Reader, query: "part namespace", answer: s.schema},
		{method: "GET", path: "/api/v1/host", role: Reader, crawler: true, query: "host", answer: s.host},
		{method: "GET", path: "/api/v1/hosts/all", role: Reader, crawler: true, heavy: true, query: "host sort from limit#", answer: s.allHosts},
		{method: "GET", path: "/api/v1/hosts/ill", role: Reader, crawler: true, answer: s.ill},
		{method: "GET", path: "/api/v1/explain", role: Reader, crawler: true, query: "url", answer: s.explainGet},
		{method: "POST", path: "/api/v1/explain", role: Reader, crawler: true, body: largeBody, heavy: true, answer: posted(s.explain)},
		{method: "POST", path: "/api/v1/test", role: Reader, crawler: true, body: largeBody, heavy: true, answer: posted(s.test)},
		{method: "POST", path: "/api/v1/check", role: Operator, body: largeBody, heavy: true, answer: posted(s.check)},
		{method: "POST", path: "/api/v1/preview", role: Operator, crawler: true, body: largeBody, heavy: true, answer: posted(s.preview)},
		{method: "POST", path: "/api/v1/fetch", role: Operator, crawler: true, heavy: true, answer: posted(s.fetch)},
		{method: "POST", path: "/api/v1/push/verify", role: Operator, crawler: true, heavy: true, answer: s.pushVerify},
		{method: "GET", path: "/api/v1/history", role: Reader, crawler: true, query: "span since", answer: s.past},
		{method: "GET", path: "/api/v1/events", role: Reader, crawler: true, query: "kind limit# cursor", answer: s.events},
		{method: "GET", path: "/api/v1/links", role: Reader, crawler: true, heavy: true, query: "to limit#", answer: s.links},
	}
	for _, kind := range report.Kinds() {
		query := "format host since top pages sort"
		if report.Streamed(kind) {
			query += " limit from"
		}
		answer := func(c *call) (any, error) { return s.report(c, kind) }
		all = append(all, route{method: "GET", path: "/api/v1/report/" + kind, role: Reader, crawler: true, heavy: true, query: query, answer: answer})
	}
	return all
}

// actRoutes change a Crawler, its outbox or the configuration, or return them completely. The configuration's text is
// for the operator only.
func (s *Server) actRoutes() []route {
	return []route{
		{method: "POST", path: "/api/v1/add", role: Operator, crawler: true, change: "add", answer: posted(s.add)},
		{method: "POST", path: "/api/v1/refresh", role: Operator, crawler: true, body: largeBody, change: "refresh", answer: selecting(s.refresh)},
		{method: "POST", path: "/api/v1/remove", role: Operator, crawler: true, body: largeBody, change: "remove", query: "yes?", answer: selecting(s.remove)},
		{method: "POST", path: "/api/v1/selected", role: Reader, crawler: true, body: largeBody, heavy: true, answer: selecting(s.selected)},
		{method: "POST", path: "/api/v1/pause", role: Operator, crawler: true, change: "pause", answer: s.pause},
		{method: "POST", path: "/api/v1/resume", role: Operator, crawler: true, change: "resume", answer: s.resume},
		{method: "GET", path: "/api/v1/backup", role: Operator, crawler: true, change: "backup", heavy: true, answer: s.backup},
		{method: "GET", path: "/api/v1/deletions", role: Reader, crawler: true, query: deletionFilter + " limit# cursor", answer: s.deletions},
		{method: "GET", path: "/api/v1/deletions/counts", role: Reader, crawler: true, query: deletionFilter + " by limit#", answer: s.deletionCounts},
		{method: "POST", path: "/api/v1/deletions/release", role: Operator, crawler: true, body: largeBody, query: "yes?", change: "release deletions", answer: s.release},
		{method: "POST", path: "/api/v1/deletions/drop", role: Operator, crawler: true, body: largeBody, change: "drop deletions", answer: s.drop},
		{method: "GET", path: "/api/v1/outbox", role: Reader, crawler: true, query: "state target source url limit# cursor", answer: s.orders},
		{method: "POST", path: "/api/v1/outbox/retry", role: Operator, crawler: true, body: largeBody, change: "retry dead letters", answer: decidesDead(Crawler.RetryDead)},
		{method: "POST", path: "/api/v1/outbox/drop", role: Operator, crawler: true, body: largeBody, change: "drop dead letters", answer: decidesDead(Crawler.DropDead)},
		{method: "GET", path: "/api/v1/config", role: Operator, answer: s.readConfig},
		{method: "PUT", path: "/api/v1/config", role: Operator, change: "write configuration", query: "yes? now?", body: largeBody, heavy: true, answer: s.writeConfig},
		{method: "POST", path: "/api/v1/reload", role: Operator, change: "reload", query: "yes? now?", answer: s.reload},
		{method: "GET", path: "/api/v1/config/versions", role: Operator, answer: s.configVersions},
		{method: "GET", path: "/api/v1/config/version", role: Operator, query: "name", answer: s.configVersion},
		{method: "GET", path: "/api/v1/config/cases", role: Operator, answer: s.readCases},
		{method: "PUT", path: "/api/v1/config/cases", role: Operator, change: "write test cases", body: maxCasesBytes, answer: s.writeCases},
		{method: "GET", path: "/api/v1/console", role: Operator, answer: s.consoleAddress},
	}
}
