import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

test("what runs programs is loaded with the first one, and not by a server that has none", () => {
  const at = (file: string) => JSON.stringify(import.meta.resolve(file));
  const script = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { Governing } = await import(${at("./governing.ts")});
    await import(${at("./governing-policies.ts")});
    await import(${at("../inspection/inspection.ts")});
    const isLoaded = () => loaded.some((url) => /\\/(?:re2js|program\\/running)\\//.test(url));
    const before = isLoaded();
    await Governing.prototype.programs.call(new Governing({}));
    console.log(before, isLoaded());
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script]);
  assert.equal(output.toString(), "false true\n");
});
