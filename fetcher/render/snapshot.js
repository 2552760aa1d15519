// Writes the document as HTML: shadow trees in their places, without what only a browser needs.
(address, limit) => {
  const empty = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'source', 'track', 'wbr']);
  const dropped = new Set(['script', 'noscript', 'style', 'template', 'base', 'plaintext']);
  const escaped = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '\u00a0': '&nbsp;'};
  const escape = (text) => text.replace(/[&<>"\u00a0]/g, (c) => escaped[c]);
  const parts = [];
  let length = 0, cut = false;
  const write = (text) => {
    length += text.length;
    parts.push(text);
  };
  const isDropped = (name, element) =>
    dropped.has(name) && !(name === 'script' && element.type === 'application/ld+json');
  const childrenOf = (name, element) => {
    if (element.shadowRoot) return element.shadowRoot.childNodes;
    if (name === 'slot' && element.getRootNode() instanceof ShadowRoot) {
      const assigned = element.assignedNodes();
      if (assigned.length > 0) return assigned;
    }
    return element.childNodes;
  };
  const open = (name, element, waiting) => {
    write('<' + name);
    for (const {name, value} of element.attributes) {
      if (/^[^\s"'<>\/=\u0000-\u001f]+$/.test(name)) write(' ' + name + '="' + escape(value) + '"');
    }
    write('>');
    if (name === 'head' && document.baseURI !== address) write('<base href="' + escape(document.baseURI) + '">');
    if (empty.has(name)) return;
    waiting.push('</' + name + '>');
    if (name === 'iframe') return;
    if (name === 'script') {
      write(element.textContent.replace(/<\/?(?:script|!--)/gi, (tag) => '\\u003c' + tag.slice(1)));
      return;
    }
    const children = childrenOf(name, element);
    for (let i = children.length - 1; i >= 0; i--) waiting.push(children[i]);
  };
  write('<!DOCTYPE html>');
  const waiting = document.documentElement ? [document.documentElement] : [];
  while (waiting.length > 0) {
    const next = waiting.pop();
    if (typeof next === 'string') {
      write(next);
    } else if (length > limit) {
      cut = true;
    } else if (next.nodeType === Node.TEXT_NODE || next.nodeType === Node.CDATA_SECTION_NODE) {
      write(escape(next.data));
    } else if (next.nodeType === Node.ELEMENT_NODE) {
      const name = next.localName;
      if (/^[a-z][a-z0-9._:-]*$/i.test(name) && !isDropped(name, next)) open(name, next, waiting);
    }
  }
  return {html: parts.join(''), cut};
}
