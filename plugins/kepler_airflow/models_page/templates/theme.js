// Airflow keeps the choice of light or dark where its pages, and we inside them, can read it.
const chosen = localStorage.getItem("theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
addEventListener("storage", (event) => {
  if (event.key === "theme") document.documentElement.dataset.theme = event.newValue;
});
