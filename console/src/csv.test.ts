// Guards the exported file: hostile names must not run in the spreadsheet of its reader.
import { expect, it } from "vitest";
import { csv } from "./csv";

it("quotes what CSV needs quoted", () => {
  expect(
    csv(
      ["a", "b"],
      [
        ["x,y", 'say "hi"'],
        ["two\nlines", null],
      ],
    ),
  ).toBe('a,b\r\n"x,y","say ""hi"""\r\n"two\nlines",\r\n');
});

it("puts a quote before formulas", () => {
  const cells = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "a=1", "'=1"];
  expect(
    csv(
      [],
      cells.map((cell) => [cell]),
    )
      .split("\r\n")
      .slice(1, -1),
  ).toEqual(["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", '"\'\r=1"', "a=1", "'=1"]);
});

it("guards the heads, and formulas that need quoting as well", () => {
  expect(csv(["=head"], [['=HYPERLINK("http://x","y")']])).toBe('\'=head\r\n"\'=HYPERLINK(""http://x"",""y"")"\r\n');
});
