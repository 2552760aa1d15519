package config

// crawlElements are the targets of documents, and when and how fast pages are asked for.
func crawlElements() []Element {
	return append(pushElements(), []Element{
		{Name: "Throttle", Parents: []string{"Crawler"}, Attributes: []Attribute{
			ranged("throttleTimeMS", Milliseconds, "", 0, day*1000, "Pause for these URLs' hosts, in place of the Crawler's; sleepAfterLoadMS is added to it, too."),
			ranged("maxConnectionsPerHost", Int, "", 1, 1000, "Requests at once to such a host where no pause is kept, that is with aggressive or throttleTimeMS 0."),
			text("hours", HourRanges, "", "Hours of the day, in local time, in which requests are allowed, such as 22-6, or 22:30-06:00,12-13; the first is inside, the last outside."),
		}, Doc: "Politeness for the URLs for which its one condition holds; of several that match, the first counts."},
		{Name: "Refresh", Parents: []string{"Crawler"}, Attributes: []Attribute{
			required("schedule", String, "When, in local time: minute, hour, day of the month, month and day of the week, as in \"0 3 * * *\", or @hourly, @daily, @weekly, @monthly, @yearly, or @every and a time of a minute or more, such as @every 90m."),
			text("group", String, "", "Refreshes the sites of this group's roots only; all documents where absent."),
		}, Doc: "Fetches documents again at fixed times: sends them to the index source. A time that was missed is made up for once."},
	}...)
}
