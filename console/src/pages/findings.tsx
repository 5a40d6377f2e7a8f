// Filled in next.
export function Findings() {
  return null;
}
