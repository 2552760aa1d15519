package sicksite

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
	MovedToOne        // 301 of all to one place
	Maintenance       // 200, the same text everywhere
	MaintenanceEach   // 200, another text on each page
	SoftNotFound      // 200, the same words everywhere, in the site's own frame
	Empty             // 200
	Noindex           // in the page
	NoindexHeader     // in X-Robots-Tag
	OneCanonical      // all pages name the home page as theirs
	WrongType         // all are of SickType
	Disallowed        // by robots.txt

	EverySecondPage   // 404
	EverySecondAnswer // 404: one of two servers behind a balancer is ill
	FolderFails       // a tenth of the pages answers 500
	HomeElsewhere     // the home page answers 302 to another host
	illnesses
)

// SickType is the MIME type of all pages under WrongType.
const SickType = "application/x-sick"

// trait is what a test has to know of an illness.
type trait struct {
	name string
	// believed: nothing tells it from pages that were taken down. copies: a crawler that does not compare documents with each other
	// takes ill pages for documents. tls, dns: only a secure site, or one with a name, can
	// fall ill so. overwrites: ill pages are documents, which no crawler can tell.
	believed, copies, tls, dns, overwrites bool
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
		SessionExpired:     {name: "session-expired", copies: true},
		LoginRedirect:      {name: "login-redirect"},
		LoginRedirectEach:  {name: "login-redirect-each"},
		MovedToOne:         {name: "moved-to-one"},
		Maintenance:        {name: "maintenance", copies: true},
		MaintenanceEach:    {name: "maintenance-each", overwrites: true},
		SoftNotFound:       {name: "soft-404", copies: true},
		Empty:              {name: "empty"},
		Noindex:            {name: "noindex"},
		NoindexHeader:      {name: "noindex-header"},
		OneCanonical:       {name: "one-canonical"},
		WrongType:          {name: "wrong-type"},
		Disallowed:         {name: "disallowed"},
		EverySecondPage:    {name: "every-second-page"},
		EverySecondAnswer:  {name: "every-second-answer"},
		FolderFails:        {name: "folder", believed: true},
		HomeElsewhere:      {name: "home-elsewhere"},
	}[i]
}

// Illnesses are all but Healthy.
func Illnesses() []Illness {
	var all []Illness
	for i := Healthy + 1; i < illnesses; i++ {
		all = append(all, i)
	}
	return all
}

// String is a short name, of letters, digits and hyphens.
func (i Illness) String() string {
	if i >= illnesses {
		return fmt.Sprintf("illness-%d", uint8(i))
	}
	return i.trait().name
}

// Believed reports whether nothing tells it from pages that were taken down: after an hour they
// may leave.
func (i Illness) Believed() bool { return i.trait().believed }

// Copies reports whether it shows only where documents are compared with each other.
func (i Illness) Copies() bool { return i.trait().copies }

// TLS reports whether only a secure site can have it.
func (i Illness) TLS() bool { return i.trait().tls }

// DNS reports whether only a site with a name can have it.
func (i Illness) DNS() bool { return i.trait().dns }

// Overwrites reports whether its pages are documents like any other.
func (i Illness) Overwrites() bool { return i.trait().overwrites }
