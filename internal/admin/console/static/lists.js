// Lists with check boxes: one box in the head selects those of the page.
"use strict";
for (const head of document.querySelectorAll("input[data-all]")) {
  const boxes = [...head.form.querySelectorAll(`input[type="checkbox"][name="${head.dataset.all}"]`)];
  const show = () => {
    const n = boxes.filter((b) => b.checked).length;
    head.checked = n > 0 && n === boxes.length;
    head.indeterminate = n > 0 && n < boxes.length;
  };
  head.hidden = false;
  head.addEventListener("change", () => { for (const b of boxes) b.checked = head.checked; });
  for (const b of boxes) b.addEventListener("change", show);
  show();
}
