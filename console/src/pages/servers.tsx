// Filled in next.
export function Servers() {
  return null;
}
