// The XML editor of the console: CodeMirror with what the page of the rules needs of
// it. It stands in a shadow root, because there CodeMirror's styles are constructed
// style sheets, which the content security policy allows; its colours are the page's
// variables, which reach into it.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, pickedCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { xml } from "@codemirror/lang-xml";
import { bracketMatching, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, openSearchPanel, searchKeymap } from "@codemirror/search";
import { Compartment, EditorSelection, EditorState, Prec, StateField, Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, keymap, lineNumbers, rectangularSelection } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const mono = 'ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Consolas, monospace';

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--fg)", backgroundColor: "var(--bg)", fontSize: "13px" },
  "&.cm-focused": { outline: "3px solid var(--focus)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: mono, lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--fg)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--fg)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "color-mix(in srgb, var(--link) 28%, var(--bg))" },
  ".cm-gutters": { backgroundColor: "var(--bg-2)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--link) 6%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--bg-3)", color: "var(--fg)" },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--link) 16%, transparent)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--good) 22%, transparent)", outline: "1px solid var(--good)" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--bad-bg)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--bg-3)", border: "1px solid var(--line)", color: "var(--fg)" },
  ".cm-panels": { backgroundColor: "var(--bg-2)", color: "var(--fg)" },
  ".cm-panels.cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-panel.cm-search": { fontFamily: "system-ui, sans-serif", padding: ".4rem 1.8rem .4rem .5rem", fontSize: "14px" },
  ".cm-panel.cm-search label": { fontSize: "14px", margin: ".2rem .5rem .2rem 0", whiteSpace: "nowrap" },
  ".cm-panel.cm-search [name=close]": { color: "var(--fg)", fontSize: "1.2rem", padding: "0 .3rem" },
  ".cm-textfield": { backgroundColor: "var(--bg)", color: "var(--fg)", border: "1px solid var(--control)", fontSize: "14px", padding: ".25rem .4rem", borderRadius: "4px" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--bg)", color: "var(--fg)", border: "1px solid var(--control)", borderRadius: "4px", fontSize: "14px", padding: ".25rem .6rem" },
  ".cm-searchMatch": { backgroundColor: "var(--warn-bg)", outline: "1px solid var(--warn)" },
  ".cm-searchMatch.cm-searchMatch-selected": { backgroundColor: "color-mix(in srgb, var(--warn) 40%, transparent)" },
  ".cm-tooltip": { backgroundColor: "var(--bg-2)", color: "var(--fg)", border: "1px solid var(--control)", maxWidth: "min(36rem, 90vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: mono, maxHeight: "14rem" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--link)", color: "var(--on-link)" },
  ".cm-completionInfo": { maxWidth: "22rem", fontFamily: "system-ui, sans-serif" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif", overflowWrap: "anywhere", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-diagnostic-info": { borderLeftColor: "var(--link)" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--bad) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintRange-warning": { backgroundImage: "none", textDecoration: "underline wavy var(--warn) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintRange-info": { backgroundImage: "none", textDecoration: "underline dotted var(--link) 1.5px", textUnderlineOffset: "3px" },
  ".cm-lintRange-active": { backgroundColor: "var(--bg-3)" },
});

const highlight = HighlightStyle.define([
  { tag: tags.tagName, color: "var(--s1)" },
  { tag: tags.attributeName, color: "var(--s4)" },
  { tag: tags.attributeValue, color: "var(--s3)" },
  { tag: [tags.comment, tags.documentMeta, tags.processingInstruction], color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.character, color: "var(--s2)" },
  { tag: [tags.angleBracket, tags.definitionOperator], color: "var(--muted)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

// closed are the ranges of the text that the editor has closed tags with.
const closed = StateField.define({
  create: () => [],
  update: (ranges, tr) => {
    if (!tr.docChanged) return ranges;
    const kept = ranges.map((r) => ({ from: tr.changes.mapPos(r.from, 1), to: tr.changes.mapPos(r.to, -1) })).filter((r) => r.from < r.to);
    if (tr.isUserEvent("input.complete") && !tr.annotation(pickedCompletion)) tr.changes.iterChanges((fromA, toA, from, to) => kept.push({ from, to }));
    return kept;
  },
});

// overtype moves over a closing tag of the editor's as the same is typed. A "<" alone may begin an element, so it is
// typed, and taken back when "/" follows.
const overtype = Prec.highest(EditorView.inputHandler.of((view, at, to, text) => {
  if (view.composing || at !== to) return false;
  const doc = view.state.doc, ranges = view.state.field(closed);
  const moveTo = (anchor, changes) => {
    view.dispatch({ changes, selection: { anchor }, scrollIntoView: true, userEvent: "input.type" });
    return true;
  };
  if (ranges.some((r) => r.from < at && at < r.to) && doc.sliceString(at, at + 1) === text) return moveTo(at + 1);
  const next = text === "/" && doc.sliceString(at - 1, at) === "<" && ranges.find((r) => r.from >= at && !doc.sliceString(at, r.from).trim() && doc.sliceString(r.from, r.from + 2) === "</");
  return next ? moveTo(at + 1, { from: at - 1, to: next.from }) : false;
}));

// create puts an editor for text into host and gives what the page does with it.
//
// changed is called after each change of the text, save when Ctrl-S is pressed. Words
// are what stands beside the label for screen readers.
export const create = ({ host, text, label, describedBy, changed, save }) => {
  const root = host.attachShadow({ mode: "open" });
  const language = new Compartment();
  const state = (doc) => EditorState.create({
    doc: textOf(doc),
    extensions: [
      // A carriage return that stands alone stays what it is.
      EditorState.lineSeparator.of("\n"),
      lineNumbers(), foldGutter(), lintGutter(), history(), drawSelection(), rectangularSelection(), highlightSpecialChars(),
      indentOnInput(), bracketMatching(), closeBrackets(), autocompletion(), highlightActiveLine(), highlightActiveLineGutter(), closed, overtype,
      highlightSelectionMatches(), indentUnit.of("  "), EditorView.lineWrapping, language.of(xml()),
      syntaxHighlighting(highlight), theme,
      keymap.of([
        { key: "Mod-s", preventDefault: true, run: () => { save(); return true; } },
        ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap, indentWithTab,
      ]),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-label": label, ...(describedBy ? { "aria-description": describedBy } : {}), spellcheck: "false", autocapitalize: "off" }),
      EditorView.updateListener.of((u) => { if (u.docChanged) changed(); }),
    ],
  });
  const view = new EditorView({ state: state(text), parent: root, root });

  const offset = (line, column) => {
    const doc = view.state.doc;
    if (line < 1) return 0;
    if (line > doc.lines) return doc.length;
    const at = doc.line(line);
    return at.from + unitsOf(at.text, column - 1);
  };
  return {
    view,
    text: () => view.state.doc.toString(),
    // replace puts another text in the place of the whole; it can be undone.
    replace: (with_) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: textOf(with_) }, selection: { anchor: 0 }, scrollIntoView: true, userEvent: "input.replace" }),
    // mark underlines findings: severity (error, warning or note), line and column from 1.
    mark: (findings) => {
      const diagnostics = findings.map((f) => {
        const from = offset(f.line, f.column);
        return { from, to: wordEnd(view.state.doc, from), severity: f.severity === "note" ? "info" : f.severity, message: f.message };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics.sort((a, b) => a.from - b.from)));
    },
    goTo: (line, column = 1) => {
      const at = offset(line, column);
      view.dispatch({ selection: EditorSelection.cursor(at), effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    focus: () => view.focus(),
    find: () => openSearchPanel(view),
    // complete brings the names of elements and attributes, as lang-xml takes them.
    complete: (elements) => view.dispatch({ effects: language.reconfigure(xml({ elements })) }),
  };
};

const textOf = (s) => Text.of(s.split("\n"));

// unitsOf is how many UTF-16 units the first n characters of a line have.
const unitsOf = (line, n) => {
  let units = 0;
  for (const c of line) {
    if (n-- <= 0) break;
    units += c.length;
  }
  return units;
};

// wordEnd is where the name, tag or value that begins at from ends, in its line.
const wordEnd = (doc, from) => {
  const line = doc.lineAt(from);
  const rest = line.text.slice(from - line.from);
  const word = /^(<[\w:.-]*|[\w:.-]+(="[^"]*")?|"[^"]*"|\S+)/.exec(rest);
  return Math.min(line.to, from + Math.max(1, word ? word[0].length : 1));
};

// maxEdits is how many lines may differ for a diff to be the shortest one; beyond it, what
// differs is one block.
const maxEdits = 1500;

// diff compares two texts by lines. It gives parts in order: {kind, lines, from}, where
// kind is "same", "old" or "new", and from is the number of the first line in its text.
export const diff = (before, after) => {
  const a = before.split("\n"), b = after.split("\n"), parts = [];
  const add = (kind, of, from, to) => { if (to > from) parts.push({ kind, lines: of.slice(from, to), from: from + 1 }); };
  let i = 0, j = 0;
  for (const [x, y] of pairs(a, b)) {
    add("old", a, i, x);
    add("new", b, j, y);
    if (x === i && y === j && parts.at(-1)?.kind === "same") parts.at(-1).lines.push(a[x]);
    else add("same", a, x, x + 1);
    i = x + 1;
    j = y + 1;
  }
  add("old", a, i, a.length);
  add("new", b, j, b.length);
  return parts;
};

// pairs are the lines that two texts share, as [index in a, index in b], in order: the
// longest such list (E. Myers, An O(ND) Difference Algorithm, 1986).
const pairs = (a, b) => {
  let start = 0, endA = a.length, endB = b.length;
  while (start < endA && start < endB && a[start] === b[start]) start++;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) { endA--; endB--; }
  const same = [];
  for (let n = 0; n < start; n++) same.push([n, n]);
  for (const pair of between(a, b, start, endA, endB)) same.push(pair);
  for (let n = 0; endA + n < a.length; n++) same.push([endA + n, endB + n]);
  return same;
};

const between = (a, b, start, endA, endB) => {
  const n = endA - start, m = endB - start, rows = [];
  let row = new Map([[1, 0]]); // how far each diagonal has come
  for (let d = 0; d <= Math.min(n + m, maxEdits); d++) {
    const next = new Map();
    rows.push(row);
    for (let k = -d; k <= d; k += 2) {
      let x = down(row, k, d) ? row.get(k + 1) : row.get(k - 1) + 1;
      while (x < n && x - k < m && a[start + x] === b[start + x - k]) x++;
      next.set(k, x);
      if (x >= n && x - k >= m) return back(rows, d, n, m, start);
    }
    row = next;
  }
  return [];
};

// down says whether the best way onto a diagonal adds a line, and not removes one.
const down = (row, k, d) => k === -d || k !== d && row.get(k - 1) < row.get(k + 1);

// back goes the way that was found from its end and gives the lines shared on it.
const back = (rows, d, x, y, start) => {
  const same = [];
  for (; d >= 0; d--) {
    const k = x - y, row = rows[d], from = down(row, k, d) ? k + 1 : k - 1;
    const beforeX = row.get(from), beforeY = beforeX - from;
    for (; x > beforeX && y > beforeY; x--, y--) same.push([start + x - 1, start + y - 1]);
    x = beforeX;
    y = beforeY;
  }
  return same.reverse();
};
