// Threats A where a request writes at one place what is kept at another: copies and moves of secrets are judged by
// what they write, as a write of it at the target. Through HTTP, against a whole server.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { type After, EVERYTHING, rule, scene } from "../scene.ts";

const BAD = { data: { k: "bad" } };
const GOOD = { data: { k: "good" } };

async function stageWith(t: After) {
  const stage = await scene(t);
  await stage.must("POST", "/v1/sys/mounts/kv", { body: { type: "kv" } });
  const write = (path: string, body: object) =>
    stage.must("POST", `/v1/kv/data/${path}`, { body: { ...body } });
  const found = async (path: string) =>
    (await stage.server.call("GET", `/v1/kv/metadata/${path}`, { token: stage.root })).status;
  /** Good, bad, and bad below a newer version that is good. */
  const fill = async (folder: string) => {
    await write(`${folder}/good`, GOOD);
    await write(`${folder}/bad`, BAD);
    await write(`${folder}/older`, BAD);
    await write(`${folder}/older`, GOOD);
  };
  /** Writes, copies and moves into the folder come to the same. */
  const judgedAlike = async (token: string, folder: string) => {
    const ask = (path: string, body: object) =>
      stage.server.call("POST", `/v1/kv/${path}`, { token, body: { ...body } });
    const direct = await ask(`data/${folder}/direct`, BAD);
    assert.equal(direct.status, 403, direct.text);
    for (const kind of ["copy", "move"]) {
      const source = `${folder}-from-${kind}`;
      await fill(source);
      for (const name of ["bad", "older"]) {
        const to = `${folder}/${kind}-${name}`;
        const answer = await ask(kind, { from: `${source}/${name}`, to });
        assert.equal(answer.status, 403, `${kind} ${name}: ${answer.text}`);
        assert.deepEqual(answer.json, { errors: ["permission denied"] }); // and nothing of what it holds
        assert.equal(await found(to), 404);
        assert.equal(await found(`${source}/${name}`), 200);
      }
      await write(`${source}/there`, GOOD);
      await ask("copy", { from: `${source}/there`, to: `${folder}/there-${kind}` });
      const onto = { from: `${source}/bad`, to: `${folder}/there-${kind}`, cas: 1 };
      assert.equal((await ask(kind, onto)).status, 403);
      const all = { from: source, to: `${folder}/${kind}`, recursive: true };
      const whole = await ask(kind, all);
      assert.equal(whole.status, 200, whole.text);
      assert.equal(at(whole, "data", "refused"), 2, whole.text);
      assert.equal(await found(`${folder}/${kind}/good`), 200);
      for (const name of ["bad", "older"]) {
        assert.equal(await found(`${folder}/${kind}/${name}`), 404);
      }
    }
  };
  return { stage, write, found, judgedAlike };
}

test("T-A13: what a program forbids to be written is not copied or moved there either", async (t) => {
  const { stage, judgedAlike } = await stageWith(t);
  const policy =
    '!has(request.data.data) || !has(request.data.data.k) || request.data.data.k != "bad"';
  await stage.must("POST", "/v1/sys/policies/egp/contents", {
    body: { policy, paths: "kv/data/egp/*", enforcement_level: "hard-mandatory" },
  });
  await judgedAlike(await stage.clientWith(rule("kv/*", EVERYTHING)), "egp");
});

test("T-A13: what rules on parameters forbid to be written is not copied or moved there either", async (t) => {
  const { stage, judgedAlike } = await stageWith(t);
  for (const [folder, more] of [
    ["allowed", 'allowed_parameters = { "data" = [{ "k" = "good" }]  "options" = [] }'],
    ["denied", 'denied_parameters = { "data" = [{ "k" = "bad" }] }'],
    ["needed", 'required_parameters = ["data"] denied_parameters = { "data" = [{ "k" = "bad" }] }'],
  ] as const) {
    const rules = rule("kv/*", EVERYTHING) + rule(`kv/data/${folder}/*`, EVERYTHING, more);
    await judgedAlike(await stage.clientWith(rules), folder);
  }
});

test("T-A13: where no data may be written nothing is copied, and cas is judged as that of a write", async (t) => {
  const { stage, write, found } = await stageWith(t);
  await write("from", GOOD);
  await write("to/there", GOOD);
  await write("closed/there", GOOD);
  const token = await stage.clientWith(
    rule("kv/*", EVERYTHING) +
      rule("kv/data/to/*", EVERYTHING, 'denied_parameters = { "options" = [] }') +
      rule("kv/data/closed/*", EVERYTHING, 'denied_parameters = { "data" = [] }'),
  );
  const copy = async (body: object) =>
    (await stage.server.call("POST", "/v1/kv/copy", { token, body: { from: "from", ...body } }))
      .status;
  assert.equal(await copy({ to: "closed/x" }), 403);
  assert.equal(await copy({ to: "closed/there", cas: 1 }), 403);
  assert.equal(await copy({ from: "none", to: "closed/x" }), 403); // there or not
  assert.equal(await copy({ to: "to/there", cas: 1 }), 403);
  assert.equal(await copy({ to: "to/x", cas: 0 }), 403);
  assert.equal(await found("to/x"), 404);
  assert.equal(await copy({ to: "to/x" }), 200);
  assert.equal(await copy({ from: "none", to: "to/y" }), 404);
});
