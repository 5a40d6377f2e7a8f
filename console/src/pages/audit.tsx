// Filled in next.
export function Audit() {
  return null;
}
