// A browser with one page, which notes whatever a page must not do: an error, a call to another
// server, a script that is not the server's.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

import { chromium } from "playwright-core";

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails with what was expected of what. */
export function check(what, isSo, found) {
  if (!isSo) throw new Error(`${what}: ${JSON.stringify(found)}`);
}

/** Waits until something is so; an error of `look` counts as not yet. */
export async function until(what, look, patienceMs = 30_000) {
  const end = Date.now() + patienceMs;
  let last;
  for (;;) {
    try {
      last = await look();
      if (last) return last;
    } catch (error) {
      last = error.message;
    }
    if (Date.now() > end) throw new Error(`never came: ${what}, last ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Browser {
  static async start(facts) {
    const chrome = await chromium.launch({
      executablePath: "/usr/bin/chromium",
      // Not as root otherwise.
      args: ["--no-sandbox"],
    });
    const browser = new Browser();
    Object.assign(browser, { chrome, facts, faults: [] });
    await browser.open({});
    return browser;
  }

  /** A new page, which knows nothing of the one before. */
  async open({ dark = false, width = 1440, height = 900 }) {
    await this.context?.close();
    this.context = await this.chrome.newContext({
      viewport: { width, height },
      colorScheme: dark ? "dark" : "light",
      locale: "en-GB",
    });
    this.page = await this.context.newPage();
    const note = (kind, text) => this.faults.push(`${kind}: ${text}`);
    this.page.on("pageerror", (error) => note("error", error.message));
    this.page.on("console", (message) => {
      // The browser's own words on refused calls, which the tests cause.
      const isRefusal = message.text().startsWith("Failed to load resource");
      if (message.type() === "error" && !isRefusal) note("console", message.text());
    });
    this.page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(this.facts.url) && !url.startsWith("data:")) note("foreign", url);
    });
  }

  async go(route) {
    await this.page.goto(`${this.facts.url}/${route}`);
  }

  at(testid) {
    return this.page.getByTestId(testid);
  }

  async text(testid) {
    return (await this.at(testid).first().innerText()).trim();
  }

  async fill(testid, text) {
    await this.at(testid).fill(text);
  }

  async click(testid) {
    await this.at(testid).first().click();
  }

  async shoot(name) {
    fs.mkdirSync(this.facts.shots, { recursive: true });
    await this.page.screenshot({ path: path.join(this.facts.shots, `${name}.png`), fullPage: true });
  }

  /** Finds what people with a keyboard or a screen reader would stumble over. */
  async axe(name) {
    // Not as an element: the policy of the page lets no script in.
    await this.page.evaluate(axeSource);
    const found = await this.page.evaluate(() => globalThis.axe.run());
    const serious = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    const shown = serious.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]);
    check(`axe on ${name}`, serious.length === 0, shown);
  }

  /** A call past the pages. */
  async call(method, target, body, headers = {}) {
    const init = { method, headers: { "content-type": "application/json", ...headers } };
    if (body !== undefined) init.body = JSON.stringify(body);
    const answer = await fetch(`${this.facts.url}${target}`, init);
    const text = await answer.text();
    let json = null;
    try {
      json = JSON.parse(text);
    } catch {
      // Not all answers are JSON.
    }
    return { status: answer.status, text, json };
  }

  async end() {
    await this.chrome.close();
    check("faults of pages", this.faults.length === 0, this.faults);
  }
}

/** Tells the test that started this program how far it is. */
export function say(step, more = {}) {
  console.log(JSON.stringify({ step, ...more }));
}

/** Waits for a word of that test. */
export async function go_on() {
  await new Promise((resolve) => process.stdin.once("data", resolve));
}
