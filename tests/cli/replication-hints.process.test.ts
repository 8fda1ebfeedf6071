// What is said next to whoever types a command against clusters among others: it can be typed as it stands.

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { inSync, joined, startCluster, startPrimary } from "../support/replication/clusters.ts";
import { run, type Ran, type RunOptions } from "./harness.ts";
import { Person, words } from "./replication-person.ts";

test("on a disaster-recovery secondary attention takes an operation token, and says so; evidence takes it in the place of another", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a, "site-b", { clusterPort: null });
  await inSync(a, b);
  const person = new Person(t);
  const typed = (line: string, options: RunOptions = {}): Promise<Ran> => {
    const env = { HOLDFAST_ADDR: b.server.url, HOLDFAST_TOKEN: a.token, HOME: person.home };
    return run(line.split(" "), { ...options, env: { ...env, ...options.env } });
  };
  const refused = await typed("attention");
  assert.match(words(refused), /Next: give an operation token .* with -dr-token FILE/);
  const other = await typed("evidence list");
  assert.match(words(other), /Next: give an operation token or a ticket in HOLDFAST_TOKEN/);
  const file = await person.operate(b, a.opened.shares[0] ?? "");
  const answered = await typed(`attention -dr-token ${file}`);
  assert.equal(answered.code, 0, answered.all);
  assert.match(words(answered), /replication\.no-port/);
  assert.doesNotMatch(answered.all, /-address/);
  // What would mend these is refused here: the primary tells of them.
  assert.doesNotMatch(answered.all, /audit\.none|snapshot\.none/);
  const named = await typed(`attention -address ${b.server.url} -dr-token ${file}`);
  assert.match(words(named), /are for this server: with -address http/);
  const planned = await person.at(b, `failover -plan -address ${b.server.url} -dr-token ${file}`);
  assert.match(words(planned), /typed with -address http/);
  // One that serves goes by the token of whoever asks, whatever the environment has besides.
  const env = { HOLDFAST_ADDR: a.server.url, HOLDFAST_DR_OPERATION_TOKEN: "none" };
  const ofPrimary = await typed("attention", { env });
  assert.equal(ofPrimary.code, 0);
  assert.match(words(ofPrimary), /audit\.none/);
});

test("on a disaster-recovery secondary attention tells of the audit device that its own configuration declares", async (t) => {
  const a = await startPrimary(t);
  const person = new Person(t);
  const options = { file_path: join(person.home, "trail.log"), log_raw: "true" };
  const settings = { audit: { file: { trail: { options } } } };
  const b = await joined(t, a, "site-b", { clusterPort: null, settings });
  await inSync(a, b);
  const file = await person.operate(b, a.opened.shares[0] ?? "");
  const env = { HOLDFAST_ADDR: b.server.url, HOME: person.home };
  const answered = await run(["attention", "-dr-token", file], { env });
  assert.match(words(answered), /log-raw trail/);
  assert.doesNotMatch(answered.all, /audit\.single/);
});

test("who names an address of the server's machine is told what opens it, also by a dry run", async (t) => {
  const a = await startPrimary(t);
  const b = await joined(t, a, "site-b");
  await inSync(a, b);
  const person = new Person(t);
  const file = await person.operate(b, a.opened.shares[0] ?? "");
  const { primary_cluster_addr: at } = await b.status();
  assert.ok(typeof at === "string");
  for (const more of ["", " -dry-run"]) {
    const line = `update-primary -dr-token ${file} -at ${at}${more}`;
    const refused = await person.at(b, line, { env: { COLUMNS: "400" } });
    assert.notEqual(refused.code, 0, refused.all);
    assert.match(words(refused), /a loopback address, which outbound_allow of the/, line);
    assert.match(
      words(refused),
      /Next: .*outbound_allow = \["127\.0\.0\.1"\].*followed already/,
      line,
    );
  }
});

test("who pastes a token wrongly is told how it is given", async (t) => {
  const [a, b] = [await startPrimary(t), await startCluster(t)];
  const person = new Person(t);
  for (const line of ["join -yes -", "join -yes -dry-run -"]) {
    const nonsense = await person.at(b, line, { stdin: "nonsense" });
    assert.notEqual(nonsense.code, 0, nonsense.all);
    assert.match(words(nonsense), /Next: .*the whole .*one line/, line);
  }
  // The rest of a token that was pasted in two lines is no answer to the question that comes next.
  for (const typed of [["eyJjdCI6IngiLCJl", "eyJ9"], ["a.b"], ["one two"]]) {
    const cut = await person.at(b, "join", { typed });
    assert.equal(cut.code, 2, cut.all);
    assert.match(words(cut), /not the whole of one.*Next:.* give the whole of it, one line/);
    assert.doesNotMatch(cut.all, /Replace ALL data/);
  }
  const two = await person.at(b, "join -yes -", { stdin: "one two" });
  assert.match(words(two), /no more Next: .*alone, as one line/);
  const file = person.keep("token", "one two");
  assert.match(words(await person.at(b, `join -yes @${file}`)), /no more Next: fill it with/);
  const key = await person.at(a, "token -public-key nonsense site-b");
  assert.match(words(key), /Next: .*`holdfast replication public-key` on the other cluster/);
});
