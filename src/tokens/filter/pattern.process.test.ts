import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

test("the engine for patterns is loaded for a filter with a pattern, and for no other", () => {
  const script = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { parseFilter } = await import(${JSON.stringify(import.meta.resolve("./filter.ts"))});
    const isLoaded = () => loaded.some((url) => url.includes("/re2js/"));
    const clock = { now: () => 0n, elapsed: () => 0n };
    await parseFilter("Name == x and any Policies as p { p contains y }", { clock });
    const before = isLoaded();
    await parseFilter("not any Policies as p { p matches y or p == x }", { clock });
    console.log(before, isLoaded());
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script]);
  assert.equal(output.toString(), "false true\n");
});
