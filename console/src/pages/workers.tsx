// Filled in next.
export function WorkersPage() {
  return null;
}
