package fetcher

import (
	"net/http"
	"net/url"
	"strings"
)

// maxHeaderText bounds the text of a proxy's header in an error.
const maxHeaderText = 100

// proxyPage returns the fault of a response that an HTTP proxy gave in place of the host's, nil for others. It
// recognizes a proxy by an error in Proxy-Status (RFC 9209), by X-Squid-Error, and by Proxy-Authenticate, which
// concerns only the next hop (RFC 9110 section 11.7.1). Via and Proxy-Connection are not marks: proxies also send them
// with the hosts' pages.
func (f *Fetcher) proxyPage(u *url.URL, resp *http.Response) *proxyError {
	passed := f.absolute && u.Scheme == "http" // not in a tunnel to the host
	switch {
	case f.settings.Proxy == nil, !passed, resp.StatusCode < http.StatusBadRequest:
		return nil
	case resp.StatusCode == http.StatusProxyAuthRequired, resp.Header.Get("Proxy-Authenticate") != "":
		return &proxyError{status: http.StatusProxyAuthRequired}
	}
	reason := proxyStatus(resp.Header.Values("Proxy-Status"))
	if reason == "" {
		reason = resp.Header.Get("X-Squid-Error")
	}
	if reason == "" {
		return nil
	}
	return &proxyError{
		status: resp.StatusCode, reason: reason[:min(len(reason), maxHeaderText)],
	}
}

// proxyStatus returns the error, "" for none, of the last member of Proxy-Status, which is that of the nearest proxy.
// The values are a list of structured fields (RFC 9651).
func proxyStatus(values []string) string {
	reason, quoted := "", false
	all := strings.Join(values, ",") + ","
	for start, i := 0, 0; i < len(all); i++ {
		switch c := all[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted || c != ';' && c != ',':
		default:
			if word, ok := strings.CutPrefix(strings.Trim(all[start:i], " \t"), "error="); ok {
				reason = word
			}
			start = i + 1
			if c == ',' && start < len(all) {
				reason = ""
			}
		}
	}
	return reason
}
