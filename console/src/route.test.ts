// Guards the addresses of pages: the names of tags are hostile.
import { expect, it } from "vitest";
import { pageLink, parseRoute, tagLink } from "./route";

it("knows every page", () => {
  expect(parseRoute("").page).toBe("overview");
  expect(parseRoute("#/").page).toBe("overview");
  expect(parseRoute(pageLink("servers")).page).toBe("servers");
  expect(parseRoute("#/nothing").page).toBe("unknown");
  expect(parseRoute("#/workers/3").page).toBe("unknown");
});

it("carries any tag there and back", () => {
  for (const tag of ["order", "a/b", "50%", "a?b#c", "订单", "<img src=x>", "..", "%2F"]) {
    expect(parseRoute(tagLink(tag))).toMatchObject({ page: "tags", tag });
  }
});

it("does not fail at broken escapes", () => {
  expect(parseRoute("#/tags/%E0%A4").tag).toBe("%E0%A4");
});

it("reads a query", () => {
  expect(parseRoute("#/tags?sort=rate&search=a%3F").query.get("search")).toBe("a?");
});
