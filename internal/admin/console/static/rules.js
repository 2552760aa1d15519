// The editor of the configuration: what the API says of the text as one types, and what
// it would do. Without this script the page shows the text.
"use strict";
(() => {
  const form = document.getElementById("rules");
  if (!form) return; // the text cannot be edited here
  const { api, say } = window.sextant;
  const { el, diffView, plural } = window.sextantRules;
  const byId = (id) => document.getElementById(id);
  const field = byId("text"), windows = form.elements.lines.value === "crlf", file = form.dataset.file;
  let etag = form.elements.etag.value;
  let saved = field.defaultValue; // what the file holds, with line ends of one character

  // The editor takes the place of the field; the field follows it.
  field.hidden = true;
  for (const id of ["editor", "keys", "buttons", "findings", "try", "test", "preview"]) byId(id).hidden = false;
  const editor = SextantEditor.create({
    host: byId("editor"), text: field.value, label: byId("text-label").textContent, describedBy: byId("keys").textContent,
    changed: () => changed(), save: () => save(),
  });
  const label = byId("text-label"), heading = el("span", { id: "text-label", class: "label" }, label.textContent);
  heading.addEventListener("click", () => editor.focus());
  label.replaceWith(heading);
  byId("find").addEventListener("click", () => editor.find());
  const toLine = (line, column) => {
    byId("editor").scrollIntoView({ block: "nearest" });
    editor.goTo(line, column);
  };

  // ours says that a finding or rule stands in the text, not in a file that it names.
  const ours = (name) => !name || !file || name.split(/[\\/]/).pop() === file;
  const answers = window.sextantRules.answers({ toLine, ours });

  // sent is the text with the line ends of the file.
  const sent = () => windows ? editor.text().replaceAll("\n", "\r\n") : editor.text();
  const unsaved = () => editor.text() !== saved;

  const state = byId("state"), saveButton = form.querySelector("[value=save]");
  const showState = () => {
    state.textContent = saveButton.disabled ? "The text has errors: it cannot be saved" : unsaved() ? "Changes that are not saved" : "Saved";
    state.className = saveButton.disabled ? "bad-text" : unsaved() ? "warn-text" : "muted";
  };
  // tell says how saving went at the top of the page, which is read out, and beside the
  // button, which is in sight.
  let told = false;
  const tell = (words, kind) => {
    say(words, kind);
    told = true;
    state.textContent = words;
    state.className = kind === "good" ? "good-text" : kind === "warn" ? "warn-text" : "bad-text";
  };
  const changed = () => {
    field.value = editor.text();
    if (told) say("");
    told = false;
    showState();
    for (const e of document.querySelectorAll(".stale[hidden]")) e.hidden = false;
    later(400);
  };
  addEventListener("beforeunload", (e) => { if (unsaved() || cases.value !== keptCases) e.preventDefault(); });

  // Words about what went wrong, for a person.
  const wrong = (problem) => {
    if (problem.status === 401) return "You are signed out. Sign in in another tab; the text stays here.";
    if (problem.status === undefined) return "The service does not answer. The text stays here.";
    return problem.message;
  };

  // Errors and warnings as one types. The newest text counts: an answer about an older
  // one is not shown.
  let timer, asking, judged, errors = 0; // judged is the text that has so many errors
  const later = (ms) => { clearTimeout(timer); timer = setTimeout(check, ms); };
  const check = async () => {
    asking?.abort();
    const mine = asking = new AbortController();
    const text = editor.text();
    try {
      const { data } = await api("POST", "/check", { body: { config: sent() }, signal: mine.signal });
      if (mine !== asking) return;
      judged = text;
      found(data.findings, data);
    } catch (problem) {
      if (mine !== asking || problem.name === "AbortError") return;
      saveButton.disabled = false;
      announce("Not checked: " + wrong(problem), "bad-text");
      if ([undefined, 429, 503].includes(problem.status)) later(3000);
    }
  };
  const words = byId("found"), list = byId("found-list");
  const announce = (text, kind) => {
    words.className = kind;
    if (words.textContent !== text) words.textContent = text; // a screen reader hears what is new
  };
  // broken says that the text has errors, as far as the service has said.
  const broken = () => judged === editor.text() && errors > 0;
  const found = (findings, check) => {
    editor.mark(findings.filter((f) => ours(f.file) && f.line > 0));
    const of = (severity) => findings.filter((f) => f.severity === severity).length;
    errors = of("error");
    saveButton.disabled = errors > 0;
    if (!told) showState();
    const warnings = of("warning"), notes = of("note");
    const said = [plural(errors, "error"), plural(warnings, "warning"), ...(notes ? [plural(notes, "note")] : [])].join(", ");
    if (errors) announce(`${said}. It cannot be saved.`, "bad-text");
    else announce(`${said}. ` + (check?.crawlers || []).map((c) => `Crawler ${c.name}: ${plural(c.roots, "root")}, ${plural(c.rules, "rule")}.`).join(" "), warnings ? "warn-text" : "good-text");
    const most = 500;
    list.replaceChildren(...findings.slice(0, most).map((f) => {
      const kind = { error: "bad", warning: "warn" }[f.severity] || "";
      const parts = [el("span", { class: "tag " + kind }, f.severity), " ", f.message];
      if (!ours(f.file)) return el("li", {}, `${f.file}:${f.line}: `, ...parts);
      if (!(f.line > 0)) return el("li", {}, ...parts);
      const button = el("button", { type: "button" }, `Line ${f.line}: `, ...parts);
      button.addEventListener("click", () => toLine(f.line, f.column));
      return el("li", {}, button);
    }));
    if (findings.length > most) list.append(el("li", { class: "muted" }, `and ${findings.length - most} more`));
  };

  // deletes counts the documents that the text deletes, of all Crawlers together, those
  // of them that would stay pending, and what deletes them; null where that takes too long, or
  // cannot be asked now.
  const crawlers = JSON.parse(form.dataset.crawlers || "null") || [];
  const deletes = async () => {
    const signal = AbortSignal.timeout(20_000), sum = { deleted: 0, held: 0, indexed: 0, by: [] };
    try {
      for (const crawler of crawlers) {
        const { data } = await api("POST", "/preview", { query: { crawler }, body: { config: sent(), samples: 0 }, signal });
        sum.deleted += data.deleted.count;
        sum.held += data.held;
        sum.indexed += data.indexed;
        sum.by.push(...data.deleted.by);
      }
      return sum;
    } catch (problem) {
      if (problem.findings) throw problem;
      return null;
    }
  };
  // failing tries the test cases by the text, and says how many fail; nothing where none
  // are there, or all pass.
  const failing = async () => {
    const cases = byId("test-cases").value;
    if (!cases.trim()) return "";
    try {
      const { data } = await api("POST", "/test", { body: { cases, config: sent() } });
      return data.failed ? `${data.failed} of ${plural(data.cases, "test case")} would fail.` : "";
    } catch (problem) {
      if (problem.findings) throw problem;
      return "The test cases could not be tried: " + wrong(problem);
    }
  };
  // ask shows what the text does before it is saved, and lets somebody choose.
  const ask = (sum, failed) => {
    const box = byId("word"), said = [];
    if (!sum) said.push("What it deletes could not be counted in time. If it is more than a few documents, their deletions stay pending unless you let them be deleted.");
    else if (sum.deleted) said.push(`${plural(sum.deleted, "document")} of ${sum.indexed} would be deleted.`);
    if (sum?.held) said.push("That is more than an edit may delete without your word. Pending deletions leave the documents in the index until you release them.");
    if (failed) said.push(failed);
    byId("word-count").textContent = said.join(" ");
    byId("word-by").replaceChildren(...(sum?.by.length ? [answers.causes(sum.by, "document")] : []));
    const close = () => { box.hidden = true; editor.focus(); };
    byId("word-delete").hidden = sum?.deleted === 0;
    byId("word-delete").textContent = sum ? `Save and delete ${plural(sum.deleted, "document")}` : "Save and delete them";
    byId("word-hold").hidden = sum !== null && !sum.held;
    byId("word-save").hidden = sum?.deleted !== 0;
    byId("word-delete").onclick = () => { close(); save("delete"); };
    byId("word-hold").onclick = byId("word-save").onclick = () => { close(); save("hold"); };
    byId("word-cancel").onclick = () => { close(); showState(); tell("Not saved.", "warn"); };
    box.hidden = false;
    tell("Not saved yet: see what it would do.", "warn");
    box.focus();
  };

  // Saving. A conflict overwrites nothing and shows both texts. Said is what was answered
  // about what it does: delete, hold, or nothing yet.
  let saving = false;
  const save = async (said) => {
    if (saving) return;
    saving = true;
    state.textContent = "Saving …";
    byId("word").hidden = true;
    try {
      if (judged !== editor.text()) await check();
      const text = editor.text();
      if (broken()) {
        tell("Not saved: the text has errors.", "bad");
        list.querySelector("button")?.click();
        return;
      }
      const yes = said === "delete";
      if (!said) {
        state.textContent = "Counting what it deletes …";
        const sum = await deletes(), failed = await failing();
        if (!sum || sum.deleted || failed) {
          ask(sum, failed);
          return;
        }
      }
      const { data } = await api("PUT", "/config", { query: yes ? { yes: "true" } : {}, body: sent(), headers: { "Content-Type": "application/xml", "If-Match": etag } });
      etag = form.elements.etag.value = data.etag;
      saved = text;
      byId("conflict").hidden = true;
      found(data.warnings);
      later(0);
      let kept = data.kept ? " The text before is kept in the version history." : "";
      if (said === "hold" && data.in_force) kept = " If it deletes many documents, their deletions stay pending: see the page Deletions." + kept;
      if (data.in_force) tell("Saved, and in force." + kept, "good");
      else tell(`Saved, but not in force: ${data.words}${kept}`, "warn");
      htmx.ajax("GET", location.pathname + location.search, { target: "#versions", select: "#versions", swap: "outerHTML" });
    } catch (problem) {
      if (problem.status === 412) await conflict();
      else if (problem.findings) {
        tell("Not saved: the text has errors.", "bad");
        found(problem.findings);
        toLine(problem.findings[0].line, problem.findings[0].column);
      } else tell("Not saved: " + wrong(problem), "bad");
    } finally {
      saving = false;
    }
  };
  const conflict = async () => {
    const box = byId("conflict");
    try {
      const { data, headers } = await api("GET", "/config", { headers: { Accept: "application/xml" } });
      const theirs = data.replaceAll("\r\n", "\n"), tag = headers.get("ETag");
      byId("conflict-diff").replaceChildren(diffView(theirs, editor.text()));
      const settle = () => {
        etag = form.elements.etag.value = tag;
        saved = theirs;
        box.hidden = true;
      };
      byId("take-theirs").onclick = () => {
        settle();
        editor.replace(theirs);
        tell("Their text stands in the editor. Undo brings yours back.", "good");
        editor.focus();
      };
      byId("keep-mine").onclick = () => {
        settle();
        tell("Save again to put your text in the place of theirs. Theirs is kept in the version history.", "warn");
        editor.focus();
      };
      box.hidden = false;
      tell("Not saved: somebody else has changed the configuration. Nothing was overwritten.", "bad");
      box.focus();
    } catch (problem) {
      tell("Not saved: somebody else has changed the configuration, and it cannot be read: " + wrong(problem), "bad");
    }
  };
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    if (e.submitter?.value === "check") check().then(() => byId("findings").scrollIntoView({ block: "nearest" }));
    else save();
  });

  // A section with a form asks the API by the unsaved text and shows the answer.
  const asks = (id, path, body, show) => {
    const section = byId(id), words = section.querySelector(".asked"), result = section.querySelector(".result"), button = section.querySelector("form button");
    const tell = (text, kind) => { words.textContent = text; words.className = "asked" + (kind ? " notice " + kind : ""); };
    section.querySelector("form").addEventListener("submit", async (e) => {
      e.preventDefault();
      if (broken()) {
        tell("The text has errors: mend them first.", "bad");
        result.replaceChildren();
        return;
      }
      button.disabled = true;
      tell("Asking …");
      try {
        const { data } = await api("POST", path, { body: body() });
        const answer = show(data);
        tell(answer.words, answer.kind);
        result.replaceChildren(el("p", { class: "warn-text stale", hidden: "" }, "The text has changed since."), ...answer.parts);
      } catch (problem) {
        tell(problem.findings?.length ? "The text has errors: mend them first." : wrong(problem), "bad");
        result.replaceChildren();
        if (problem.findings) found(problem.findings);
      }
      button.disabled = false;
    });
  };
  // What is typed there lasts as long as the tab.
  try {
    byId("try-urls").value = sessionStorage.getItem("rules-try-urls") || "";
    byId("try-urls").addEventListener("change", (e) => sessionStorage.setItem("rules-try-urls", e.target.value));
  } catch { /* for this page only */ }
  const linesOf = (id) => byId(id).value.split("\n").map((line) => line.trim()).filter(Boolean);
  asks("try", "/explain", () => ({ urls: linesOf("try-urls"), config: sent() }), answers.explained);
  asks("test", "/test", () => ({ cases: byId("test-cases").value, config: sent() }), answers.tested);
  asks("preview", "/preview", () => ({ config: sent(), samples: Number(byId("samples").value) }), answers.previewed);

  // The test cases beside the configuration.
  const cases = byId("test-cases"), casesSaid = byId("test").querySelector(".asked");
  let keptCases = cases.defaultValue;
  byId("save-cases").addEventListener("click", async () => {
    const text = cases.value, tell = (words, kind) => { casesSaid.textContent = words; casesSaid.className = "asked notice " + kind; };
    try {
      const { data } = await api("PUT", "/config/cases", { body: text, headers: { "Content-Type": "text/plain", "If-Match": cases.dataset.etag } });
      cases.dataset.etag = data.etag;
      keptCases = text;
      tell(`${plural(data.cases, "case")} saved.`, "good");
    } catch (problem) {
      if (problem.status !== 412) return tell("Not saved: " + wrong(problem), "bad");
      tell("Not saved: somebody else has changed the cases. Reload the page to see theirs; copy yours first.", "bad");
    }
  });

  // Version history.
  const showCompare = () => { for (const e of document.querySelectorAll("#versions [data-name]")) e.hidden = false; };
  document.addEventListener("htmx:load", showCompare);
  showCompare();
  document.addEventListener("click", async (e) => {
    const button = e.target.closest?.("#versions [data-name]");
    if (!button) return;
    const name = button.dataset.name;
    try {
      const { data } = await api("GET", "/config/version", { query: { name }, headers: { Accept: "application/xml" } });
      const old = data.replaceAll("\r\n", "\n");
      if (button.classList.contains("take")) {
        editor.replace(old);
        say(`The text of ${name} stands in the editor, not saved. Undo brings back what was there.`, "good");
        byId("editor").scrollIntoView({ block: "nearest" });
        editor.focus();
        return;
      }
      const box = byId("compared");
      byId("compared-head").textContent = `${name} (−) and the text in the editor (+)`;
      box.querySelector(".result").replaceChildren(diffView(old, editor.text()));
      box.hidden = false;
      box.focus();
    } catch (problem) {
      say(wrong(problem), "bad");
    }
  });

  // Names to complete come from the schema, once the editor is used.
  byId("editor").addEventListener("focusin", async () => {
    try {
      const [rules, crawl] = await Promise.all(["actionrules", "crawl"].map((part) => api("GET", "/schema", { query: { part }, headers: { Accept: "application/xml" } })));
      editor.complete(window.sextantRules.elementsOf([crawl.data, rules.data]));
    } catch { /* the editor works without */ }
  }, { once: true });

  byId("editor").sextant = editor; // for whoever looks at the page from outside
  showState();
  check();
  if (form.dataset.line) toLine(Number(form.dataset.line), 1);
})();
