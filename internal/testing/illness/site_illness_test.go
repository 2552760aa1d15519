package illness

import "fmt"

// Illness is what may be wrong with a site.
type Illness uint8

// The illnesses. Those of all pages hit robots.txt, too.
const (
	Healthy           Illness = iota
	Unauthorized              // 401
	Forbidden                 // 403
	NotFound                  // 404
	Gone                      // 410
	TooMany                   // 429
	Failing                   // 500
	Unavailable               // 503
	UnavailableAWhile         // 503 with Retry-After

	ExpiredCertificate
	NoSuchName      // NXDOMAIN
	NameServerFails // SERVFAIL
	Refused
	Silent   // takes the request and never answers
	CutShort // bodies end too early

	LoginPage         // 200, with a password field
	SessionExpired    // 200, without one
	LoginRedirect     // 302 of all to one place
	LoginRedirectEach // 302 of each page to the log-in page, with a query of its own
	SignOn            // 302 of each page to another host, with a path of its own
	MovedToOne        // 301 of all to one place
	SorryEach         // 301 of each page to a page of its own, in the site's own frame
	Maintenance       // 200, the same text everywhere
	MaintenanceEach   // 200, another text on each page
	SoftNotFound      // 200, the same words everywhere, in the site's own frame
	Parked            // 200, the same long text everywhere
	RandomPages       // 200, any page of the site: a cache mixes up its keys
	Empty             // 200
	Noindex           // in the page
	NoindexHeader     // in X-Robots-Tag
	OneCanonical      // all pages name the home page as theirs
	WrongType         // all are of SickType
	Disallowed        // by robots.txt

	// Apologies: 200, one text for all with an identifier or the path in it.

	Challenge      // short, another identifier in each response
	ContinueToSee  // short, with the path
	SoftNotFoundAt // 75 words, with the path, also in the title
	Incident       // short, another number in each response
	BlockedByRule  // 150 words in the site's own frame, with path and identifier

	EverySecondPage   // 404
	EverySixthPage    // 404
	EverySecondAnswer // 404: one of two servers behind a balancer is ill
	FolderFails       // a tenth of the pages answers 500
	HomeElsewhere     // the home page answers 302 to another host
	illnesses
)

// SickType is the MIME type of all pages under WrongType.
const SickType = "application/x-sick"

// trait is what a test has to know of an illness.
type trait struct {
	name     string
	tls, dns bool // only a secure site, or one with a name, can have it
}

func (i Illness) trait() trait {
	return [illnesses]trait{
		Healthy:            {name: "healthy"},
		Unauthorized:       {name: "401"},
		Forbidden:          {name: "403"},
		NotFound:           {name: "404"},
		Gone:               {name: "410"},
		TooMany:            {name: "429"},
		Failing:            {name: "500"},
		Unavailable:        {name: "503"},
		UnavailableAWhile:  {name: "503-retry-after"},
		ExpiredCertificate: {name: "expired-certificate", tls: true},
		NoSuchName:         {name: "nxdomain", dns: true},
		NameServerFails:    {name: "servfail", dns: true},
		Refused:            {name: "refused"},
		Silent:             {name: "silent"},
		CutShort:           {name: "cut-short"},
		LoginPage:          {name: "login-page"},
		SessionExpired:     {name: "session-expired"},
		LoginRedirect:      {name: "login-redirect"},
		LoginRedirectEach:  {name: "login-redirect-each"},
		SignOn:             {name: "sign-on"},
		MovedToOne:         {name: "moved-to-one"},
		SorryEach:          {name: "sorry-each"},
		Maintenance:        {name: "maintenance"},
		MaintenanceEach:    {name: "maintenance-each"},
		SoftNotFound:       {name: "soft-404"},
		Parked:             {name: "parked"},
		RandomPages:        {name: "random-pages"},
		Empty:              {name: "empty"},
		Noindex:            {name: "noindex"},
		NoindexHeader:      {name: "noindex-header"},
		OneCanonical:       {name: "one-canonical"},
		WrongType:          {name: "wrong-type"},
		Disallowed:         {name: "disallowed"},
		Challenge:          {name: "challenge"},
		ContinueToSee:      {name: "continue-to-see"},
		SoftNotFoundAt:     {name: "soft-404-at"},
		Incident:           {name: "incident"},
		BlockedByRule:      {name: "blocked-by-rule"},
		EverySecondPage:    {name: "every-second-page"},
		EverySixthPage:     {name: "every-sixth-page"},
		EverySecondAnswer:  {name: "every-second-answer"},
		FolderFails:        {name: "folder"},
		HomeElsewhere:      {name: "home-elsewhere"},
	}[i]
}

// Illnesses returns all except Healthy.
func Illnesses() []Illness {
	var all []Illness
	for i := Healthy + 1; i < illnesses; i++ {
		all = append(all, i)
	}
	return all
}

// String returns a short name, of letters, digits and hyphens.
func (i Illness) String() string {
	if i >= illnesses {
		return fmt.Sprintf("illness-%d", uint8(i))
	}
	return i.trait().name
}

// TLS reports whether only a secure site can have it.
func (i Illness) TLS() bool { return i.trait().tls }

// DNS reports whether only a site with a name can have it.
func (i Illness) DNS() bool { return i.trait().dns }
