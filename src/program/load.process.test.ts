import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

test("the CEL engine is loaded by the door and not by the types or the inputs", () => {
  const at = (file: string) => JSON.stringify(import.meta.resolve(file));
  const script = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import(${at("./program.ts")});
    await import(${at("./request/test-input.ts")});
    const { loadPrograms } = await import(${at("./load.ts")});
    const isLoaded = () => loaded.some((url) => /\\/(?:@bufbuild|re2js)\\//.test(url));
    const before = isLoaded();
    await loadPrograms();
    console.log(before, isLoaded());
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", script]);
  assert.equal(output.toString(), "false true\n");
});
