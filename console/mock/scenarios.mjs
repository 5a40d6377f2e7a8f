// What the stand-in can show.

const healthy = {
  name: "healthy",
  needs_token: false,
  tags: 3,
  is_broken: false,
  worker_max: 1023,
  servers: 3,
};

export const SCENARIOS = {
  healthy,
  million: { ...healthy, name: "million", tags: 1_000_000, servers: 12 },
  broken: { ...healthy, name: "broken", is_broken: true },
  token: { ...healthy, name: "token", needs_token: true },
  empty: { ...healthy, name: "empty", tags: 0, servers: 1 },
  wide: { ...healthy, name: "wide", worker_max: 65_535 },
};
