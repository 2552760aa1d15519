package service

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/sextant-crawler/sextant/internal/admin"
	"github.com/sextant-crawler/sextant/internal/admin/console"
	"github.com/sextant-crawler/sextant/internal/admin/mcp"
	"github.com/sextant-crawler/sextant/internal/admin/openid"
)

// mountConsole adds the console, and MCP, to the door if it can be reached over TCP.
func (s *Service) mountConsole(server *admin.Server) error {
	if s.open == nil || s.access == nil {
		return nil
	}
	settings := console.Settings{Version: s.options.Version, Config: s.config.Path()}
	if s.options.OpenID.Issuer != "" {
		settings.Provider = openid.New(s.options.OpenID)
	}
	for _, r := range s.crawls {
		settings.Crawlers = append(settings.Crawlers, r.Name())
	}
	c, err := console.New(server, settings, s.log)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	server.Shows(s.ConsoleURL())
	s.access.SignedIn(c.SignedIn(s.access))
	for ticket, token := range s.tickets {
		c.Admit(ticket, token)
	}
	for _, pattern := range c.Patterns() {
		server.Mount(pattern, admin.Nobody, c)
	}
	server.Mount(mcp.Pattern, admin.Reader, mcp.Handler(server, s.options.Version))
	return nil
}

// SignInURL returns the console's URL with a ticket that signs a browser in once. Call it before Run; the link works
// while Run runs.
func (s *Service) SignInURL(token string) string {
	ticket := rand.Text() + rand.Text() // 260 bits
	if s.tickets == nil {
		s.tickets = map[string]string{}
	}
	s.tickets[ticket] = token
	return s.ConsoleURL() + "signin?ticket=" + ticket
}

// ConsoleURL returns the address of the console.
func (s *Service) ConsoleURL() string {
	at, scheme := s.open.Addr().String(), "http"
	if tcp, ok := s.open.Addr().(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		name, err := os.Hostname()
		if err != nil {
			name = "localhost"
		}
		at = net.JoinHostPort(name, strconv.Itoa(tcp.Port))
	}
	if s.access.TLS() != nil {
		scheme = "https"
	}
	return scheme + "://" + at + "/"
}
