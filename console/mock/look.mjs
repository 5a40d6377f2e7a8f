// Looks at every page in a headless Chromium: a picture of each into the folder of the first
// argument, and what axe finds wrong. `node mock/look.mjs FOLDER [PART OF A NAME]`.
import { mkdir } from "node:fs/promises";
import { readFile } from "node:fs/promises";
import { chromium } from "playwright-core";

const [folder = "shots", part = ""] = process.argv.slice(2);
const address = process.env.CONSOLE ?? "http://127.0.0.1:8099";
const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const PAGES = {
  overview: "#/",
  tags: "#/tags",
  tag: "#/tags/order",
  workers: "#/workers",
  servers: "#/servers",
  decode: "#/decode?id=2124934261898215969",
  audit: "#/audit",
  findings: "#/findings",
};
const SCENARIOS = process.env.SCENARIOS?.split(",") ?? ["healthy", "million", "broken"];
const SIZES = { wide: [1440, 900], narrow: [375, 812] };

await mkdir(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
let found = 0;

async function look(name, hash, scenario, size, scheme, act) {
  if (!name.includes(part)) return;
  const [width, height] = SIZES[size];
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    bypassCSP: false,
    locale: name.startsWith("zh") ? "zh-CN" : "en",
  });
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(name, "console:", message.text()));
  page.on("pageerror", (error) => console.log(name, "error:", error.message));
  await page.goto(`${address}/?scenario=${scenario}${hash}`);
  await page.waitForTimeout(1500);
  await act?.(page);
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: act === undefined });
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run());
  for (const { id, impact, nodes } of violations) {
    found += 1;
    console.log(
      name,
      impact,
      id,
      nodes.slice(0, 3).map((node) => node.html.slice(0, 140)),
    );
  }
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (overflow > 0) console.log(name, "is wider than the window by", overflow);
  await context.close();
}

for (const [name, hash] of Object.entries(PAGES)) {
  for (const scenario of SCENARIOS) {
    for (const size of Object.keys(SIZES)) {
      for (const scheme of ["light", "dark"]) {
        // Dark differs in colours only: the healthy state is enough.
        if (scheme === "dark" && scenario === "million") continue;
        await look(`${name}-${scenario}-${size}-${scheme}`, hash, scenario, size, scheme);
      }
    }
  }
}
await look("zh-overview", "#/", "healthy", "wide", "light");
await look("zh-tag", "#/tags/order", "healthy", "wide", "light");
await look("zh-workers", "#/workers", "healthy", "wide", "light");
await look("zh-tags-narrow", "#/tags", "healthy", "narrow", "light");
await look("empty-overview", "#/", "empty", "wide", "light");
await look("empty-tags", "#/tags", "empty", "wide", "light");
await look("empty-findings", "#/findings", "empty", "wide", "light");
await look("wide-workers", "#/workers", "wide", "wide", "light");
await look("unknown-tag", "#/tags/nothing", "healthy", "wide", "light");
await look("login", "#/", "token", "wide", "light", () => {});
await look("login-narrow-dark", "#/", "token", "narrow", "dark", () => {});
const dialog =
  (id, ...more) =>
  async (page) => {
    await page.getByTestId(id).click();
    for (const act of more) await act(page);
    await page.waitForTimeout(500);
  };
await look("dialog-create", "#/tags", "healthy", "wide", "light", dialog("create-tag"));
await look("dialog-create-narrow-dark", "#/tags", "healthy", "narrow", "dark", dialog("create-tag"));
await look("dialog-delete", "#/tags/order", "healthy", "wide", "light", dialog("tag-delete"));
await look("dialog-change", "#/tags/order", "healthy", "wide", "dark", dialog("tag-change"));
await look("dialog-quota", "#/tags/coupon", "healthy", "narrow", "light", dialog("tag-quota-button"));
await look("dialog-raise", "#/tags/order", "healthy", "wide", "light", dialog("tag-raise"));
await look("menu-actions", "#/tags", "healthy", "wide", "light", dialog("tag-actions-order"));
await look("menu-narrow", "#/", "healthy", "narrow", "light", dialog("menu"));
await look("taken-id", "#/tags/order", "healthy", "wide", "light", dialog("take-id"));
await look("dialog-release", "#/workers", "healthy", "wide", "light", dialog("worker-0", dialog("release-worker")));
await browser.close();
console.log(found === 0 ? "axe finds nothing" : `axe finds ${found}`);
