// Threats A where a request writes at one place what is kept at another: copies and moves of secrets are judged by
// what they write, as a read of it at the source and a write of it at the target. Through HTTP, against a whole
// server; only what happens in the midst of one is seen to on the engine alone.

import assert from "node:assert/strict";
import test from "node:test";
import { at } from "../../support/http-client.ts";
import { DENIED, madeKv, type MadeKv } from "../../support/made/made-kv.ts";
import { type After, EVERYTHING, rule, scene } from "../scene.ts";

const BAD = { data: { k: "bad" } };
const GOOD = { data: { k: "good" } };

type Staged = Awaited<ReturnType<typeof stageWith>>;

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

/** A secret of three versions, at each path. */
async function versioned({ write }: Staged, ...paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    for (const n of [1, 2, 3]) await write(path, { data: { n } });
  }
}

/** A program for the whole mount, which judges everybody. */
async function govern({ stage }: Staged, name: string, paths: string, policy: string) {
  const body = { policy, paths, enforcement_level: "hard-mandatory" };
  await stage.must("POST", `/v1/sys/policies/egp/${name}`, { body });
}

test("T-A13: a version that may not be read is not copied or moved to where it may", async (t) => {
  const staged = await stageWith(t);
  const { stage, found } = staged;
  const onlyNewest = 'request.operation != "read" || !has(request.data.version)';
  await govern(staged, "newest", "kv/data/program/*", onlyNewest);
  await govern(staged, "subkeys", "kv/subkeys/structure/*", onlyNewest);
  for (const [folder, more] of [
    ["none", 'denied_parameters = { "version" = [] }'],
    ["first", 'denied_parameters = { "version" = [1] }'],
    ["third", 'allowed_parameters = { "version" = [3] "data" = [] }'],
    ["program", ""],
    ["structure", ""],
  ] as const) {
    const way = folder === "structure" ? "subkeys" : "data";
    const rules = rule("kv/*", EVERYTHING) + rule(`kv/data/${folder}/*`, EVERYTHING, more);
    const token = await stage.clientWith(rules);
    const ask = (verb: string, path: string, body?: object) =>
      stage.server.call(verb, `/v1/kv/${path}`, { token, ...(body && { body: { ...body } }) });
    for (const kind of folder === "structure" ? ["move"] : ["copy", "move"]) {
      const source = `${folder}/${kind}`;
      await versioned(staged, `${source}/a`);
      assert.equal((await ask("GET", `${way}/${source}/a`)).status, 200);
      assert.equal((await ask("GET", `${way}/${source}/a?version=1`)).status, 403);
      const one = await ask("POST", kind, { from: `${source}/a`, to: `open/${source}` });
      assert.equal(one.status, 403, `${kind} ${folder}: ${one.text}`);
      assert.deepEqual(one.json, { errors: ["permission denied"] });
      const all = { from: source, to: `open/${source}/all`, recursive: true };
      const whole = await ask("POST", kind, all);
      assert.equal(at(whole, "data", "refused"), 1, `${kind} ${folder}: ${whole.text}`);
      assert.equal(await found(`open/${source}`), 404);
      assert.equal(await found(`open/${source}/all/a`), 404);
      assert.equal(await found(`${source}/a`), 200);
      // What is left when the older versions are gone may be read, and so it goes.
      await stage.must("POST", `/v1/kv/destroy/${source}/a`, { body: { versions: [1, 2] } });
      const rest = await ask("POST", kind, { from: `${source}/a`, to: `open/${source}` });
      assert.equal(rest.status, 200, `${kind} ${folder}: ${rest.text}`);
      assert.equal(await found(`open/${source}`), 200);
    }
  }
});

test("T-A13: who must name the version that it reads may copy what it reads so", async (t) => {
  const staged = await stageWith(t);
  const { stage, found } = staged;
  const must = 'required_parameters = ["version"]';
  const token = await stage.clientWith(
    rule("kv/*", EVERYTHING) +
      rule("kv/data/named/*", ["read", "delete"], must) +
      rule("kv/data/few/*", ["read"], `${must} allowed_parameters = { "version" = [3] }`),
  );
  await versioned(staged, "named/a", "few/a");
  const copy = async (from: string) =>
    (await stage.server.call("POST", "/v1/kv/copy", { token, body: { from, to: `to/${from}` } }))
      .status;
  assert.equal(await copy("named/a"), 200);
  assert.equal(await copy("few/a"), 403);
  assert.equal(await copy("named/none"), 403); // as what may not be read without
  assert.equal(await found("to/few/a"), 404);
});

test("T-A13: a target that opens to some requests is not closed: what is blind does not move there", async (t) => {
  const staged = await stageWith(t);
  const { stage, found } = staged;
  const versionsOnly = 'request.operation != "read" || has(request.data.version)';
  await govern(staged, "named", "kv/data/program/*", versionsOnly);
  await versioned(staged, "blind/a");
  const FULL = ["create", "read", "update", "delete"];
  const move = rule("kv/move", ["update"]) + rule("kv/data/blind/*", ["delete"]);
  const list = rule("kv/metadata/*", ["list"]);
  for (const [folder, rules] of [
    ["program", rule("kv/data/program/*", FULL)],
    [
      "needed",
      rule("kv/data/needed/*", ["create", "delete"]) +
        rule("kv/subkeys/needed/*", ["read"], 'required_parameters = ["depth"]'),
    ],
    [
      "wrapped",
      rule("kv/data/wrapped/*", ["create", "delete"]) +
        rule("kv/metadata/wrapped/*", ["read"], 'min_wrapping_ttl = "1s"'),
    ],
  ] as const) {
    const token = await stage.clientWith(move + list + rules);
    const ask = (body: object) =>
      stage.server.call("POST", "/v1/kv/move", { token, body: { ...body } });
    const one = await ask({ from: "blind/a", to: `${folder}/a` });
    assert.equal(one.status, 403, `${folder}: ${one.text}`);
    const all = await ask({ from: "blind", to: folder, recursive: true });
    assert.equal(at(all, "data", "refused"), 1, `${folder}: ${all.text}`);
    assert.equal(await found(`${folder}/a`), 404);
    assert.equal(await found("blind/a"), 200);
  }
});

test("T-A13: nothing moves to where it opens in any way in which the source is closed", async (t) => {
  const staged = await stageWith(t);
  const { stage, found } = staged;
  for (const way of ["data", "metadata", "subkeys"]) {
    await versioned(staged, `from/${way}`);
    const without = (place: string) =>
      rule(`kv/${way}/${place}/*`, ["create", "update", "delete", "list"]);
    const all = rule("kv/*", EVERYTHING);
    const move = async (token: string) =>
      (
        await stage.server.call("POST", "/v1/kv/move", {
          token,
          body: { from: `from/${way}`, to: `to/${way}` },
        })
      ).status;
    assert.equal(await move(await stage.clientWith(all + without("from"))), 403, way);
    assert.equal(await found(`to/${way}`), 404);
    const closed = await stage.clientWith(all + without("from") + without("to"));
    assert.equal(await move(closed), 200, way);
  }
});

test("T-A13: a deleted version opens nowhere where it could not be undeleted before", async (t) => {
  const staged = await stageWith(t);
  const { stage, found } = staged;
  const undelete = (place: string, more: string, may = ["update"]) =>
    rule(`kv/undelete/${place}/*`, may, more);
  const versions = 'required_parameters = ["versions"]';
  for (const [name, rules, goes] of [
    ["never", undelete("from", "", ["list"]) + undelete("to", versions), false],
    ["third", undelete("from", 'allowed_parameters = { "versions" = [3] }'), false],
    ["first", undelete("from", `${versions} allowed_parameters = { "versions" = [1] }`), true],
    ["closed", undelete("from", "", ["list"]) + undelete("to", "", ["list"]), true],
  ] as const) {
    const token = await stage.clientWith(rule("kv/*", EVERYTHING) + rules);
    const ask = (verb: string, path: string, body?: object) =>
      stage.server.call(verb, `/v1/kv/${path}`, { token, ...(body && { body: { ...body } }) });
    const from = `from/${name}`;
    await versioned(staged, from);
    await stage.must("POST", `/v1/kv/delete/${from}`, { body: { versions: [1] } });
    const copied = await ask("POST", "copy", { from, to: `to/${name}` });
    assert.equal(copied.status, 200, copied.text);
    await stage.must("POST", `/v1/kv/undelete/to/${name}`, { body: { versions: [1] } });
    const opened = await ask("GET", `data/to/${name}?version=1`);
    assert.equal(opened.status, goes ? 200 : 404, `${name}: ${opened.text}`);
    assert.equal((await ask("GET", `data/to/${name}?version=2`)).status, 200);
    const moved = await ask("POST", "move", { from, to: `to/${name}-moved` });
    assert.equal(moved.status, goes ? 200 : 403, `${name}: ${moved.text}`);
    assert.equal(await found(from), goes ? 404 : 200);
  }
});

/** Secrets with notes: one with two versions, one without any. */
async function noted({ stage, write }: Staged, folder: string): Promise<void> {
  const body = { custom_metadata: { owner: "hidden" }, max_versions: 7 };
  for (const name of ["a", "bare"]) {
    await stage.must("POST", `/v1/kv/metadata/${folder}/${name}`, { body });
  }
  for (const n of [1, 2]) await write(`${folder}/a`, { data: { n } });
}

test("T-A13: what writes at the target would show of a secret must be seen at the source", async (t) => {
  const staged = await stageWith(t);
  const { stage, found } = staged;
  const data = (place: string, ...may: string[]) => rule(`kv/data/${place}/*`, may);
  const list = rule("kv/metadata/*", ["list"]);
  for (const [name, rules, goes] of [
    // Writes answer with notes and the number of the version.
    ["update", [data("update", "delete"), data("to/update", "create", "update")], []],
    ["patch", [data("patch", "delete"), data("to/patch", "create", "patch")], []],
    // A first write is a create, and there is none after that.
    ["create", [data("create", "delete"), data("to/create", "create")], ["a"]],
    // Writes at the source show the same.
    [
      "updates",
      [data("updates", "delete", "update"), data("to/updates", "create", "patch")],
      ["a"],
    ],
    ["creates", [data("creates", "delete", "create"), data("to/creates", "create")], ["a", "bare"]],
    [
      "patches",
      [data("patches", "delete", "patch"), data("to/patches", "create", "update")],
      ["a"],
    ],
    [
      "metadata",
      [
        data("metadata", "delete"),
        rule("kv/metadata/metadata/*", ["read", "list"]),
        data("to/metadata", "create", "update"),
      ],
      ["a", "bare"],
    ],
    [
      "subkeys",
      [
        data("subkeys", "delete"),
        rule("kv/subkeys/subkeys/*", ["read"]),
        data("to/subkeys", "create", "update"),
      ],
      ["a"],
    ],
  ] as const) {
    await noted(staged, name);
    const rights = rules.join("") + rule("kv/move", ["create", "update"]);
    const token = await stage.clientWith(rights);
    for (const one of ["a", "bare"] as const) {
      const body = { from: `${name}/${one}`, to: `to/${name}/${one}` };
      const moved = await stage.server.call("POST", "/v1/kv/move", { token, body });
      const wanted = (goes as readonly string[]).includes(one) ? 200 : 403;
      assert.equal(moved.status, wanted, `${name}/${one}: ${moved.text}`);
      assert.equal(await found(`${name}/${one}`), wanted === 200 ? 404 : 200);
    }
    await stage.must("DELETE", `/v1/kv/metadata/to/${name}/a`);
    await noted(staged, `${name}/more`);
    const all = await stage.server.call("POST", "/v1/kv/move", {
      token: await stage.clientWith(rights + list),
      body: { from: `${name}/more`, to: `to/${name}/more`, recursive: true },
    });
    assert.equal(at(all, "data", "moved"), goes.length, `${name}: ${all.text}`);
  }
});

test("T-A13: a copy shows no settings or notes that its caller could not read at the source", async (t) => {
  const staged = await stageWith(t);
  const { stage, found } = staged;
  await noted(staged, "from");
  const data = rule("kv/data/from/*", ["read"]) + rule("kv/copy", ["update"]);
  const to = rule("kv/data/to/*", ["create", "update"]);
  const opens = rule("kv/metadata/to/*", ["read"]);
  for (const [name, rules, statuses] of [
    ["closed", data + to, [200, 403]],
    ["open", data + to + opens, [403, 403]],
    ["both", data + to + opens + rule("kv/metadata/from/*", ["read"]), [200, 200]],
  ] as const) {
    const token = await stage.clientWith(rules);
    for (const [nth, one] of ["a", "bare"].entries()) {
      const body = { from: `from/${one}`, to: `to/${name}-${one}` };
      const copied = await stage.server.call("POST", "/v1/kv/copy", { token, body });
      assert.equal(copied.status, statuses[nth], `${name} ${one}: ${copied.text}`);
      assert.equal(await found(body.to), copied.status === 200 ? 200 : 404);
    }
  }
});

test("T-A13: nothing moves to where the recycle bin shows of it what it did not before", async (t) => {
  const staged = await stageWith(t);
  const { stage, write } = staged;
  const base =
    rule("kv/move", ["update"]) +
    rule("kv/recycle", ["list"]) +
    rule("kv/data/from/*", ["delete"]) +
    rule("kv/metadata/", ["list"]) +
    rule("kv/metadata/to/*", ["list"]);
  const create = rule("kv/data/to/*", ["create"]);
  const deletes = rule("kv/data/to/*", ["create", "delete"]);
  const lists = rule("kv/metadata/from/*", ["list"]);
  for (const [name, rules, live, deleted] of [
    ["blind", base + create, 200, 403],
    ["deletes", base + deletes, 403, 403],
    ["versions", base + create + rule("kv/delete/to/*", ["update"]), 403, 403],
    ["lists", base + deletes + lists, 200, 200],
    ["reads", base + deletes + rule("kv/subkeys/from/*", ["read"]), 200, 200],
    ["writes", base + deletes + rule("kv/data/from/*", ["delete", "update"]), 200, 403],
  ] as const) {
    const token = await stage.clientWith(rules);
    for (const [kind, wanted] of [
      ["live", live],
      ["deleted", deleted],
    ] as const) {
      const path = `${name}-${kind}`;
      await write(`from/${path}`, GOOD);
      if (kind === "deleted") await stage.must("DELETE", `/v1/kv/data/from/${path}`);
      const body = { from: `from/${path}`, to: `to/${path}` };
      const moved = await stage.server.call("POST", "/v1/kv/move", { token, body });
      assert.equal(moved.status, wanted, `${path}: ${moved.text}`);
    }
  }
});

test("T-A17: a source that changes while it is judged is judged again", async () => {
  for (const kind of ["copy", "move"]) {
    for (const change of [
      { before: [], after: (kv: MadeKv) => kv.put("a", { n: "bad" }) },
      {
        before: [2], // which does not go along, and then would
        after: (kv: MadeKv) => kv.post("undelete/a", { versions: [2] }),
      },
    ]) {
      const kv = await madeKv();
      await kv.put("a", { n: "good" });
      await kv.put("a", { n: "bad" });
      await kv.put("a", { n: "good" });
      if (change.before.length === 0) await kv.post("destroy/a", { versions: [2] });
      else await kv.post("delete/a", { versions: change.before });
      const changes: Promise<unknown>[] = [];
      kv.may = (capability, path, fields) => {
        if (path === "engine/undelete/a") return kind === "move";
        if (capability !== "create" || path !== "engine/data/b") return true;
        if (changes.length === 0) changes.push(change.after(kv));
        return JSON.stringify(fields?.["data"]) !== JSON.stringify({ n: "bad" });
      };
      assert.deepEqual(await kv.refusal(kv.post(kind, { from: "a", to: "b" })), DENIED, kind);
      await Promise.all(changes);
      assert.deepEqual(await kv.rows("secrets/"), ["secrets/a"]);
    }
  }
});
