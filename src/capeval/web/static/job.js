// A job that goes on: its progress as it is told, and its scores as soon as they are there.
const box = document.querySelector("[data-job]");
if (box) {
  const bar = box.querySelector("progress");
  const step = box.querySelector(".step");
  const before = box.dataset.scored;
  const events = new EventSource(`/v1/jobs/${box.dataset.job}/events`);
  const heard = (event) => {
    const job = JSON.parse(event.data);
    step.textContent = job.step;
    if (job.share === null) bar.removeAttribute("value");
    else bar.value = job.share;
    return job;
  };
  events.addEventListener("progress", (event) => {
    const job = heard(event);
    if (job.scored.join(" ") !== before && job.scored.length) location.reload();
  });
  events.addEventListener("end", (event) => {
    heard(event);
    events.close();
    location.reload();
  });
  box.querySelector("button").addEventListener("click", async () => {
    events.close();
    await fetch(`/v1/jobs/${box.dataset.job}`, { method: "DELETE" });
    location.href = "/?cancelled=yes";
  });
}
