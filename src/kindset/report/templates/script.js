"use strict";

// Light or dark: what the system says, until somebody chooses.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const remembered = "kindset-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  try {
    const chosen = localStorage.getItem(remembered);
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch { /* A browser may forbid a page from disk to remember anything. */ }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem(remembered, root.dataset.theme); } catch { /* As above. */ }
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
})();

// On a phone, long parts start folded, so that a chapter can be seen as a whole.
(() => {
  if (!matchMedia("(max-width: 34rem)").matches) return;
  for (const part of document.querySelectorAll("details.fold")) part.open = false;
})();

// What scrolls sideways shows on which side there is more.
(() => {
  const show = (box) => {
    const left = Math.abs(box.scrollLeft);
    box.classList.toggle("more-before", left > 1);
    box.classList.toggle("more-after", left + box.clientWidth < box.scrollWidth - 1);
  };
  const sizes = new ResizeObserver((changes) => { for (const change of changes) show(change.target); });
  for (const box of document.querySelectorAll(".scroll, nav")) {
    box.addEventListener("scroll", () => show(box), { passive: true });
    sizes.observe(box);
  }
})();

// Tables: a click on a heading sorts by it, numbers as numbers.
(() => {
  const valueOf = (cell) => cell.dataset.value ?? cell.textContent.trim();
  const asNumber = (text) => (text === "" ? NaN : Number(text.replace(/[,%]/g, "").replace("–", "")));
  const compare = (a, b) => {
    const [x, y] = [asNumber(a), asNumber(b)];
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const sortBy = (heading) => {
    const column = heading.cellIndex;
    const body = heading.closest("table").tBodies[0];
    const falling = heading.getAttribute("aria-sort") === "ascending";
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const rows = [...body.rows];
    rows.sort((a, b) => compare(valueOf(a.cells[column]), valueOf(b.cells[column])));
    body.append(...(falling ? rows.reverse() : rows));
  };
  for (const button of document.querySelectorAll("button.sort")) {
    button.addEventListener("click", () => sortBy(button.closest("th")));
  }
})();

// Pictures: choosing one shows every prototype aligned to it.
(() => {
  const viewer = document.getElementById("viewer");
  if (!viewer) return;
  const title = document.getElementById("viewer-title");
  const note = document.getElementById("viewer-note");
  const image = document.getElementById("viewer-image");
  const list = document.getElementById("viewer-prototypes");

  // Energies are negative log densities: some lie below 0, as no distance does.
  const measures = {
    distance: { told: "its distance", hint: "distance to the image" },
    energy: { told: "its energy (lower is nearer)", hint: "energy: negative log density per pixel, lower is nearer" },
  };

  const tile = (sheet, number, label) => {
    const span = document.createElement("span");
    span.className = "tile";
    span.setAttribute("role", "img");
    span.setAttribute("aria-label", label);
    span.style.setProperty("--x", number % sheet.columns);
    span.style.setProperty("--y", Math.floor(number / sheet.columns));
    return span;
  };
  const entry = (sheet, chosen, k) => {
    const sample = sheet.samples[chosen];
    const item = document.createElement("li");
    const number = sheet.aligned === null ? k : sheet.aligned + chosen * sheet.k + k;
    const winner = k === sample.cluster;
    item.className = winner ? "winner" : "";
    const caption = document.createElement("span");
    caption.textContent = `Cluster ${k + 1}${winner ? " ✓" : ""}`;
    item.append(tile(sheet, number, `Prototype of cluster ${k + 1}`), caption);
    if (sample.distances) {
      const distance = document.createElement("span");
      distance.textContent = sample.distances[k].toPrecision(3);
      distance.title = measures[sheet.measure].hint;
      item.append(distance);
    }
    return item;
  };
  const open = (name, sheet, chosen) => {
    const sample = sheet.samples[chosen];
    title.textContent = sample.name ?? `Image ${sample.index + 1}`;
    note.textContent =
      (sheet.aligned === null ? "The picture of every cluster" : "Every prototype, aligned to the image") +
      (sample.distances ? `, with ${measures[sheet.measure].told}; ` : "; ") +
      `the image is in cluster ${sample.cluster + 1}${sample.role === 1 ? ", on its border" : ""}.`;
    viewer.className = `sheet-${name}`;
    image.replaceChildren(tile(sheet, sheet.first + chosen, title.textContent));
    list.replaceChildren(...Array.from({ length: sheet.k }, (_, k) => entry(sheet, chosen, k)));
    viewer.showModal();
    title.focus();
  };

  for (const block of document.querySelectorAll("script.samples")) {
    const name = block.dataset.sheet;
    const sheet = JSON.parse(block.textContent);
    for (const button of document.querySelectorAll(`[data-sheet="${name}"] button.tile`)) {
      button.addEventListener("click", () => open(name, sheet, Number(button.dataset.sample)));
    }
  }
  document.getElementById("viewer-close").addEventListener("click", () => viewer.close());
  viewer.addEventListener("click", (event) => { if (event.target === viewer) viewer.close(); });
})();

// Commands: one click takes them to the clipboard, where the browser allows it.
(() => {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.previousElementSibling.textContent);
        button.textContent = "Copied";
      } catch { button.textContent = "Select and copy"; }
    });
  }
})();

// Paper cannot be clicked: open what is folded before printing, and fold it again afterwards.
(() => {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
