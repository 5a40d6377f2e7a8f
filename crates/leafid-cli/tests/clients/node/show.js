// Prints what a client saw as lines of JSON. All numbers are printed as text, because they are ids.

import { once } from "node:events";
import { setTimeout } from "node:timers/promises";

export function plain(value) {
  if (value instanceof Error) {
    return { type: value.constructor.name, text: value.message };
  }
  if (Array.isArray(value)) {
    return value.map(plain);
  }
  if (value === null || typeof value === "boolean") {
    return value;
  }
  if (typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
  }
  return String(value);
}

export async function show(step, run) {
  let line;
  try {
    line = { step, value: plain(await run()) };
  } catch (error) {
    line = { step, error: plain(error) };
  }
  console.log(JSON.stringify(line));
}

// Answers and errors of calls that are under way at the same time.
export async function settled(calls) {
  const outcomes = await Promise.allSettled(calls);
  return outcomes.map(({ value, reason }) => reason ?? value);
}

// Calls until it goes well: what was under way when a connection broke fails.
export async function insist(run) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (tries === 200) {
        throw error;
      }
      await setTimeout(20);
    }
  }
}

// Waits until the caller says that it cut the connections.
export async function cut() {
  await once(process.stdin, "data");
  process.stdin.destroy();
}

// The numbers that end with this one.
export function run(last, count) {
  return Array.from({ length: count }, (_, at) => Number(last) - count + 1 + at);
}
