// Virtual scrolling: of a long table only the rows in sight are in the page; the others are asked for when they come up.
const frame = document.querySelector("[data-rows]");
if (frame) {
  const table = frame.querySelector("table");
  const body = table.tBodies[0];
  const total = Number(frame.dataset.total);
  const source = frame.dataset.rows;
  const more = 30;
  let height = 44;
  let shown = [0, body.rows.length];
  let asked = null;
  let waiting = 0;

  const space = (rows) => {
    const line = document.createElement("tr");
    line.className = "space";
    line.setAttribute("aria-hidden", "true");
    line.innerHTML = `<td colspan="${table.tHead.rows[0].cells.length}"></td>`;
    line.firstChild.style.height = `${rows * height}px`;
    return line;
  };
  const place = (rows, start) => {
    const end = start + rows.length;
    body.replaceChildren(...(start ? [space(start)] : []), ...rows, ...(end < total ? [space(total - end)] : []));
    rows.forEach((row, i) => row.setAttribute("aria-rowindex", String(start + i + 2)));
    shown = [start, end];
  };
  const look = async (anew = false) => {
    const top = Math.max(0, Math.floor(frame.scrollTop / height));
    const bottom = Math.min(total, Math.ceil((frame.scrollTop + frame.clientHeight) / height));
    if (!anew && top >= shown[0] && bottom <= shown[1]) return;
    const start = Math.max(0, top - more);
    const count = Math.min(200, bottom - start + more);
    if (asked) asked.abort();
    asked = new AbortController();
    try {
      const answer = await fetch(`${source}${source.includes("?") ? "&" : "?"}offset=${start}&count=${count}`,
        { signal: asked.signal });
      if (!answer.ok) return;
      const parsed = new DOMParser().parseFromString(`<table><tbody>${await answer.text()}</tbody></table>`, "text/html");
      place([...parsed.querySelectorAll("tr")], start);
    } catch (problem) {
      if (problem.name !== "AbortError") throw problem;
    }
  };
  if (frame.dataset.whole === "yes" && body.rows.length) {
    height = body.rows[0].getBoundingClientRect().height || height;
    table.setAttribute("aria-rowcount", String(total + 1));
    place([...body.rows], 0);
    document.querySelectorAll(".pages").forEach((each) => each.remove());
    frame.classList.add("virtual");
    frame.addEventListener("scroll", () => {
      clearTimeout(waiting);
      waiting = setTimeout(look, 60);
    });
    frame.addEventListener("renew", () => look(true));
  } else {
    frame.addEventListener("renew", () => location.reload());
  }
}
// What is chosen in the form above the table holds at once.
document.querySelectorAll("form.filter select").forEach((each) => {
  each.addEventListener("change", () => each.form.requestSubmit());
});
