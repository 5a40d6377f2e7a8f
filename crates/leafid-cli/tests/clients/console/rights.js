// Tokens: what a wrong one, a reading one and an admin's one see.
import { check, until } from "./browser.js";

async function log_in(browser, token) {
  await browser.open({});
  await browser.go("#/tags");
  await browser.at("login-token").waitFor();
  await browser.fill("login-token", token);
  await browser.click("login-submit");
}

export async function tokens(browser) {
  const { facts, page: _first } = browser;
  await browser.open({});
  await browser.go("#/");
  await browser.at("login-token").waitFor();
  await browser.axe("the login");
  await browser.shoot("login");

  await log_in(browser, "this is not the secret");
  await browser.at("login-wrong").waitFor();
  check("no cookie for a wrong token", (await browser.context.cookies()).length === 0, "a cookie");

  await log_in(browser, facts.reader);
  await browser.at("tags").waitFor();
  check("a reader is offered no change", (await browser.at("create-tag").count()) === 0, "create");
  await browser.go("#/tags/order");
  await browser.at("segment-first").waitFor();
  for (const change of ["tag-change", "tag-raise", "tag-delete", "tag-quota-button"]) {
    check(`a reader is not offered ${change}`, (await browser.at(change).count()) === 0, change);
  }
  await browser.shoot("reader");
  const refused = await browser.page.evaluate(async () => {
    const body = JSON.stringify({ tag: "forbidden" });
    const headers = { "content-type": "application/json" };
    return (await fetch("/v1/tags", { method: "POST", headers, body })).status;
  });
  check("a reader's call is refused", refused === 403, refused);

  await log_in(browser, facts.admin);
  await browser.at("create-tag").waitFor();
  const [cookie, ...others] = await browser.context.cookies();
  check("one cookie", others.length === 0, others);
  check("no script reads it", cookie.httpOnly && cookie.sameSite === "Strict", cookie);
  check("it is not the secret", !cookie.value.includes(facts.admin), "the secret");
  const kept = await browser.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  check("the secret is kept nowhere", !kept.includes(facts.admin), kept);
  await browser.click("create-tag");
  await browser.fill("create-name", "by-admin");
  await browser.click("create-dialog-submit");
  const headers = { authorization: `Bearer ${facts.admin}` };
  await until("the tag", async () => (await browser.call("GET", "/v1/tags/by-admin", undefined, headers)).status === 200);
  await browser.click("log-out");
  await browser.at("login-token").waitFor();
  check("no cookie after the logout", (await browser.context.cookies()).length === 0, "a cookie");
}
