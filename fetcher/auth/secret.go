package auth

import "github.com/sextant-crawler/sextant/secret"

const redacted = "[redacted]"

// Secret is a password, a token or a form's value that prints nowhere.
type Secret = secret.Value

// NewSecret hides s.
func NewSecret(s string) Secret { return secret.New(s) }
