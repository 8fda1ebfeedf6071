// `holdfast replication …` against whole clusters with real TLS between them: a failover and back as people do it, and
// what a person on call reads on the way.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import {
  inSync,
  joined,
  rejoined,
  startCluster,
  startPrimary,
} from "../support/replication/clusters.ts";
import { CertificateFiles, TestAuthority } from "../support/certificates.ts";
import { at } from "../support/http-client.ts";
import { until } from "../support/until.ts";
import { run } from "./harness.ts";
import { fits, Person, words } from "./replication-person.ts";

async function pair(t: TestContext) {
  const primary = await startPrimary(t);
  await primary.put("x", { n: "1" });
  const secondary = await joined(t, primary);
  await inSync(primary, secondary);
  return { primary, secondary, person: new Person(t), share: primary.opened.shares[0] ?? "" };
}

test("a cluster joins by a token that is sealed to it, fails over and back, by these commands alone", async (t) => {
  const [a, b] = [await startCluster(t), await startCluster(t)];
  const person = new Person(t);
  const alone = await person.must(a, "status");
  assert.match(words(alone), /on its own.*`holdfast replication enable`/);
  await person.must(a, "enable");
  const without = await person.at(a, "status");
  assert.equal(without.code, 2, without.all);
  assert.match(words(without), /Secondaries none.*`holdfast replication token -public-key KEY ID`/);
  const key = (await person.must(b, "public-key")).stdout.trim();
  const issued = await person.must(a, `token -public-key ${key} site-b`);
  assert.match(
    words(issued),
    /`holdfast replication join -`.*`holdfast replication update-primary /,
  );
  const token = issued.stdout;
  const awaited = await person.at(a, "status");
  assert.equal(awaited.code, 2, awaited.all);
  assert.match(words(awaited), /site-b <none> not come yet/);

  const tried = await person.must(b, "join -dry-run -", { stdin: token });
  assert.match(tried.stdout, /^hello +https:\/\/\S+ +ok$/m);
  const useless = await person.at(b, "join -dry-run -", { stdin: "nonsense" });
  assert.equal(useless.code, 2, useless.all);
  assert.match(useless.stdout, /^token +<none> +\S/m);
  assert.equal((await b.status())["mode"], "disabled");

  const unasked = await person.at(b, "join -", { stdin: token });
  assert.equal(unasked.code, 2, unasked.all);
  assert.match(unasked.stderr, /-yes/);
  const declined = await person.at(b, "join", { typed: [token.trim(), "n"] });
  assert.equal(declined.code, 1, declined.all);
  assert.match(words(declined), /Replace ALL data/);
  assert.ok(!declined.all.includes(token.trim()), "what is typed is not shown");
  assert.equal((await b.status())["mode"], "disabled");

  const done = await person.must(b, "join -yes -", { stdin: token });
  assert.match(done.stdout, /is a secondary\.\nIt has everything, and streams\./);
  await until(async () => (await person.at(a, "status")).code === 0);
  const seen = await person.must(a, "status", { columns: 80 });
  assert.match(seen.stdout, /^site-b +stream-wals +connected +0 entries +\S/m);
  for (const line of seen.stdout.split("\n")) assert.ok(line.length <= 80, line);
  const own = await person.must(b, "status", { columns: 80 });
  assert.match(own.stdout, /^This Cluster +secondary site-b$/m);
  assert.match(own.stdout, /^State +streaming \(stream-wals\)$/m);
  assert.match(own.stdout, /^Behind +0 entries$/m);
  for (const line of own.stdout.split("\n")) assert.ok(line.length <= 80, line);

  const [share = ""] = a.opened.shares;
  let dr = await person.operate(b, share);
  const early = await person.at(b, `failover -plan -dr-token ${dr}`);
  assert.equal(early.code, 2, early.all);
  assert.match(early.stdout, /^\[!\] +primary-gone +the primary is alive and connected/m);
  assert.match(words(early), /Next 1 on the primary \(http\S+\): holdfast replication demote/);
  const gaveWay = await person.must(a, "demote -yes", { columns: 80, typed: [] });
  assert.match(words(gaveWay), /Next: `holdfast replication promote -dr-token FILE` on the/);
  fits(gaveWay);
  const demoted = await person.at(a, "status");
  assert.equal(demoted.code, 2);
  assert.match(words(demoted), /without a primary.*update-primary/);
  const ready = await person.must(b, `promote -dry-run -dr-token ${dr}`);
  assert.match(
    words(ready),
    /Can Take Over yes The Primary it was demoted.* Would Be Lost nothing/,
  );
  const [, report = ""] = /Signed Report +(\S+)/.exec(ready.stdout) ?? [];
  const env = { HOLDFAST_ADDR: b.server.url, HOME: person.home };
  const held = readFileSync(dr, "utf8").trim();
  const signed = await run(["evidence", "read", report], {
    env: { ...env, HOLDFAST_TOKEN: held },
  });
  assert.equal(signed.code, 0, signed.all);
  assert.match(signed.stdout, /replication\.rehearsal/);
  await person.must(b, `promote -dr-token ${dr}`);

  // and a follows: its token of before is good at b, whose data is a's
  dr = await person.operate(a, share);
  const back = (await person.must(a, `public-key -dr-token ${dr}`)).stdout.trim();
  const again = (await person.must(b, `token -public-key ${back} site-a`, {}, a)).stdout;
  const file = person.keep("token", again);
  const found = await person.must(a, `update-primary -dry-run -dr-token ${dr} @${file}`);
  assert.match(found.stdout, /^hello +https:\/\/\S+ +ok$/m);
  assert.equal((await a.status())["secondary_id"], "");
  const followed = await person.must(a, `update-primary -dr-token ${dr} @${file}`);
  assert.match(followed.stdout, /It has everything, and streams/);
  await inSync(b, a);
});

test("status of a secondary that is cut off, revoked or without its primary says so, with exit code 2", async (t) => {
  const { primary, secondary, person } = await pair(t);
  const declined = await person.at(primary, "revoke site-b", { typed: ["n"] });
  assert.equal(declined.code, 1, declined.all);
  assert.deepEqual((await primary.status())["known_secondaries"], ["site-b"]);
  await person.must(primary, `revoke -yes ${await secondary.clusterId()}`);
  assert.deepEqual((await primary.status())["known_secondaries"], [], "by the id of its cluster");
  await until(async () => (await secondary.status())["state"] === "idle");
  const revoked = await person.at(secondary, "status");
  assert.equal(revoked.code, 2, revoked.all);
  assert.match(revoked.stdout, /^State +idle: nothing is replicated \(idle\)$/m);
  assert.match(
    words(revoked),
    /has revoked it\. Next, where .* public-key .*`holdfast replication update-primary -dr-token FILE @TOKEN` here/,
  );
  const json = await person.at(secondary, "status -format=json");
  assert.equal(json.code, 2);
  const { dr, performance } = JSON.parse(json.stdout);
  assert.deepEqual([dr.secondary_id, performance], ["site-b", { mode: "disabled" }]);
  const one = await person.at(secondary, "status -kind dr -format=json");
  assert.equal(JSON.parse(one.stdout).secondary_id, "site-b");
  assert.equal(json.stderr, "");
});

test("status sends a token where there is one, and answers without one, and with one that nobody knows", async (t) => {
  const { primary, person } = await pair(t);
  const of = async (token: string) =>
    (await person.must(primary, "status -format=json", { env: { HOLDFAST_TOKEN: token } })).stdout;
  const known = await of(primary.token);
  assert.match(known, /"cluster_addr": *"https:\/\/127/);
  for (const token of ["", "00000000-0000-4000-8000-000000000000"]) {
    assert.doesNotMatch(await of(token), /"cluster_addr"/, token);
  }
  person.keep(".holdfast-token", "x"); // for another server, or nobody's
  const quiet = await person.must(primary, "status", { env: { HOLDFAST_TOKEN: "" } });
  assert.doesNotMatch(quiet.stderr, /is not sent/);
});

test("who is revoked is said only where somebody was", async (t) => {
  const { primary, person } = await pair(t);
  const nobody = await person.must(primary, "revoke -yes site-x");
  assert.doesNotMatch(nobody.all, /Success/);
  assert.match(words(nobody), /no secondary here has the name site-x \(those are site-b\)/);
  const lineOf = (id: string) =>
    primary.server.lines.find((one) => one.includes("secondary-revoked") && one.includes(id));
  await person.must(primary, `token -public-key ${Buffer.alloc(32, 9).toString("base64")} site-y`);
  const unused = await person.must(primary, "revoke -yes site-y");
  assert.match(words(unused), /Where it has ever come, it still holds data and keys/);
  assert.match(lineOf("site-y") ?? "", /\[INFO\].*before anybody came with it/);
  const found = await person.must(primary, "revoke -yes site-b");
  assert.match(found.stdout, /Success! Revoked the secondary site-b/);
  assert.match(lineOf("site-b") ?? "", /\[WARN\].*still holds the keys/);
});

test("a token with an address that nobody has says where it comes from", async (t) => {
  const [primary, b] = [await startCluster(t), await startCluster(t)];
  const person = new Person(t);
  await person.must(primary, "enable -cluster-address https://127.0.0.1:9");
  const key = (await person.must(b, "public-key")).stdout.trim();
  const { stdout: token } = await person.must(primary, `token -public-key ${key} site-b`);
  const tried = await person.at(b, "join -dry-run -", { stdin: token });
  assert.match(
    words(tried),
    /^.*connect https:\/\/127\.0\.0\.1:9 .*Next: .*mend the Cluster Address .*`cluster_addr`/,
  );
  const refused = await person.at(b, "join -yes -", { stdin: token });
  assert.match(words(refused), /Next: .*mend the Cluster Address .*-dry-run shows the address/);
});

test("a forced promotion without anybody to ask is refused, and says by which flag it is meant", async (t) => {
  const { secondary, person, share } = await pair(t);
  const dr = await person.operate(secondary, share);
  const refused = await person.at(secondary, `promote -force -dr-token ${dr}`);
  assert.equal(refused.code, 2, refused.all);
  assert.match(words(refused), /nobody to ask.*add -yes/);
  assert.equal((await secondary.status())["mode"], "secondary");
  assert.equal((await person.at(secondary, `promote -force -dry-run -dr-token ${dr}`)).code, 2);
});

test("where status is told to tokens alone, commands that ask for the role send theirs", async (t) => {
  const settings = { replication: { status_access: "authenticated" } };
  const primary = await startPrimary(t, { settings });
  const person = new Person(t);
  assert.equal((await person.at(primary, "status")).code, 2);
  const denied = await person.at(primary, "status", { env: { HOLDFAST_TOKEN: "" } });
  assert.equal(denied.code, 4, denied.all);
  await person.must(primary, "recover");
});

test("on a terminal of 80 columns nothing breaks inside a word, and the planned way is apart from the forced one", async (t) => {
  const { primary, secondary, person, share } = await pair(t);
  const screen = { columns: 80, typed: [] };
  const dr = await person.operate(secondary, share);
  const plan = `failover -plan -dr-token ${dr}`;
  const early = await person.at(secondary, plan, screen);
  fits(early);
  assert.match(words(early), /Can Take Over not yet: see primary-gone/);
  assert.match(words(early), /Next 2 here: holdfast replication promote -dr-token FILE /);
  assert.doesNotMatch(early.stdout, /^Next.*-force/m);
  assert.match(words(early), /Or By Force .*promote -force -dr-token FILE Signed Report/);
  await primary.replication.rest();
  await until(async () => /^And /m.test((await person.at(secondary, plan)).stdout));
  fits(await person.at(secondary, plan, screen));
  const cut = await person.at(secondary, "status", screen);
  assert.match(cut.stdout, /^Last Error/m);
  fits(cut);
});

test("a primary that was superseded by force is shown as fenced", async (t) => {
  const { primary, secondary, person, share } = await pair(t);
  const dr = await person.operate(secondary, share);
  const refused = await person.at(secondary, `promote -dr-token ${dr}`);
  assert.equal(refused.code, 1, refused.all);
  assert.match(
    words(refused),
    /primary-gone.*demote it first.*Next: see `holdfast replication failover -plan -dr-token FILE`/,
  );
  const env = { HOLDFAST_ADDR: secondary.server.url, HOLDFAST_TOKEN: primary.token };
  const ordinary = await run(["read", "sys/mounts"], { env: { ...env, HOME: person.home } });
  assert.match(words(ordinary), /disaster-recovery secondary.*Next: send it to the primary/);
  for (const [line, next] of [
    ["enable", /Next: .*`holdfast replication promote -dr-token FILE`/],
    ["demote -yes", /Next: .*`holdfast replication update-primary -dr-token FILE @TOKEN`/],
    [
      `join -yes @${person.keep("activation", "a-token")}`,
      /Next: .*`holdfast replication update-primary -dr-token FILE @TOKEN`/,
    ],
  ] as const) {
    const wrong = await person.at(secondary, line, {}, primary);
    assert.equal(wrong.code, 1, wrong.all);
    assert.match(words(wrong), next);
    assert.doesNotMatch(words(wrong), /send it to the primary/);
  }
  await person.must(secondary, `promote -force -yes -dr-token ${dr}`);
  await until(async () => (await primary.status())["state"] === "fenced");
  const fenced = await person.at(primary, "status", { columns: 80 });
  assert.equal(fenced.code, 2, fenced.all);
  assert.match(words(fenced), /FENCED: another cluster was promoted.*replication demote/);
  const demoted = await person.must(primary, "demote -yes", { columns: 80, typed: [] });
  assert.match(words(demoted), /Next: a ticket and a token of the cluster that leads/);
  fits(demoted);
});

test("an operation token comes from a file, a pipe, the environment or a prompt, and never from the command line", async (t) => {
  const { primary, secondary, person, share } = await pair(t);
  const unasked = await person.at(secondary, "operation-token -field token", { stdin: share });
  assert.equal(unasked.code, 2, unasked.all);
  assert.match(words(unasked), /in steps: .*token start.*token share -nonce NONCE.*token decode /);
  const started = await person.must(secondary, "operation-token start -format json");
  const { nonce, otp } = JSON.parse(started.stdout) as { nonce: string; otp: string };
  const running = await person.must(secondary, "operation-token status");
  assert.match(running.stdout, /^Started +true$/m);
  const other = await person.at(secondary, "operation-token share -nonce other -", {
    stdin: share,
  });
  assert.equal(other.code, 1, other.all);
  const last = `operation-token share -nonce ${nonce} -field encoded_token -`;
  const encoded = (await person.must(secondary, last, { stdin: share })).stdout;
  const decode = `operation-token decode -otp - -field token ${encoded}`;
  const token = (await person.must(secondary, decode, { stdin: otp })).stdout;
  const withHint = await person.must(secondary, `operation-token decode -otp - ${encoded}`, {
    stdin: otp,
  });
  assert.match(
    words(withHint),
    /`holdfast replication operation-token delete -dr-token FILE` ends it/,
  );
  const recover = "recover";
  const clear = await person.at(secondary, `recover -dr-token ${token}`);
  assert.equal(clear.code, 2, clear.all);
  assert.ok(!clear.all.includes(token), clear.all);
  const none = await person.at(secondary, recover);
  assert.equal(none.code, 2, none.all);
  assert.match(words(none), /HOLDFAST_DR_OPERATION_TOKEN/);
  await person.must(secondary, `${recover} -dr-token -`, { stdin: `${token}\n` });
  await person.must(secondary, recover, { env: { HOLDFAST_DR_OPERATION_TOKEN: token } });
  const typed = await person.must(secondary, recover, { typed: [token] });
  assert.ok(!typed.all.includes(token) && typed.raw.includes(true), "typed without echo");
  const file = person.keep("dr-token", token);
  await person.must(secondary, `operation-token delete -dr-token ${file}`);
  assert.equal((await person.at(secondary, `recover -dr-token ${file}`)).code, 4);

  await person.must(secondary, "operation-token start");
  await person.must(secondary, "operation-token cancel");
  assert.equal((await person.at(secondary, "operation-token cancel")).code, 3);
  const ticket = (await person.must(primary, "ticket -ttl 1h -field ticket recover")).stdout;
  const kept = person.keep("ticket", ticket);
  await person.must(secondary, `recover -dr-token ${kept}`);
  const beyond = await person.at(secondary, `failover -plan -dr-token ${kept}`);
  assert.equal(beyond.code, 4, beyond.all);
  assert.match(
    words(beyond),
    /Next: give an operation token or a ticket with -dr-token FILE or in HOLDFAST_DR_OPERATION_TOKEN/,
  );
});

test("who asks for a token while somebody else makes one is refused before a share is typed, and loses nothing", async (t) => {
  const { secondary, person, share } = await pair(t);
  const otp = "o".repeat(36);
  await person.must(secondary, `operation-token start -otp @${person.keep("otp", otp)}`);
  const early = await person.at(secondary, "operation-token -field token", { typed: [share] });
  assert.equal(early.code, 2, early.all);
  const [, nonce = ""] = /operation-token cancel -nonce (\S+?)`/.exec(words(early)) ?? [];
  const attempt = await person.must(secondary, "operation-token status -format json");
  const { nonce: running, progress } = JSON.parse(attempt.stdout) as Record<string, unknown>;
  assert.deepEqual([nonce, progress], [running, 0], "no share was taken");
  const piped = await person.at(secondary, "operation-token share -field token -", {
    stdin: share,
  });
  assert.equal(piped.code, 2, piped.all);

  // With a password that is of another attempt the token can still be read afterwards.
  const wrong = person.keep("wrong", "x".repeat(7));
  const covered = await person.at(secondary, `operation-token -otp @${wrong} -field token`, {
    typed: [share],
  });
  assert.equal(covered.code, 2, covered.all);
  const [, encoded = ""] = /operation-token decode`: (\S+)/.exec(words(covered)) ?? [];
  const decode = `operation-token decode -otp - -field token ${encoded}`;
  const token = (await person.must(secondary, decode, { stdin: otp })).stdout;
  await person.must(secondary, "recover -dr-token -", { stdin: token });

  await person.must(secondary, "operation-token start");
  const seen = await person.must(secondary, "operation-token status -format json");
  const { nonce: other } = JSON.parse(seen.stdout) as { nonce: string };
  await person.must(secondary, `operation-token cancel -nonce ${other}`);
  await person.operate(secondary, share);
});

test("who is logged in at one cluster is told how to at the other, and not where an operation token is used", async (t) => {
  const { primary, secondary, person, share } = await pair(t);
  const env = { HOLDFAST_ADDR: primary.server.url, HOLDFAST_TOKEN: "", HOME: person.home };
  assert.equal((await run(["login", "-"], { env, stdin: primary.token })).code, 0);
  const there = ["-address", secondary.server.url];
  const dr = await person.operate(secondary, share);
  for (const line of ["public-key", "recover", "failover -plan", "merkle-check"]) {
    const ran = await run(["replication", ...line.split(" "), ...there, "-dr-token", dr], { env });
    assert.doesNotMatch(ran.stderr, /is not sent|holdfast login/, line);
  }
  const other = await startCluster(t);
  const at = other.server.url;
  const denied = await run(["replication", "enable", "-address", at], { env });
  assert.equal(denied.code, 4, denied.all);
  const login = `\`holdfast login -address ${at}\``;
  assert.match(denied.stderr, /is not sent to/);
  assert.equal(denied.stderr.split(login).length, 3, denied.stderr);

  const status = await run(["status", ...there], { env });
  assert.equal(status.code, 0, status.all);
  assert.match(status.stdout, /^Replication +disaster-recovery secondary$/m);
  assert.ok(
    status.stderr.includes(`\`holdfast replication status -address ${secondary.server.url}\``),
    status.stderr,
  );
  const doctor = await run(["doctor", ...there], { env });
  assert.equal(doctor.code, 0, doctor.all);
  assert.match(doctor.stdout, /^replication +good +disaster-recovery secondary: streaming/m);
  assert.doesNotMatch(doctor.stdout, /wrong|^(?:token|audit|disk) {2}/m);
  await person.must(primary, "revoke -yes site-b");
  await until(async () => (await secondary.status())["state"] === "idle");
  const ill = await run(["doctor", ...there], { env });
  assert.equal(ill.code, 1, ill.all);
  assert.match(words(ill), /replication wrong .*update-primary/);
});

test("a cluster without a cluster port is warned when it joins, and its rehearsal fails", async (t) => {
  const a = await startPrimary(t);
  const b = await startCluster(t, { clusterPort: null });
  const person = new Person(t);
  const key = (await person.must(b, "public-key")).stdout.trim();
  const token = (await person.must(a, `token -public-key ${key} site-b`)).stdout;
  const tried = await person.must(b, "join -dry-run -", { stdin: token });
  assert.match(words(tried), /Warning: this server has no cluster port/);
  const warned = await person.must(b, "join -yes -", { stdin: token });
  assert.match(words(warned), /Warning: this server has no cluster port.*cluster_address/);
  await inSync(a, b);
  const { promotable_reasons: reasons } = await b.status();
  assert.ok(Array.isArray(reasons) && reasons.includes("cluster-port"));
  const dr = await person.operate(b, a.opened.shares[0] ?? "");
  await person.must(a, "demote -yes");
  await until(async () => {
    const plan = await person.at(b, `failover -plan -dr-token ${dr}`);
    return plan.stdout.includes("[x]    primary-gone");
  });
  const plan = await person.at(b, `failover -plan -dr-token ${dr}`);
  assert.equal(plan.code, 2, plan.all);
  assert.match(plan.stdout, /^\[ \] +cluster-port +this server has no cluster port/m);
  assert.match(
    words(plan),
    /Can Take Over no, not even by force.*Next 1 here: add cluster_address/,
  );
  const refused = await person.at(b, `promote -force -yes -dr-token ${dr}`);
  assert.equal(refused.code, 1, refused.all);
  assert.match(words(refused), /no cluster port/);
});

test("generate-root -dr-token makes an operation token too, and disable ends the part of either side", async (t) => {
  const { primary, secondary, person, share } = await pair(t);
  const env = { HOLDFAST_ADDR: secondary.server.url, HOME: person.home };
  const made = await run(["operator", "generate-root", "-dr-token", "-field", "token"], {
    env,
    typed: [share],
  });
  assert.equal(made.code, 0, made.all);
  const dr = person.keep("dr-token", made.stdout);
  const declined = await person.at(secondary, `disable -dr-token ${dr}`, { typed: ["n"] });
  assert.equal(declined.code, 1, declined.all);
  await until(async () => (await secondary.status())["state"] === "stream-wals");
  await person.must(secondary, `disable -yes -dr-token ${dr}`);
  assert.equal((await secondary.status())["mode"], "disabled");
  await person.must(primary, "disable -yes");
  assert.equal((await primary.status())["mode"], "disabled");
});

test("trees are checked and made anew on either side, and replication begins anew", async (t) => {
  const { primary, secondary, person, share } = await pair(t);
  const dr = await person.operate(secondary, share);
  for (const [cluster, how] of [
    [primary, ""],
    [secondary, ` -dr-token ${dr}`],
  ] as const) {
    const checked = await person.must(cluster, `merkle-check -deep${how}`, { columns: 80 });
    assert.match(checked.stdout, /^replicated +yes +none$/m);
    assert.match(checked.stdout, /^All Adds Up +yes$/m);
    assert.match(checked.stdout, /^Damaged Values +0$/m);
    const reindexed = await person.must(cluster, `reindex -diff${how}`);
    assert.match(reindexed.stdout, /^Success! A reindex has begun\.$/m);
    const recovered = await person.must(cluster, `recover${how}`);
    assert.match(recovered.stdout, /^Success! Links are being opened again\.$/m);
    assert.equal((await person.at(cluster, `divergent list${how}`)).code, 3);
  }
  for (const cluster of [primary, secondary]) {
    await until(async () => (await cluster.status())["last_reindex_epoch"] !== "0");
  }
  const declined = await person.at(primary, "reindex -force", { typed: ["n"] });
  assert.equal(declined.code, 1, declined.all);
  await inSync(primary, secondary);
  const history = await person.must(secondary, "status -history", { columns: 80 });
  assert.match(history.stdout, /^site-b +\S+Z? +0 +\S+$/m);
});

test("a wrapped token is unwrapped at the API of the primary, by the certificate that the command is given", async (t) => {
  const authority = await TestAuthority.make();
  const files = new CertificateFiles();
  t.after(() => files.remove());
  files.write(await authority.issue("localhost"));
  const { certFile, keyFile } = files;
  const plain = { address: "127.0.0.1:0", tls_disable: true };
  const secure = { address: "127.0.0.1:0", tls_cert_file: certFile, tls_key_file: keyFile };
  const a = await startPrimary(t, { settings: { listener: [{ tcp: plain }, { tcp: secure }] } });
  const b = await startCluster(t, { settings: { outbound_allow: ["127.0.0.1"] } });
  const person = new Person(t);
  const api = a.server.server.addresses.find((one) => one.startsWith("https:")) ?? "";
  const token = (await person.must(a, "token -field token site-b")).stdout;
  assert.equal(token.split(".").length, 3);
  const ca = person.keep("ca.pem", authority.pem);
  const untrusted = await person.at(b, `join -yes -primary-address ${api} -`, { stdin: token });
  assert.equal(untrusted.code, 1, untrusted.all);
  assert.equal((await b.status())["mode"], "disabled");
  const how = `-primary-address ${api} -primary-ca-cert ${ca}`;
  const done = await person.must(b, `join -yes ${how} -`, { stdin: token });
  assert.match(done.stdout, /It has everything, and streams/);
  await inSync(a, b);
});

test("what only a superseded primary had is listed and exported, page by page", async (t) => {
  const { primary: a, secondary: b, person, share } = await pair(t);
  await b.replication.rest(); // cut off
  for (let i = 0; i < 3; i++) await a.put(`alone-${i}`, { n: "1" });
  await b.replication.promote({ force: true, address: "" });
  await until(async () => (await a.status())["state"] === "fenced");
  await person.must(a, "demote -yes");
  await rejoined(b, a, "site-a", a.opened.shares);
  await inSync(b, a);
  const dr = await person.operate(a, share);
  const status = await person.must(a, "status");
  assert.match(
    words(status),
    /Given Up \d+ entries.*30 days.*`holdfast replication divergent list/,
  );
  const misspelt = await person.at(a, `divergent export -dr-token ${dr} nonsense`);
  assert.match(words(misspelt), /`holdfast replication divergent list`/);
  const listed = await person.must(a, `divergent list -dr-token ${dr}`, { columns: 80 });
  const [tail = ""] = /^\d+-\d+-\d+/m.exec(listed.stdout) ?? [];
  assert.notEqual(tail, "", listed.all);
  assert.ok(
    words(listed).includes(
      `\`holdfast replication divergent export -dr-token FILE ${tail} > lost.jsonl\``,
    ),
    listed.all,
  );
  const exported = await person.must(a, `divergent export -dr-token ${dr} ${tail}`);
  const lines = exported.stdout.trim().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as { index: number; changed: string[] });
  assert.ok(entries.length >= 3, exported.all);
  assert.ok(entries.every(({ index }, i) => i === 0 || index === entries[i - 1]!.index + 1));
  const first = entries[0]?.index ?? 0;
  const path = `/v1/sys/replication/divergent/${tail}?after=${first}`;
  const rest = await a.server.call("GET", path, { token: readFileSync(dr, "utf8").trim() });
  const left = at(rest, "data", "entries") as { index: number }[];
  assert.deepEqual([left.length, left[0]?.index], [entries.length - 1, first + 1]);
  const unknown = await person.at(a, `divergent export -dr-token ${dr} 1-1-1`);
  assert.equal(unknown.code, 3, unknown.all);
  assert.match(words(unknown), /`holdfast replication divergent list` names those there are/);
});

test("an empty file in the place of a token is named, with how it is filled; a token that has ended, with how another is made", async (t) => {
  const person = new Person(t);
  const cluster = await startCluster(t);
  const empty = person.keep("empty", "\n");
  const joining = await person.at(cluster, `join -yes @${empty}`);
  assert.equal(joining.code, 2);
  assert.match(
    words(joining),
    /\/empty is empty: .* Next: .*`holdfast replication token -public-key KEY ID > FILE`/,
  );
  const recovering = await person.at(cluster, `promote -dr-token ${empty}`);
  // At night the primary is what is gone, and a secondary makes no tickets: what it can make is from key shares.
  assert.match(
    words(recovering),
    /\/empty of -dr-token is empty: .*`holdfast replication ticket -field ticket OPERATION > FILE` on the primary, .*key shares with `holdfast replication operation-token -field token > FILE` here/,
  );
  const piped = await person.at(cluster, "join -yes -", { stdin: "" });
  assert.match(words(piped), /standard input holds no activation token Next: look at the file/);

  const primary = await startPrimary(t);
  const key = (await person.must(cluster, "public-key")).stdout.trim();
  const made = await person.must(primary, `token -ttl 1s -public-key ${key} site-b`);
  // What is for the other cluster does not name this one's address.
  assert.match(
    words(made),
    /`holdfast replication join -` on site-b .*`holdfast replication update-primary -dr-token FILE @TOKEN` there/,
  );
  const token = person.keep("token", made.stdout);
  await until(async () => {
    const status = await person.at(primary, "status");
    return status.code === 0 && /site-b .*token ended/.test(words(status));
  });
  const late = await person.at(cluster, `join -yes @${token}`);
  assert.equal(late.code, 1);
  assert.match(
    words(late),
    /(?:has expired|ended before).* make another one: `holdfast replication revoke ID` on the primary .* `holdfast replication token -public-key KEY ID` there, with the key of `holdfast replication public-key/,
  );
  const trial = await person.at(cluster, `join -dry-run @${token}`);
  assert.equal(trial.code, 2);
  assert.match(words(trial), /Nothing was changed. Next: (?:another token of|do what) the primary/);
});
