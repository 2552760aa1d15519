package layers

// Module is the path that all packages of the project begin with.
const Module = "github.com/sextant-crawler/sextant"

// Rules are the rules for one source tree. Packages are named by their folder, relative to the module, with slashes.
type Rules struct {
	// Levels are the packages of production code, lowest first. A package imports
	// packages of lower levels only, so siblings never import each other.
	Levels [][]string
	// TestOnly are packages that only test files and other TestOnly packages
	// import. They may import any package. A name that ends in "/" is a whole folder.
	TestOnly []string
	// Borders keep packages of other modules, and some of the standard library's, where they belong.
	Borders []Border
}

// Border says where packages from outside the project may be named.
type Border struct {
	Import string // an import path; packages below it count too
	// Allowed are the project's packages that may import it; one that ends in "/" is a whole folder.
	Allowed []string
	// File, if set, is the only file name (without folder) that may import it, in any package; its test file may too.
	File string
	// Tests says that every test file and every TestOnly package may import it.
	Tests bool
}

// ProjectRules are the rules of this project; docs/project/architecture.md gives the reasons.
func ProjectRules() Rules {
	return Rules{
		Levels: [][]string{
			{"actionrules/match", "config/words", "docs", "fetcher/botwall", "fetcher/fault", "fetcher/extract/language", "fetcher/extract/markup", "fetcher/http1", "fetcher/processes", "scheduler/histogram", "scheduler/sketch", "fetcher/permit", "config/secret", "internal/atomicfile", "internal/clock", "internal/trace", "weburl"},
			{"actionrules", "crawl/copies/near", "fetcher", "fetcher/kerberos", "fetcher/render", "push", "scheduler/store/fingerprints"},
			{"scheduler"},
			{"scheduler/store/kv"},
			{"push/wire", "scheduler/store/badgerkv/badgerfiles", "scheduler/store/badgerkv/bodyfiles", "scheduler/store/record", "scheduler/deletion"},
			{
				"actionrules/crawlspace", "crawl/crawllog", "crawl/events", "crawl/meter", "fetcher/auth", "fetcher/extract", "fetcher/extract/feeds", "fetcher/robots",
				"push/elastic", "push/file", "push/funnelback", "push/papi", "push/solr", "push/webhook",
				"scheduler/store/backupfile", "scheduler/store/badgerkv", "scheduler/store/pgkv", "scheduler/store/segments",
			},
			{"crawl/copies", "fetcher/extract/office", "fetcher/extract/pdf", "fetcher/extract/tree", "scheduler/store"},
			{"crawl/policy", "fetcher/extract/documents", "internal/report"},
			{"crawl/review", "crawl/visit", "internal/compare"},
			{"crawl", "internal/demo/indexer", "internal/notices"},
			{"config"},
			{"internal/admin"}, // it shows crawls
			{"internal/admin/mcp", "internal/admin/openid"},
			{"internal/admin/console"},
			{"cmd/sextant/manual", "config/format", "config/importer", "internal/demo/site", "internal/service"},
			{"cmd/sextant", "packaging", "packaging/sbom"},
		},
		TestOnly: []string{"internal/layers", "internal/testing/", "push/pushtest", "scheduler/store/memkv", "scheduler/storetest"},
		Borders: []Border{
			{Import: "github.com/dgraph-io/badger", Allowed: []string{"scheduler/store/badgerkv", "scheduler/store/badgerkv/badgerfiles"}, Tests: true},
			{Import: "github.com/dgraph-io/ristretto", Allowed: []string{"scheduler/store/badgerkv"}},
			{Import: "github.com/jackc/pgx", Allowed: []string{"scheduler/store/pgkv"}, Tests: true},
			{Import: "github.com/hanwen/go-fuse", Allowed: []string{"internal/testing/powercut"}},
			{Import: "github.com/abadojack/whatlanggo", Allowed: []string{"fetcher/extract/language"}},
			{Import: "github.com/andybalholm/cascadia", Allowed: []string{"fetcher/extract/tree"}},
			{Import: "codeberg.org/readeck/go-readability", Allowed: []string{"fetcher/extract/tree"}},
			{Import: "github.com/JohannesKaufmann", Allowed: []string{"fetcher/extract/tree"}},
			{Import: "github.com/minio/highwayhash", Allowed: []string{"crawl/visit"}},
			{Import: "github.com/antchfx/xpath", Allowed: []string{"fetcher/extract/tree"}},
			{Import: "github.com/jcmturner", Allowed: []string{"fetcher/kerberos"}},
			{Import: "github.com/klippa-app/go-pdfium", Allowed: []string{"fetcher/extract/pdf"}},
			{Import: "github.com/tetratelabs/wazero", Allowed: []string{"fetcher/extract/pdf"}},
			{Import: "github.com/prometheus", File: "metrics.go"},
			{Import: "github.com/modelcontextprotocol", Allowed: []string{"internal/admin/mcp"}, Tests: true},
			{Import: "github.com/coreos/go-oidc", Allowed: []string{"internal/admin/openid"}},
			{Import: "go.opentelemetry.io", Allowed: []string{"internal/trace"}, Tests: true},
			{Import: "github.com/urfave/cli", Allowed: []string{"cmd/"}},
			{Import: "github.com/CycloneDX", Allowed: []string{"packaging/sbom"}},
			{Import: "github.com/blevesearch", Allowed: []string{"internal/demo/indexer", "docs"}},
			{Import: "github.com/yuin/goldmark", Allowed: []string{"docs", "fetcher/extract/tree"}},
			{Import: "golang.org/x/tools", Allowed: []string{"internal/layers"}},
			{Import: "testing", Tests: true},
			{Import: "net/http/httptest", Tests: true},
			{Import: "net/http/pprof", Allowed: []string{"internal/service"}},
			{Import: "github.com/chromedp", Allowed: []string{"internal/testing/browsertest"}},
			{Import: "github.com/google/go-cmp", Tests: true},
			{Import: "github.com/getkin/kin-openapi", Tests: true},
			{Import: "github.com/rogpeppe/go-internal", Tests: true},
			{Import: "go.uber.org/goleak", Tests: true},
			{Import: "pgregory.net/rapid", Tests: true},
		},
	}
}
