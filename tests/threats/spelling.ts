// Other spellings of a path: what somebody writes who hopes that one reader tidies up and another does
// not.

import type { Dice } from "./dice.ts";

/** The same path to somebody who tidies up, written in another way. */
export function misspell(path: string, dice: Dice): string {
  let out = path;
  for (let i = dice.below(3); i >= 0; i--) {
    const where = 1 + dice.below(out.length - 1);
    const char = out[where] ?? "x";
    const hex = char.charCodeAt(0).toString(16).padStart(2, "0");
    const slash = out.indexOf("/", where);
    const put = (text: string, from = where, to = where) =>
      (out = out.slice(0, from) + text + out.slice(to));
    switch (dice.below(12)) {
      case 0:
        put(`%${hex.toUpperCase()}`, where, where + 1);
        break;
      case 1:
        put(`%${hex}`, where, where + 1);
        break;
      case 2:
        put(`%25${hex}`, where, where + 1);
        break;
      case 3:
        if (slash > 0) put("//", slash, slash + 1);
        break;
      case 4:
        if (slash > 0) put("/./", slash, slash + 1);
        break;
      case 5:
        if (slash > 0) put("/a/../", slash, slash + 1);
        break;
      case 6:
        if (slash > 0) put(dice.of(["%2F", "%2f", "\\", "%5C", "%5c"]), slash, slash + 1);
        break;
      case 7:
        out += dice.of(["%00", "%20", ".", "/.", "/..", "%0A", "%E2%80%8B", "?list=true", "/"]);
        break;
      case 8:
        put(dice.of(["%00", "%C0%80", "%EF%BB%BF", "%AD", "%09"]));
        break;
      case 9:
        put(`%u00${hex}`, where, where + 1);
        break;
      case 10:
        if (slash > 0) put(dice.of(["/%2e/", "/%2E%2E/locked/", "/.%2e/"]), slash, slash + 1);
        break;
      default:
        out += dice.of(["#", "#/", "/%2e%2e/x", "?__proto__=1", "?a=1&a=2"]);
    }
  }
  return out;
}
