// Links of the documents lead to files of the repository, and to headings that are there.

import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";

const ROOT = join(import.meta.dirname, "..", "..");
const pages = [...globSync("*.md", { cwd: ROOT }), ...globSync("docs/**/*.md", { cwd: ROOT })];

/** As it is linked to: small letters, a dash for each blank, nothing else but letters and digits. */
function anchors(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

test("every link of a page leads somewhere in the repository", () => {
  assert.ok(pages.length > 20);
  for (const page of pages) {
    const text = readFileSync(join(ROOT, page), "utf8").replace(/```[\s\S]*?```|`[^`\n]*`/g, "");
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      assert.doesNotMatch(target, /^[a-z]+:/, `${page}: ${target}`);
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? join(ROOT, page) : join(ROOT, dirname(page), path);
      assert.ok(existsSync(file), `${page}: there is no ${target}`);
      if (anchor === undefined) continue;
      const there = anchors(readFileSync(file, "utf8")).includes(anchor);
      assert.ok(there, `${page}: ${path} has no heading #${anchor}`);
    }
  }
});

test("every page for operators and users is in the index", () => {
  const index = readFileSync(join(ROOT, "docs", "README.md"), "utf8");
  const linked = [...index.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  const wanted = pages.filter((page) =>
    /^docs\/(?:(operations|policies)\/|(?!README)[^/]+$)/.test(page),
  );
  assert.ok(wanted.length > 8);
  for (const page of wanted) assert.ok(linked.includes(page.slice("docs/".length)), page);
});
