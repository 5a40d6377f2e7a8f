// Every page, under load: its values are those of /metrics, it is usable without a mouse, and it
// looks right in the dark and on a phone.
import { check, go_on, say, until } from "./browser.js";

const PAGES = {
  overview: ["#/", "cover"],
  tags: ["#/tags", "tags"],
  tag: ["#/tags/order", "segment-first"],
  workers: ["#/workers", "worker-map"],
  servers: ["#/servers", "servers"],
  decode: ["#/decode", "decode-input"],
  audit: ["#/audit", "audit"],
  findings: ["#/findings", /^(no-)?findings$/],
};

/** The number that a page shows, such as 1,234 or 12.3k. */
function number(text) {
  const found = /^([\d,.\s]+)\s*([kM]?)/.exec(text.replaceAll("\u202f", ""));
  const scale = { "": 1, k: 1e3, M: 1e6 }[found?.[2] ?? ""];
  return Number((found?.[1] ?? "NaN").replaceAll(/[,\s]/g, "")) * scale;
}

async function metric(browser, series) {
  const { text } = await browser.call("GET", "/metrics");
  const line = text.split("\n").find((line) => line.startsWith(`${series} `));
  return line === undefined ? NaN : Number(line.slice(series.length + 1));
}

export async function values(browser) {
  const { page } = browser;
  await browser.go("#/");
  const rate = await until("a rate", async () => number(await browser.text("ids-per-second")));
  const series = 'leafid_ids_issued_total{tag="order"}';
  const [before, began] = [await metric(browser, series), Date.now()];
  const shown = [];
  for (let look = 0; look < 6; look += 1) {
    await page.waitForTimeout(1000);
    shown.push(number(await browser.text("ids-per-second")));
  }
  const counted = ((await metric(browser, series)) - before) / ((Date.now() - began) / 1000);
  const mean = shown.reduce((sum, one) => sum + one, 0) / shown.length;
  check("ids per second as in /metrics", Math.abs(mean - counted) < 0.3 * counted, { rate, shown, counted });
  check("the store is up", (await browser.text("store-state")).length > 0, await browser.text("store-state"));
  const worker = await metric(browser, 'leafid_worker_id{pool="default"}');
  check("the worker id", (await browser.text("worker-id")).startsWith(String(worker)), worker);

  await browser.go("#/tags/order");
  const cursor = async () => BigInt((await browser.text("segment-cursor")).replaceAll(",", ""));
  const first = await until("a cursor", cursor);
  await until("a cursor that moves by itself", async () => (await cursor()) > first);
  const issued = await metric(browser, series);
  check("the cursor as in /metrics", Number(await cursor()) >= issued * 0.9, [String(await cursor()), issued]);

  await browser.go("#/servers");
  await until("both servers", async () => {
    const text = await page.locator("main").innerText();
    return browser.facts.servers.every((server) => text.includes(server));
  });
  await browser.go("#/workers");
  await until("both workers", async () => {
    const text = await page.locator("main").innerText();
    return browser.facts.servers.every((server) => text.includes(server));
  });
}

export async function looks(browser) {
  for (const [look, settings] of Object.entries({
    light: {},
    dark: { dark: true },
    narrow: { width: 375, height: 800 },
  })) {
    await browser.open(settings);
    for (const [name, [route, sign]] of Object.entries(PAGES)) {
      await browser.go(route);
      await browser.at(sign).first().waitFor();
      await browser.page.waitForTimeout(300);
      await browser.axe(`${name}, ${look}`);
      await browser.shoot(`${name}-${look}`);
      const wide = await browser.page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      check(`${name}, ${look}: nothing beyond the edge`, wide <= 0, wide);
    }
  }
}

export async function chinese(browser) {
  await browser.go("#/");
  await browser.at("cover").waitFor();
  await browser.click("language");
  await until("Chinese", async () => (await browser.page.locator("html").getAttribute("lang"))?.startsWith("zh"));
  for (const [name, [route, sign]] of Object.entries(PAGES)) {
    await browser.go(route);
    await browser.at(sign).first().waitFor();
    const text = await browser.page.locator("main").innerText();
    check(`${name} in Chinese`, /[\u4e00-\u9fff]/.test(text), text.slice(0, 200));
    await browser.shoot(`${name}-chinese`);
  }
}

/** The server goes away and comes back; its pages say so, and go on by themselves. */
export async function outage(browser) {
  await browser.go("#/");
  await browser.at("cover").waitFor();
  say("shown");
  await go_on();
  await browser.at("banner-offline").waitFor();
  await browser.shoot("server-away");
  say("away");
  await go_on();
  await browser.at("banner-offline").waitFor({ state: "detached" });
  await until("fresh values", async () => (await browser.text("server-ready")).length > 0);
}

/** The store goes away; the tag lives on, and the page says how long. */
export async function store_outage(browser) {
  await browser.go("#/");
  await browser.at("cover").waitFor();
  const up = await browser.text("store-state");
  say("shown");
  await go_on();
  await until("the store is down", async () => (await browser.text("store-state")) !== up);
  await browser.shoot("store-down");
  await browser.go("#/tags/order");
  await browser.at("segment-first").waitFor();
  await browser.shoot("tag-store-down");
  await browser.go("#/findings");
  await until("a finding", async () => (await browser.page.locator("main").innerText()).includes("store"));
  say("down");
  await go_on();
  await browser.go("#/");
  await until("the store is up again", async () => (await browser.text("store-state")) === up);
}

/** A million tags: paged, searched, ranked. */
export async function million(browser) {
  const { page } = browser;
  await browser.go("#/tags");
  const names = () => page.locator('[data-testid^="tag-row-"]').evaluateAll((rows) => rows.map((row) => row.dataset.testid));
  const first = await until("a page", async () => ((await names()).length >= 20 ? names() : null));
  await browser.click("page-next");
  await until("the next page", async () => (await names())[0] > first.at(-1));
  await browser.fill("tag-search", "tag-0999");
  await until("those that were searched for", async () => {
    const found = await names();
    return found.length > 0 && found.every((name) => name.startsWith("tag-row-tag-0999"));
  });
  await browser.shoot("million-tags");
  await browser.fill("tag-search", "");
  await browser.at("tag-sort").selectOption("rate");
  await until("tags in use", async () => {
    const ranked = await names();
    return ranked.length > 0 && ranked.every((name) => name < "tag-row-tag-0000200");
  });
  await browser.axe("a million tags");
}
