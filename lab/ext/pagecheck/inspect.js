// Returns the problems that a reader has at this width: parts that are too wide, text that is too small or cut, pictures without words.
(() => {
  const name = (element) => {
    const id = element.id || element.closest("[id]")?.id || "";
    return `${element.tagName.toLowerCase()}${id ? ` in #${id}` : ""}: ${element.textContent.trim().slice(0, 40)}`;
  };
  const scrolls = (element) => {
    for (let part = element; part; part = part.parentElement) {
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(part).overflowX)) return part !== document.body;
    }
    return false;
  };
  const wide = [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element))
    .map(name);
  const small = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility?.()) continue;
    const drawn = element.ownerSVGElement && element.getScreenCTM();
    const size = parseFloat(getComputedStyle(element).fontSize) * (drawn ? Math.hypot(drawn.a, drawn.b) : 1);
    if (size < LEAST - 0.05) small.set(name(element), size);
  }
  const silent = [
    ...[...document.images].filter((image) => !image.getAttribute("alt")),
    ...[...document.querySelectorAll("svg:not(svg svg)")].filter(
      (svg) => !svg.getAttribute("aria-label") && !svg.closest("[aria-hidden=true]"),
    ),
  ].map(name);
  const isCut = (text) => {
    const own = text.getBoundingClientRect(), drawing = text.ownerSVGElement.getBoundingClientRect();
    return own.width && (own.right > drawing.right + 1 || own.left < drawing.left - 1);
  };
  const cut = [...document.querySelectorAll("svg text")].filter(isCut).map(name);
  return {
    width: document.documentElement.scrollWidth,
    wide: wide.slice(0, 5),
    small: [...small].slice(0, 5).map(([what, size]) => `${size.toFixed(1)} px, ${what}`),
    cut: cut.slice(0, 5),
    silent,
  };
})()
