// The leaf of the console.

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <path
        d="M8 24C7 13 13 7 25 7c0 12-6 18-14 17l7-9"
        fill="none"
        stroke="var(--surface)"
        stroke-width="2.6"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
