package illness

import (
	"fmt"
	"strings"
)

// The frame of all pages: some 60 words that say nothing of a page.
const (
	menu   = `<a href="/">Home</a> | Products and services | Customers and partners | News and events | Careers | Support | About our company | Contact | Search`
	footer = `Our company makes tools for people with many documents. Offices in Lyon, Bern and Graz, open on weekdays from nine to five.
Imprint, terms of use, privacy notice and cookies. All rights are reserved; prices are without tax.`
	newMenu   = `<a href="/">Start</a> | What we do | For whom | Learn | Meet us | Work here | Ask for help`
	newFooter = `You are in good hands: call us on any day of the year, or leave your number and we call you back within the hour.
Legal matters, data protection, accessibility, site map. Photographs by our own staff.`
)

// frame returns a page of the site; redesigned is whether it has the new one.
func frame(redesigned bool, title, head, content string) string {
	top, bottom := menu, footer
	if redesigned {
		top, bottom = newMenu, newFooter
	}
	return fmt.Sprintf("<!DOCTYPE html>\n<html lang=\"en\"><head><title>%s</title>%s</head>\n<body><header>%s</header>\n<main><h1>%s</h1>\n%s</main>\n<footer>%s</footer></body></html>\n",
		title, head, top, title, content, bottom)
}

// notice returns a page that says but one thing, without the site's frame.
func notice(title, text string) string {
	return fmt.Sprintf("<!DOCTYPE html>\n<html lang=\"en\"><head><title>%s</title></head><body><h1>%s</h1><p>%s</p></body></html>\n", title, title, text)
}

func framedNotice(title, text string) string { return frame(false, title, "", "<p>"+text+"</p>\n") }

// apology returns the text of an illness that answers 200 with an identifier in it, for the
// nth request; ok is whether the illness is one.
func apology(ill Illness, path string, nth int) (body string, ok bool) {
	id := uint64(nth)*0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019
	switch ill {
	case Challenge:
		return notice("Just a moment...", fmt.Sprintf("Checking if the site connection is secure. Ray ID: %016x", id)), true
	case ContinueToSee:
		return notice("Session expired", fmt.Sprintf("Your session has expired. Please continue with single sign-on to see %s", path)), true
	case SoftNotFoundAt:
		return notice("Page not found: "+path, "We are sorry: the address "+path+" does not lead anywhere. "+notFoundText), true
	case Incident:
		return notice("Maintenance", fmt.Sprintf("We are working on our systems and will be back soon. Your incident number is INC%08d.", id%100_000_000)), true
	case BlockedByRule:
		return framedNotice("Access denied", fmt.Sprintf("Your request for %s was blocked. %s Request identifier: %016x.", path, blockedText, id)), true
	case MaintenanceEach:
		return notice("Maintenance", fmt.Sprintf("We are working on %s. Ask for ticket %s.", path, words(len(path)+sum(path), 30))), true
	}
	return "", false
}

const (
	notFoundText = `Perhaps you have followed an old link, or there is a mistake in what you typed. Pages are moved or taken off our site
now and then, when what they say is no longer true. Try the search at the top of the page, begin at the home page, or look at our list
of all topics from A to Z. If you think that something should be here, please write to our web team and tell them where you have found the link.`
	blockedText = `This web site uses a security service to protect itself from attacks that come over the network. The action that you
just performed has triggered the protection. Several actions could do so, among them sending a certain word or phrase, a command for a
database, malformed data, or asking for very many pages within a short time. You can write to the owner of the site to let them know that
you were blocked. Please tell them what you were doing when this page came up, together with the identifier that stands below. If you are
in a network of a company or a school, ask its administrator to look for computers that are infected or badly configured. Completing the
check in your browser proves that you are a person and gives you access to the site for a limited time.`
	parkedText = `This domain name may be for sale. Would you like to buy it? Our brokers help you to get the best price, and transfer the
name to you within two days. Related searches: insurance, flights, cheap hotels, used cars, credit cards, online degrees, hosting, lawyers.
The owner of the name keeps it with us and has no relation to the advertisers.`
)

// words are n words, mostly made up, that no other seed has in this order: two texts share
// hardly more than some pairs of small words.
func words(seed, n int) string {
	syllables := [...]string{
		"ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su", "ta", "ve", "wi", "xo", "zu",
		"bra", "cle", "dri", "flo", "gru", "pla", "sne", "tri", "slo", "spu", "an", "er", "il", "on", "us", "ar", "es", "in", "or", "um",
	}
	small := [...]string{"the", "of", "and", "in", "a", "to", "is", "for", "with", "on"}
	var b strings.Builder
	state := uint64(seed)*0x9E3779B97F4A7C15 + 0x1234567
	next := func(of int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int((state >> 33) % uint64(of))
	}
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		if i%3 == 2 {
			b.WriteString(small[next(len(small))])
			continue
		}
		for range 3 {
			b.WriteString(syllables[next(len(syllables))])
		}
	}
	return b.String()
}

// Title returns a title that no other seed has.
func Title(seed int) string { return fmt.Sprintf("Page %d about %s", seed, words(seed, 4)) }

// Text returns a text of 80 to 200 words that no other seed has, in sentences.
func Text(seed int) string {
	var b strings.Builder
	length := 80 + int((uint64(seed)*0x9E3779B97F4A7C15>>33)%121)
	for i, word := range strings.Fields(words(seed, length)) {
		if i > 0 && i%13 == 0 {
			b.WriteByte('.')
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	b.WriteByte('.')
	return b.String()
}

func sum(text string) (n int) {
	for _, c := range text {
		n = n*31 + int(c)
	}
	return n
}
