package kerberos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// maxReferrals is the most realms between the client and a service.
const maxReferrals = 6

// options returns the options of requests in the form of the library.
func options(ciphers []int32, canonicalize bool) *config.Config {
	return &config.Config{LibDefaults: config.LibDefaults{
		Canonicalize: canonicalize, Clockskew: 5 * time.Minute, NoAddresses: true, TicketLifetime: 24 * time.Hour,
		DefaultTktEnctypeIDs: ciphers, DefaultTGSEnctypeIDs: ciphers,
		KDCDefaultOptions: asn1.BitString{Bytes: []byte{0, 0, 0, 0x10}, BitLength: 32}, // renewable-ok
	}}
}

// grant gets a ticket-granting ticket with the client's key (RFC 4120 section 3.1).
func (c *Client) grant(ctx context.Context) (*ticket, error) {
	own := ciphers()
	if c.settings.Keytab != nil {
		own = c.settings.Keytab.ciphersOf(c.name, c.realm)
	}
	with := options(own, false)
	req, err := messages.NewASReqForTGT(c.realm, with, c.name)
	if err != nil {
		return nil, err
	}
	answer, err := c.send(ctx, c.realm, req.Marshal)
	if refused, ok := errors.AsType[messages.KRBError](err); ok && refused.ErrorCode == errorcode.KDC_ERR_PREAUTH_REQUIRED {
		if err = c.preAuthenticate(&req, &refused, own); err != nil {
			return nil, err
		}
		answer, err = c.send(ctx, c.realm, req.Marshal)
	}
	if err != nil {
		return nil, err
	}
	var rep messages.ASRep
	err = decode(func() error {
		if err := rep.Unmarshal(answer); err != nil {
			return err
		}
		if _, err := keyInfo(rep.PAData, func(int32) bool { return true }); err != nil {
			return err
		}
		_, err := rep.Verify(with, c.credentials(), req)
		return err
	})
	if err != nil {
		return nil, &unusable{err}
	}
	return newTicket(rep.Ticket, rep.DecryptedEncPart), nil
}

func newTicket(t messages.Ticket, e messages.EncKDCRepPart) *ticket {
	start := e.StartTime
	if start.IsZero() {
		start = e.AuthTime
	}
	return &ticket{ticket: t, key: e.Key, start: start, end: e.EndTime}
}

// unusable is the error for a KDC's response that proves nothing or cannot be decoded.
type unusable struct{ err error }

func (u *unusable) Error() string { return u.err.Error() }

func (c *Client) send(ctx context.Context, realm string, marshal func() ([]byte, error)) ([]byte, error) {
	message, err := marshal()
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, realm, message)
}

// preAuthenticate adds the time, encrypted with the client's key (RFC 4120 section 5.2.7.2).
func (c *Client) preAuthenticate(req *messages.ASReq, refused *messages.KRBError, own []int32) error {
	var hints types.PADataSequence
	if err := decode(func() error { return hints.Unmarshal(refused.EData) }); err != nil {
		return &unusable{err}
	}
	cipher, err := keyInfo(hints, func(cipher int32) bool { return slices.Contains(own, cipher) })
	if err != nil {
		return &unusable{err}
	}
	if cipher == 0 {
		return errNoCipher
	}
	var key types.EncryptionKey
	version := 0
	if k := c.settings.Keytab; k != nil {
		key, version, err = k.keys.GetEncryptionKey(c.name, c.realm, 0, cipher)
	} else {
		err = decode(func() error {
			key, _, err = crypto.GetKeyFromPassword(c.settings.Password.Reveal(), c.name, c.realm, cipher, hints)
			return err
		})
	}
	if err != nil {
		return errNoCipher
	}
	stamp, err := types.GetPAEncTSEncAsnMarshalled()
	if err != nil {
		return err
	}
	sealed, err := crypto.GetEncryptedData(stamp, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, version)
	if err != nil {
		return err
	}
	req.PAData, err = proofOf(patype.PA_ENC_TIMESTAMP, sealed.Marshal)
	return err
}

// proofOf returns the authentication data of a request to a KDC.
func proofOf(kind int32, marshal func() ([]byte, error)) (types.PADataSequence, error) {
	value, err := marshal()
	return types.PADataSequence{{PADataType: kind, PADataValue: value}}, err
}

// errNoCipher reports that client and KDC have no cipher in common.
var errNoCipher = errors.New("no key has an encryption type that the KDC offers")

// serviceTicket gets a ticket for a service, through other realms if the KDCs refer to them.
func (c *Client) serviceTicket(ctx context.Context, granting *ticket, spn string) (*ticket, error) {
	written, target, _ := strings.Cut(spn, "@")
	name := types.NewPrincipalName(nametype.KRB_NT_SRV_INST, written)
	if _, host, ok := strings.Cut(written, "/"); ok && target == "" {
		target = c.settings.Realms.of(host)
	}
	realm, by := c.realm, granting
	for range maxReferrals {
		asked := name
		if target != "" && target != realm {
			asked = grantingService(target)
		}
		t, err := c.exchange(ctx, realm, by, asked, false)
		if err != nil {
			return nil, err
		}
		got := t.ticket.SName.NameString
		if len(got) != 2 || got[0] != "krbtgt" {
			return t, nil
		}
		realm, by = got[1], t
	}
	return nil, fmt.Errorf("the KDCs refer from realm to realm endlessly")
}

// exchange gets a ticket with another one (RFC 4120 section 3.3).
func (c *Client) exchange(ctx context.Context, realm string, by *ticket, name types.PrincipalName, renew bool) (*ticket, error) {
	with := options(ciphers(), !renew)
	req, err := messages.NewTGSReq(c.name, realm, with, by.ticket, by.key, name, renew)
	if err == nil && by.ticket.Realm != c.realm {
		err = c.authenticateFar(&req, by)
	}
	if err != nil {
		return nil, err
	}
	answer, err := c.send(ctx, realm, req.Marshal)
	if err != nil {
		return nil, &atService{name.PrincipalNameString(), realm, err}
	}
	var rep messages.TGSRep
	err = decode(func() error {
		if err := rep.Unmarshal(answer); err != nil {
			return err
		}
		if err := rep.DecryptEncPart(by.key); err != nil {
			return err
		}
		_, err := rep.Verify(with, req)
		return err
	})
	if err != nil {
		return nil, &atService{name.PrincipalNameString(), realm, &unusable{err}}
	}
	return newTicket(rep.Ticket, rep.DecryptedEncPart), nil
}

// authenticateFar signs a request to a realm that is not adjacent to the client's: the library confuses the realm
// before it with the client's.
func (c *Client) authenticateFar(req *messages.TGSReq, by *ticket) error {
	body, err := req.ReqBody.Marshal()
	if err != nil {
		return err
	}
	cipher, err := crypto.GetEtype(by.key.KeyType)
	if err != nil {
		return err
	}
	sum, err := cipher.GetChecksumHash(by.key.KeyValue, body, keyusage.TGS_REQ_PA_TGS_REQ_AP_REQ_AUTHENTICATOR_CHKSUM)
	if err != nil {
		return err
	}
	proof, err := types.NewAuthenticator(c.realm, c.name)
	if err != nil {
		return err
	}
	proof.Cksum = types.Checksum{CksumType: cipher.GetHashID(), Checksum: sum}
	sealed, err := messages.NewAPReq(by.ticket, by.key, proof)
	if err != nil {
		return err
	}
	req.PAData, err = proofOf(patype.PA_TGS_REQ, sealed.Marshal)
	return err
}
