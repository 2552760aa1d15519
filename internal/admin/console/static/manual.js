// The manual: each block of code can be copied, and the sections of a page stand open where there is room beside it.
"use strict";
for (const block of document.querySelectorAll("article pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => {
    const range = document.createRange();
    range.selectNodeContents(block.querySelector("code"));
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
    document.execCommand("copy"); // navigator.clipboard wants HTTPS, which a console on the own network may not have
    selection.removeAllRanges();
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  const frame = document.createElement("div");
  frame.className = "code";
  block.replaceWith(frame);
  frame.append(block, button);
}
const sections = document.querySelector(".on-page");
const wide = matchMedia("(min-width: 86rem)");
const show = () => { if (sections) sections.open = wide.matches; };
wide.addEventListener("change", show);
show();
