"use strict";
(() => {
  const steps = [...document.querySelectorAll(".step")];
  const folds = [...document.querySelectorAll("#steps details")];
  const texts = steps.map((s) => `${s.textContent} ${s.dataset.layer}`.toLowerCase());
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const atFirst = folds.map((f) => f.open);

  // Each word must be somewhere in a step; folds without such a step are hidden, the others open.
  const look = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    steps.forEach((step, i) => {
      const fits = words.every((word) => texts[i].includes(word));
      step.classList.toggle("hidden", !fits);
      count += fits;
    });
    folds.forEach((fold, i) => {
      const fits = fold.querySelector(".step:not(.hidden)") !== null;
      fold.classList.toggle("hidden", !fits);
      fold.open = words.length ? fits : atFirst[i];
    });
    found.textContent = words.length ? `${count} of ${steps.length}` : "";
  };
  search.addEventListener("input", look);
  search.value = new URLSearchParams(location.search).get("q") || "";  // page.html?q=gelu
  if (search.value) look();

  const unfoldAll = (is_open) => folds.forEach((fold) => { fold.open = is_open; });
  document.getElementById("unfold").addEventListener("click", () => unfoldAll(true));
  document.getElementById("fold").addEventListener("click", () => unfoldAll(false));

  // What a link leads to is unfolded first.
  const reveal = (target) => {
    for (let at = target; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
      at.classList.remove("hidden");
    }
    target.scrollIntoView({ block: "center" });
  };
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target) reveal(target);
  };
  addEventListener("hashchange", follow);
  follow();

  // A click on a value marks all steps that make or read it.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-v]");
    if (!link) return;
    document.querySelectorAll(".followed").forEach((x) => x.classList.remove("followed"));
    document.querySelectorAll(`[data-v="${link.dataset.v}"]`).forEach((x) => {
      x.classList.add("followed");
    });
  });
})();
