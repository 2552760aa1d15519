package kerberos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
)

// atService is a failed request for a service's ticket.
type atService struct {
	name, realm string
	err         error
}

func (e *atService) Error() string {
	return fmt.Sprintf("no ticket for %s from the realm %s: %v", e.name, e.realm, e.err)
}

// Unwrap returns the cause.
func (e *atService) Unwrap() error { return e.err }

// explain describes for an operator which step failed, and what to do.
func (c *Client) explain(err error) error {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, context.Canceled) {
		return err
	}
	if at, ok := errors.AsType[*atService](err); ok {
		return fmt.Errorf("no ticket for %s: %s", at.name, c.words(at.err, at))
	}
	return errors.New(c.words(err, nil))
}

func (c *Client) words(err error, at *atService) string {
	if refused, ok := errors.AsType[messages.KRBError](err); ok {
		return c.refusal(&refused, at)
	}
	_, isUnusable := errors.AsType[*unusable](err)
	switch {
	case isUnusable && at == nil && c.settings.Keytab != nil:
		return "the keys of the keytab do not decrypt the KDC's response: the account's password was changed after the keytab was created, or another server responds: create the keytab again"
	case isUnusable:
		return "cannot decrypt the KDC's response: the password is wrong, another server responds in its place, or the clocks differ"
	case errors.Is(err, errNoCipher):
		return fmt.Sprintf("%s: %s", c.user(), err)
	}
	return err.Error()
}

// user returns the client's name for errors.
func (c *Client) user() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return brief(c.principal())
}

// refusal describes an error from a KDC.
func (c *Client) refusal(e *messages.KRBError, at *atService) string {
	switch e.ErrorCode {
	case errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN:
		return fmt.Sprintf("the KDC does not know %s: check name and realm", c.user())
	case errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN:
		if at != nil {
			return fmt.Sprintf("the realm %s has no such service: register it (setspn -S, kadmin addprinc), or name another one in spn", brief(at.realm))
		}
	case errorcode.KDC_ERR_PREAUTH_FAILED, errorcode.KRB_AP_ERR_BAD_INTEGRITY:
		if at == nil && c.settings.Keytab != nil {
			return fmt.Sprintf("the KDC rejects the keytab's key of %s: its password was changed since; create the keytab again", c.user())
		} else if at == nil {
			return fmt.Sprintf("the KDC rejects the password of %s", c.user())
		}
	case errorcode.KRB_AP_ERR_SKEW:
		apart := time.Since(e.STime).Round(time.Second)
		return fmt.Sprintf("the clocks of this machine and of the KDC differ by %s, more than 5m: synchronize both with NTP", apart.Abs())
	case errorcode.KDC_ERR_KEY_EXPIRED:
		return fmt.Sprintf("the password of %s has expired: set a new one", c.user())
	case errorcode.KDC_ERR_CLIENT_REVOKED:
		return fmt.Sprintf("the account %s is locked or disabled", c.user())
	case errorcode.KDC_ERR_ETYPE_NOSUPP:
		return fmt.Sprintf("the KDC supports no encryption type for which %s has keys: give the account AES keys", c.user())
	case errorcode.KDC_ERR_WRONG_REALM:
		return fmt.Sprintf("the KDC does not belong to the realm of %s: check the realm", c.user())
	}
	words := "the KDC refuses: " + errorcode.Lookup(e.ErrorCode)
	if e.EText != "" {
		words += " (" + printable(e.EText) + ")"
	}
	return words
}

// printable returns a server's text in a form for one line of a log.
func printable(s string) string {
	out := []byte(brief(s))
	for i, b := range out {
		if b < ' ' || b > '~' {
			out[i] = '?'
		}
	}
	return string(out)
}
