// What people change from the pages: each is asked of the server by another call.
import { check, until } from "./browser.js";

export async function change_a_tag(browser) {
  await browser.go("#/tags");
  await browser.click("create-tag");
  await browser.fill("create-name", "invoice");
  await browser.fill("create-start", "5000");
  await browser.fill("create-description", "of the shop");
  await browser.axe("the dialog that creates");
  await browser.shoot("create");
  await browser.click("create-dialog-submit");
  const tag = () => browser.call("GET", "/v1/tags/invoice");
  const created = await until("the tag", async () => ((await tag()).status === 200 ? (await tag()).json : null));
  check("as asked for", created.max_id === "5000" && created.description === "of the shop", created);

  await browser.go("#/tags/invoice");
  await browser.click("take-id");
  await until("an id", async () => (await browser.text("taken-id")) === "5000");

  await browser.click("tag-raise");
  await browser.fill("raise-next", "90000");
  await browser.click("raise-dialog-submit");
  await until("raised", async () => BigInt((await tag()).json.max_id) >= 90000n);

  await browser.click("tag-change");
  await browser.fill("change-description", "raised");
  await browser.click("change-dialog-submit");
  await until("changed", async () => (await tag()).json.description === "raised");

  await browser.click("tag-quota-button");
  await browser.fill("quota-input", "0");
  await browser.click("quota-dialog-submit");
  const take = () => browser.call("POST", "/v1/tags/invoice/ids", { count: 1 });
  await until("throttled", async () => (await take()).status === 429);
  await browser.click("tag-quota-button");
  await browser.click("quota-remove");
  await until("free again", async () => (await take()).status === 200);

  await browser.click("tag-delete");
  const submit = browser.at("delete-submit");
  check("nothing is deleted untyped", await submit.isDisabled(), "enabled");
  await browser.fill("delete-confirm", "invoic");
  check("nor by a part of the name", await submit.isDisabled(), "enabled");
  await browser.fill("delete-confirm", "invoice");
  await submit.click();
  await until("deleted", async () => (await tag()).status === 404);

  await browser.go("#/audit");
  await until("all of it in the audit", async () => {
    // It is written behind the calls, and the page reads it once.
    await browser.page.reload();
    await browser.at("audit").waitFor();
    const text = await browser.page.locator("main").innerText();
    return ["created", "raised", "changed", "deleted"].every((word) => text.includes(word));
  });
  await browser.shoot("audit");
}

const HOSTILE = [
  "<img src=x onerror=globalThis.broken=1>",
  "'\"><script>globalThis.broken=1</script>",
  "javascript:globalThis.broken=1",
  "{{globalThis.broken=1}}",
  "=cmd|' /C calc'!A0",
  "../../v1/tags",
  "a/b?c#d%2e",
];

/** Names that would be code elsewhere are text here, on every page that shows them. */
export async function hostile_names(browser) {
  const { page } = browser;
  for (const name of HOSTILE) {
    const made = await browser.call("POST", "/v1/tags", { tag: name, description: name });
    check(`made ${name}`, made.status === 201, made);
    await browser.call("POST", `/v1/tags/${encodeURIComponent(name)}/ids`, { count: 3 });
  }
  const isWhole = async (where) => {
    check(`no code ran on ${where}`, (await page.evaluate(() => globalThis.broken)) === undefined, where);
  };
  for (const route of ["#/tags", "#/tags?sort=rate", "#/audit", "#/findings", "#/"]) {
    await browser.go(route);
    await page.waitForTimeout(1500);
    await isWhole(route);
  }
  await browser.go("#/tags");
  for (const name of HOSTILE) {
    await browser.go("#/tags");
    await until(`a row of ${name}`, async () => (await page.locator("main").innerText()).includes(name));
    await browser.go(`#/tags/${encodeURIComponent(name)}`);
    await until(`the page of ${name}`, async () => (await browser.text("tag-title")) === name);
    await browser.click("take-id");
    await until(`an id of ${name}`, async () => (await browser.text("taken-id")) === "4");
    await isWhole(name);
  }
  await browser.shoot("hostile-name");
}

/** Whatever is pasted is decoded or refused, and nothing of it runs. */
export async function decode(browser) {
  const { page } = browser;
  await browser.go("#/decode");
  await browser.fill("decode-input", "01890a5d-ac96-774b-bcce-b302099a8057");
  await page.keyboard.press("Enter");
  await until("a UUID of version 7", async () => /uuid ?7|UUIDv7|version 7/i.test(await page.locator("main").innerText()));
  await browser.shoot("decode");
  for (const text of ["<script>globalThis.broken=1</script>", "x".repeat(5000), "\u202eabc", "../../x"]) {
    await browser.fill("decode-input", text);
    await page.keyboard.press("Enter");
    await page.waitForTimeout(300);
  }
  check("no code ran", (await page.evaluate(() => globalThis.broken)) === undefined, "");
}
