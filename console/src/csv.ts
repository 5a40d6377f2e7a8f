// CSV (RFC 4180) for spreadsheets. A cell that a spreadsheet would take for a formula gets a quote
// in front, so that a hostile name does not run on the machine of its reader.

const FORMULA = /^[=+\-@\t\r]/;

function cell(value: string | null): string {
  const text = value ?? "";
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export function csv(heads: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  return [heads, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
}
