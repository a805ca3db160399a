// A caption's page: explanations come one after the other, and all of them anew for a caption that is typed.
const page = document.querySelector("[data-caption]");
if (page && page.querySelector("textarea")) {
  const field = page.querySelector("textarea");
  const parts = [...page.querySelectorAll("[data-explain]")];
  let asked = null;
  let waiting = 0;

  const query = () => (field.value.trim() && field.value !== page.dataset.caption
    ? `?${new URLSearchParams({ caption: field.value })}` : "");
  const get = async (url) => {
    const answer = await fetch(url, { signal: asked.signal });
    return answer.ok ? answer.text() : `<p class="quiet">${answer.status === 422 ? "It cannot be told." : "Try again."}</p>`;
  };
  const tell = async () => {
    if (asked) asked.abort();
    asked = new AbortController();
    page.setAttribute("aria-busy", "true");
    try {
      page.querySelector("#scores").innerHTML = await get(page.dataset.scores + query());
      for (const part of parts) {
        part.querySelector(".inside").innerHTML = await get(part.dataset.explain + query());
        part.dataset.told = "yes";
      }
      page.setAttribute("aria-busy", "false");
    } catch (problem) {
      if (problem.name !== "AbortError") throw problem;
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      history.replaceState(null, "", location.pathname + query());
      tell();
    }, 300);
  });
  page.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    history.replaceState(null, "", location.pathname + query());
    tell();
  });
  tell();
}
