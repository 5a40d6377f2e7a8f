// A stand-in for the server while one works on the pages: serves the built files with the real
// policy, and plausible moving values. `?scenario=NAME` in the address chooses what it shows and is
// kept in a cookie; `SCENARIO` in the environment is the default. See `scenarios.mjs`.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import * as answers from "./answers.mjs";
import { SCENARIOS } from "./scenarios.mjs";

const BUILT = new URL("../../crates/leafid-server/src/frontends/http/console/generated/", import.meta.url);
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
const port = Number(process.env.PORT ?? 8099);
const LIVE_MS = 20_000;

function cookies(request) {
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim().split("="));
  return Object.fromEntries(pairs);
}

function problem(status, code, detail, next) {
  return { status, body: { type: `urn:leafid:problem:${code}`, title: code, status, detail, code, next } };
}

async function file(response, name, request) {
  const text = await readFile(new URL(name, BUILT));
  const headers = { "content-type": TYPES[name.split(".").pop()], "content-security-policy": POLICY };
  headers["x-content-type-options"] = "nosniff";
  const zipped = (request.headers["accept-encoding"] ?? "").includes("gzip");
  if (zipped) headers["content-encoding"] = "gzip";
  response.writeHead(200, headers).end(zipped ? gzipSync(text) : text);
}

function json(response, { status, body }) {
  const type = status >= 400 ? "application/problem+json" : "application/json";
  const headers = { "content-type": type, "cache-control": "no-store" };
  response.writeHead(status, headers).end(body === null ? "" : JSON.stringify(body));
}

function live(request, response, scenario, tag) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
  response.write("retry: 200\n\n");
  const send = () => {
    response.write(`event: overview\ndata: ${JSON.stringify(answers.overview(scenario))}\n\n`);
    if (tag === null) return;
    const detail = answers.tag(scenario, tag);
    const [name, data] = detail === null ? ["problem", unknownTag(tag).body] : ["tag", detail];
    response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  send();
  const timer = setInterval(send, 1000);
  const end = setTimeout(() => response.end(), LIVE_MS);
  request.on("close", () => (clearInterval(timer), clearTimeout(end)));
}

const unknownTag = (tag) => problem(404, "unknown_tag", `there is no tag "${tag}"`, `leafid tag create '${tag}'`);

async function bodyOf(request) {
  let text = "";
  for await (const part of request) text += part;
  return text === "" ? {} : JSON.parse(text);
}

async function handle(request, response) {
  const url = new URL(request.url, "http://mock");
  const path = url.pathname;
  if (path === "/" || path === "/console") {
    const chosen = url.searchParams.get("scenario");
    if (chosen !== null) response.setHeader("set-cookie", `scenario=${chosen}; Path=/`);
    return file(response, "index.html", request);
  }
  if (/^\/console\/(app\.js|app\.css|favicon\.svg)$/.test(path)) return file(response, path.slice(9), request);
  const kept = cookies(request);
  const scenario = SCENARIOS[kept.scenario] ?? SCENARIOS[process.env.SCENARIO] ?? SCENARIOS.healthy;
  const token = scenario.needs_token ? (kept.token ?? null) : null;
  const session = () => answers.session(scenario, token);
  if (path === "/console/session") {
    if (request.method === "GET") return json(response, { status: 200, body: session() });
    if (request.method === "DELETE") {
      response.setHeader("set-cookie", "token=; Path=/; Max-Age=0");
      return json(response, { status: 204, body: null });
    }
    const { token } = await bodyOf(request);
    if (token !== "admin" && token !== "viewer") {
      return json(response, problem(401, "bad_token", "unknown token", "use a token of the access file"));
    }
    response.setHeader("set-cookie", `token=${token}; Path=/; HttpOnly; SameSite=Strict`);
    return json(response, { status: 200, body: answers.session(scenario, token) });
  }
  if (scenario.needs_token && token === null) {
    return json(response, problem(401, "no_token", "the server requires a token", "log in"));
  }
  if (path === "/console/live") return live(request, response, scenario, url.searchParams.get("tag"));
  if (request.method !== "GET" && request.headers["content-type"] !== "application/json") {
    return json(response, problem(403, "undeclared", "no content-type", "declare application/json"));
  }
  const body = request.method === "GET" ? {} : await bodyOf(request);
  const answer = answers.route(scenario, request.method, path, url.searchParams, body);
  json(response, answer ?? problem(404, "not_found", `there is nothing at ${path}`, "see docs/http.md"));
}

createServer((request, response) => {
  handle(request, response).catch((error) => json(response, problem(500, "mock", String(error), "mend the mock")));
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/?scenario=healthy`));
