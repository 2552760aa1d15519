// What the page of the rules shows of the API's answers. All of it is text: nothing that
// comes from a page or a URL becomes markup.
"use strict";
(() => {
  // el makes an element; children are elements or text.
  const el = (name, attributes, ...children) => {
    const e = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  };
  // shown is text from outside: cut, without characters that hide or turn what is around.
  const shown = (s, n = 300) => {
    const all = [...String(s)], cut = all.slice(0, n).map((c) => /[\p{Cc}\u200B\u202A-\u202E\u2066-\u2069\uFEFF]/u.test(c) ? "\uFFFD" : c).join("");
    return el("bdi", {}, cut + (all.length > n ? "…" : ""));
  };
  // urlLink leads to the page that explains a URL.
  const urlLink = (raw) => {
    const query = new URLSearchParams({ url: raw });
    const crawler = document.getElementById("crawler")?.value;
    if (crawler) query.set("crawler", crawler);
    return el("a", { class: "url", href: "/url?" + query }, shown(raw));
  };
  const jump = (line, toLine) => {
    const button = el("button", { type: "button", class: "jump" }, `line ${line}`);
    button.addEventListener("click", () => toLine(line, 1));
    return button;
  };
  const digits = (n) => n.toLocaleString("en");
  const plural = (n, one, many = one + "s") => `${digits(n)} ${n === 1 ? one : many}`;

  // diffView shows the lines that differ, each with its sign and number, and some around.
  const around = 3;
  const diffView = (before, after) => {
    const parts = SextantEditor.diff(before, after);
    if (parts.every((p) => p.kind === "same")) return el("p", {}, "The texts are the same.");
    const box = el("div", { class: "diff mono", tabindex: "0", role: "region", "aria-label": "Differences" });
    const line = (kind, sign, number, text) => box.append(el("div", { class: kind }, `${String(number).padStart(5)} ${sign} `, text));
    const marked = (kind, sign, part) => part.lines.forEach((text, i) => line(kind, sign, part.from + i, text));
    parts.forEach((part, n) => {
      if (part.kind === "old") return marked("old", "−", part);
      if (part.kind === "new") return marked("new", "+", part);
      const head = n === 0 ? 0 : around, tail = n === parts.length - 1 ? 0 : around, left = part.lines.length - head - tail;
      part.lines.forEach((text, i) => {
        if (left <= 1 || i < head || i >= part.lines.length - tail) line("same", " ", part.from + i, text);
        else if (i === head) box.append(el("div", { class: "gap" }, plural(left, "line"), " alike"));
      });
    });
    return box;
  };

  // answers makes views of answers; toLine goes to a line of the text, ours says whether a
  // file is that text.
  const answers = ({ toLine, ours }) => {
    const place = (file, line) => !line ? [] : ours(file) ? [" ", jump(line, toLine)] : [` ${file}:${line}`];

    // by words what excluded a URL.
    const by = (why) => {
      if (why.gate === "default") return [why.rule || "no rule accepts it"];
      return [why.gate === "rules" ? why.rule || "a rule" : `${why.gate}${why.rule ? ": " : ""}`, ...(why.gate === "rules" || !why.rule ? [] : [shown(why.rule)]), ...place(why.file, why.line)];
    };
    // causes are rules and gates with how much each does; example is shown where it is given.
    const causes = (list, one, many) => {
      const box = el("ul", { class: "causes" });
      for (const c of list) box.append(el("li", {}, plural(c.count, one, many), c.gate === "default" ? ": no rule has a say" : " by ", ...(c.gate === "default" ? [] : by(c)), ...(many ? [": ", urlLink(c.example), ...(c.count > 1 ? [" …"] : [])] : [])));
      return box;
    };
    const tag = (kind, text) => el("span", { class: "tag " + kind }, text);
    const facts = (pairs) => {
      const list = el("dl", { class: "facts" });
      for (const [name, ...value] of pairs) list.append(el("dt", {}, name), el("dd", {}, ...value));
      return list;
    };
    const one = (x) => {
      if (x.error) return el("div", { class: "answer" }, el("p", { class: "mono" }, shown(x.url)), el("p", { class: "bad-text" }, shown(x.error, 1000)));
      const box = el("div", { class: "answer" }, el("p", {}, urlLink(x.url)));
      const crawled = x.decision === "crawl", rows = [];
      rows.push(["Decision", tag(crawled ? "good" : "bad", crawled ? "crawled" : "ignored"), " ", ...(crawled ? [tag(x.index ? "good" : "", x.index ? "indexed" : "not indexed"), " ", tag("", x.follow ? "links followed" : "links not followed")] : [])]);
      if (x.canonical !== x.url) rows.push(["As", shown(x.canonical)]);
      if (x.excluded_by) rows.push(["Excluded by", ...by(x.excluded_by)]);
      if (x.killed_by) rows.push(["Kept out of the index by", "the kill list", ...place(x.killed_by.file, x.killed_by.line)]);
      if (crawled) rows.push(["Fifo", `${x.fifo}${x.shift ? `, shifted by ${x.shift}` : ""}`]);
      if (crawled && x.source) rows.push(["Source", shown(x.source)]);
      const metas = Object.entries(x.metas || {});
      if (metas.length) rows.push(["Metas", ...metas.flatMap(([name, values], i) => [i ? "; " : "", shown(`${name} = ${values.join(", ")}`)])]);
      const matched = x.rules.filter((r) => r.matched);
      rows.push(["Rules that match", ...(matched.length ? matched.flatMap((r, i) => [i ? ", " : "", jump(r.line, toLine), ` changes ${r.changed.join(", ") || "nothing"}`]) : ["none"])]);
      if (x.stored) rows.push(["Stored", x.stored.why]);
      box.append(facts(rows));
      if (x.gates?.length) box.append(gates(x.gates));
      return box;
    };
    const gates = (all) => {
      const closed = all.filter((g) => !passed(g)).length;
      const list = el("ul", {});
      for (const g of all) list.append(el("li", {}, ...gate(g)));
      return el("details", {}, el("summary", {}, `Gates: ${all.length - closed} let it through, ${closed} ${closed === 1 ? "does" : "do"} not`), list);
    };
    const passed = (g) => g.allowed;
    const gate = (g) => [String(g.gate), ": ", passed(g) ? "through" : "refused", ...(g.rule ? [", ", shown(g.rule)] : []), ...place(g.file, g.line)];

    // explained, tested and previewed give words in short, which are read out, their kind,
    // and what is shown below them.
    const explained = (all) => {
      const n = all.filter((x) => x.decision === "crawl").length;
      return { words: `${plural(all.length, "URL")}: ${n} crawled, ${all.length - n} not`, kind: "", parts: all.map(one) };
    };
    const tested = (report) => ({
      words: report.failed ? `${report.failed} of ${plural(report.cases, "case")} failed` : `${plural(report.cases, "case")} passed`,
      kind: report.failed ? "bad" : "good",
      parts: report.results.filter((r) => !r.passed).map((r) => {
        const list = el("ul", {});
        for (const f of r.failures) list.append(el("li", {}, shown(f, 1000)));
        return el("div", { class: "answer" }, el("p", {}, tag("bad", "failed"), ` case ${r.line}: `, urlLink(r.url)), list);
      }),
    });

    const groups = [
      ["deleted", "document would be deleted", "documents would be deleted"],
      ["excluded", "URL newly excluded", "URLs newly excluded"],
      ["elsewhere", "URL newly outside of the crawl space", "URLs newly outside of the crawl space"],
      ["excluded_when_taken", "URL excluded when it is next taken", "URLs excluded when they are next visited"],
      ["readmitted", "URL crawled again", "URLs crawled again"],
      ["moved", "URL moved to another fifo", "URLs moved to another fifo"],
      ["reread", "page read again for links that were outside", "pages read again for links that were outside"],
      ["renewed", "document gets other metas or another source", "documents get other metas or another source"],
    ];
    const deletes = (p) => {
      const n = p.deleted.count, of = `of ${plural(p.indexed, "document")}`;
      if (!n) return { words: `Nothing ${of} would be deleted.`, kind: "good" };
      const held = p.held ? "That is more than an edit may delete without your word: the deletions would stay pending until you release them." : "That is few enough to be carried out at once.";
      return { words: `${digits(n)} ${of} would be deleted. ${held}`, kind: p.held ? "warn" : "bad" };
    };
    // reason is why, with the line of the text that it names.
    const reason = (words) => {
      const m = /^(.*?)(?:,| at) (\S+?):(\d+)(?::\d+)?$/s.exec(words);
      return m && ours(m[2]) ? [shown(m[1]), " ", jump(Number(m[3]), toLine)] : [shown(words)];
    };
    const previewed = (p) => {
      const parts = [el("p", {}, `${plural(p.judged, "stored URL")} judged.`)];
      if (p.rules === p.before) parts.push(el("p", { class: "muted" }, "Rules and crawl space are those by which the stored URLs were judged last."));
      for (const [name, singular, many] of groups) {
        const g = p[name];
        if (!g.count) continue;
        const list = el("ul", {});
        for (const s of g.samples) list.append(el("li", {}, urlLink(s.url), s.to ? ` from ${s.fifo} to ${s.to}` : "", ...(s.words ? [": ", ...reason(s.words)] : [])));
        const more = g.count - g.samples.length;
        if (more && g.samples.length) list.append(el("li", { class: "muted" }, `and ${digits(more)} more`));
        const samples = g.by.length && g.samples.length ? [el("details", {}, el("summary", {}, "Samples"), list)] : [list];
        parts.push(el("div", { class: "answer" }, el("h3", {}, plural(g.count, singular, many)), ...(g.by.length ? [causes(g.by, "URL", "URLs")] : []), ...samples));
      }
      if (p.cancelled) parts.push(el("p", {}, `${plural(p.cancelled, "pending deletion")} of earlier edits would be cancelled: these documents stay.`));
      return { ...deletes(p), parts };
    };
    return { explained, tested, previewed, causes };
  };

  // elementsOf reads the schemas for what lang-xml completes: names of elements, what may
  // stand in them, their attributes with values.
  const elementsOf = (schemas) => {
    const docs = schemas.map((s) => new DOMParser().parseFromString(s, "application/xml"));
    const all = (selector) => docs.flatMap((d) => [...d.querySelectorAll(selector)]);
    const groups = new Map(all("schema > group[name]").map((g) => [g.getAttribute("name"), g]));
    const types = new Map(all("schema > complexType[name]").map((t) => [t.getAttribute("name"), t]));
    const local = (ref) => ref.split(":").pop();
    const docOf = (e) => e.querySelector(":scope > annotation > documentation")?.textContent;
    const childrenOf = (type) => {
      const names = new Set();
      for (const ref of type?.querySelectorAll("group[ref]") || []) {
        for (const e of groups.get(local(ref.getAttribute("ref")))?.querySelectorAll("element[name]") || []) names.add(e.getAttribute("name"));
      }
      for (const e of type?.querySelectorAll("element[name]") || []) names.add(e.getAttribute("name"));
      return [...names];
    };
    const attributeOf = (a) => ({
      name: a.getAttribute("name"),
      values: local(a.getAttribute("type") || "") === "boolean" ? ["true", "false"] : [...new Set([...a.querySelectorAll("enumeration")].map((v) => v.getAttribute("value")))],
      completion: { info: docOf(a) },
    });
    const elements = new Map();
    for (const e of all("element[name]")) {
      const name = e.getAttribute("name"), type = e.querySelector(":scope > complexType") || types.get(local(e.getAttribute("type") || ""));
      const known = elements.get(name) || { name, children: [], attributes: [], top: name === "CrawlConfig", completion: { info: docOf(e) } };
      known.children = [...new Set([...known.children, ...childrenOf(type)])];
      for (const a of type?.querySelectorAll(":scope > attribute[name], :scope > simpleContent > extension > attribute[name]") || []) {
        if (!known.attributes.some((k) => k.name === a.getAttribute("name"))) known.attributes.push(attributeOf(a));
      }
      elements.set(name, known);
    }
    return [...elements.values()];
  };

  window.sextantRules = { el, diffView, plural, answers, elementsOf };
})();
