// A job that goes on: its progress as it is told, and its scores in the table as soon as they are there.
const box = document.querySelector("[data-job]");
if (box) {
  const bar = box.querySelector("progress");
  const step = box.querySelector(".step");
  let scored = box.dataset.scored;
  let working = Promise.resolve();
  const events = new EventSource(`/v1/jobs/${box.dataset.job}/events`);

  // What the page says by now, put in place: where somebody has scrolled to, and what is being typed, stays.
  const renew = async (parts) => {
    const answer = await fetch(location.href);
    if (!answer.ok) {
      location.reload();
      return;
    }
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of parts) document.querySelector(part).replaceWith(fresh.querySelector(part));
    document.querySelectorAll("form.filter select").forEach((each) => {
      const chosen = each.value;
      each.replaceChildren(...fresh.querySelector(`form.filter select[name="${each.name}"]`).children);
      each.value = chosen;
    });
    document.querySelector("[data-rows]").dispatchEvent(new Event("renew"));
  };
  const soon = (parts) => { working = working.then(() => renew(parts)); };
  const heard = (event) => {
    const job = JSON.parse(event.data);
    step.textContent = job.step;
    if (job.share === null) bar.removeAttribute("value");
    else bar.value = job.share;
    return job;
  };
  events.addEventListener("progress", (event) => {
    const now = heard(event).scored.join(" ");
    if (now !== scored) soon(["#totals", "#links", ".captions thead"]);
    scored = now;
  });
  events.addEventListener("end", (event) => {
    heard(event);
    events.close();
    soon(["#state", "#totals", "#links", ".captions thead"]);
  });
  box.querySelector("button").addEventListener("click", async () => {
    events.close();
    await fetch(`/v1/jobs/${box.dataset.job}`, { method: "DELETE" });
    location.href = "/?cancelled=yes";
  });
}
