// Sort the rows of a table by a click on the head of a column: numbers by their value, texts by the alphabet.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), table = head.closest("table"), body = table.tBodies[0];
    const column = head.cellIndex, rising = head.getAttribute("aria-sort") !== "ascending";
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[column];
      const number = cell.dataset.value === undefined ? NaN : Number(cell.dataset.value);
      return { row, number, text: cell.textContent.trim() };
    });
    const direction = rising ? 1 : -1;
    keyed.sort((a, b) => {
      const lacking = (a.text === "–") - (b.text === "–");  // rows without a value come last, either way
      if (lacking) return lacking;
      const order = Number.isNaN(a.number) || Number.isNaN(b.number)
        ? a.text.localeCompare(b.text) : a.number - b.number;
      return direction * order;
    });
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    body.append(...keyed.map((entry) => entry.row));
  });
}
