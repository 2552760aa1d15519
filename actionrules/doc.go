// Package actionrules decides by the rules of CrawlConfig.xml what the crawler does with
// a URL: accepted, indexed, followed, under which source, with which metas and
// how urgently (Exalead CloudView, "Crawl Rules" and "Crawl Rule Actions").
package actionrules
