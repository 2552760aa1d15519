package kerberos

import (
	"fmt"
	"net"
	"strings"
)

// Realms holds the KDCs of realms, and the realms of hosts.
type Realms struct {
	// Default is the realm of a principal without one.
	Default string
	// KDCs are the servers of each realm, host:port, in the order in which they are tried.
	KDCs map[string][]string
	// Domains maps hosts, and domains (".example.com" for the hosts below), to realms.
	Domains map[string]string
}

// of returns the realm of a host; empty if unknown.
func (r *Realms) of(host string) string {
	host = strings.ToLower(host)
	if realm := r.Domains[host]; realm != "" {
		return realm
	}
	for i, c := range host {
		if c == '.' {
			if realm := r.Domains[host[i:]]; realm != "" {
				return realm
			}
		}
	}
	return ""
}

// Address returns a KDC's address with its port, by default 88.
func Address(written string) (string, error) {
	host, port, err := net.SplitHostPort(written)
	if err != nil {
		host, port = strings.Trim(written, "[]"), "88"
	}
	if host == "" || strings.ContainsAny(host, "/@ \t") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
		return "", fmt.Errorf("%q is not the address of a KDC: write a host, with :port if it is not 88, such as kdc.example.com", written)
	}
	return net.JoinHostPort(host, port), nil
}

// conf parses krb5.conf line by line.
type conf struct {
	realms  Realms
	section string
	realm   string // the one whose section is open, in [realms]
	depth   int    // of open braces
	final   map[string]bool
}

// ParseConf parses the realms, KDCs and domains of a krb5.conf; it skips everything else, including other files that it
// includes. The error begins with the line number.
func ParseConf(text []byte) (Realms, error) {
	c := conf{realms: Realms{KDCs: map[string][]string{}, Domains: map[string]string{}}, final: map[string]bool{}}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if err := c.line(line); err != nil {
			return Realms{}, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if c.depth > 0 {
		return Realms{}, fmt.Errorf("line %d: a { is never closed: write the missing }", number)
	}
	return c.realms, nil
}

func (c *conf) line(line string) error {
	name, value, isRelation := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case line[0] == '[':
		section, _, closed := strings.Cut(line[1:], "]")
		if !closed || c.depth > 0 {
			return fmt.Errorf("%q is not a section: write one such as [realms], after the } of the section before", brief(line))
		}
		c.section, c.realm = strings.TrimSpace(section), ""
	case line[0] == '}':
		if c.depth == 0 {
			return fmt.Errorf("a } closes no {: remove it")
		}
		if c.depth--; c.depth == 0 {
			c.realm = ""
		}
	case isRelation && strings.HasPrefix(value, "{"):
		if c.depth == 0 && c.section == "realms" {
			c.realm = name
		}
		if !strings.HasSuffix(value, "}") {
			c.depth++
		}
	case isRelation:
		return c.relation(name, strings.Trim(value, `"`))
	case strings.HasPrefix(line, "include"), strings.HasPrefix(line, "module"):
	default:
		return fmt.Errorf("%q is not a line of a krb5.conf: write name = value", brief(line))
	}
	return nil
}

func (c *conf) relation(name, value string) error {
	switch {
	case c.section == "libdefaults" && name == "default_realm":
		c.realms.Default = value
	case c.section == "domain_realm" && c.depth == 0:
		c.realms.Domains[strings.ToLower(name)] = value
	case c.section == "realms" && c.depth == 1 && c.realm != "" && strings.TrimSuffix(name, "*") == "kdc":
		return c.kdc(value, strings.HasSuffix(name, "*"))
	}
	return nil
}

// kdc adds a KDC to its realm, unless an earlier one was marked as the last.
func (c *conf) kdc(value string, last bool) error {
	if strings.HasPrefix(value, "http") && strings.Contains(value, "://") {
		return fmt.Errorf("kdc = %s: a KDC behind an HTTP proxy is not supported: write its host and port", brief(value))
	}
	address, err := Address(strings.TrimPrefix(value, "tcp/"))
	if err != nil {
		return err
	}
	if !c.final[c.realm] {
		c.realms.KDCs[c.realm] = append(c.realms.KDCs[c.realm], address)
	}
	c.final[c.realm] = c.final[c.realm] || last
	return nil
}

// brief shortens text of a file for an error.
func brief(s string) string {
	const limit = 60
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
