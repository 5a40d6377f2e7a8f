// Guards what counts as one pasted id.
import { expect, it } from "vitest";
import { idsIn } from "./decode";

it("takes one id a line, without the marks of JSON around it", () => {
  expect(idsIn(" 1 \n\n\"2\",\n'3'\n1\nSO 4\n")).toEqual(["1", "2", "3", "SO 4"]);
});
