import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import { SECOND } from "@holdfast/shared/text/duration";
import { Failure } from "@holdfast/shared/failure";
import { Reply } from "@holdfast/shared/endpoint/reply";
import { nextTurn } from "../../tests/support/fake-world.ts";
import {
  dataOf,
  errorsOf,
  get,
  makeFront,
  post,
  request,
  type Front,
  type RawAnswer,
} from "../../tests/support/http-front.ts";
import { ForwardedFor } from "./request/forwarded.ts";
import { addAliases } from "./response-headers.ts";
import { NOMAD, OWN, VAULT } from "./request/header-names.ts";

describe("headers and bodies", () => {
  let front: Front;
  afterEach(() => front.close());

  /** One request on a connection of its own. */
  async function once(bytes: string): Promise<RawAnswer> {
    const client = await front.client();
    const answer = await client.ask(bytes);
    client.destroy();
    return answer;
  }

  const status = async (...headers: string[]) => (await once(get("/v1/sys/a", ...headers))).status;

  describe("what a request says about itself", () => {
    test("T-B24: one credential, under any of its names; two that differ are 400", async () => {
      front = await makeFront();
      for (const name of [
        "X-Service-Token: s",
        "x-vault-token: s",
        "X-NOMAD-TOKEN: s",
        "Authorization: bearer s",
      ]) {
        assert.equal(dataOf(await once(get("/v1/sys/a", name))).credential, "s");
      }
      assert.equal(
        await status("X-Service-Token: s", "X-Vault-Token: s", "Authorization: Bearer s"),
        200,
      );
      assert.equal(await status("X-Service-Token: s", "X-Vault-Token: t"), 400);
      assert.equal(await status("X-Vault-Token: s", "X-Nomad-Token: t"), 400);
      assert.equal(await status("X-Service-Token: s", "Authorization: Bearer t"), 400);
      assert.equal(await status("X-Service-Token: s", "X-Service-Token: s"), 400);
      assert.equal(await status("Authorization: Bearer s", "Authorization: Bearer s"), 400);
      for (const more of ["s junk", "s\tjunk", "s , s", "s s"]) {
        assert.equal(await status(`Authorization: Bearer ${more}`), 400, more);
        assert.equal(await status("X-Service-Token: s", `Authorization: bearer  ${more}`), 400);
      }
      for (const good of ["Bearer s", "bearer   s", "Bearer s  ", "Basic czpz s"]) {
        assert.equal(await status(`Authorization: ${good}`), 200, good);
      }
      assert.equal(dataOf(await once(get("/v1/sys/a", "X-Vault-Token:"))).credential, null);
      assert.equal(
        dataOf(await once(get("/v1/sys/a", "Authorization: Basic eDp5"))).credential,
        null,
      );
      // Nobody can have it: a credential that is not known, as others are.
      assert.equal(await status("X-Service-Token: \xe4"), 200);
    });

    test("an empty header is no credential, and a UUID is the same in either case", async () => {
      front = await makeFront();
      const id = "11111111-aaaa-4bbb-8ccc-dddddddddddd";
      const credential = async (...headers: string[]) =>
        dataOf(await once(get("/v1/sys/a", ...headers))).credential;
      assert.equal(await credential("X-Service-Token:", "Authorization: Bearer s"), "s");
      assert.equal(await credential("X-Nomad-Token:", "X-Service-Token: s"), "s");
      assert.equal(await credential("X-Service-Token: s", "X-Vault-Token:"), "s");
      for (const other of ["X-Nomad-Token:", "Authorization: Bearer"]) {
        const both = [`X-Service-Token: ${id}`, `${other} ${id.toUpperCase()}`];
        const found = await credential(...both);
        assert.ok(typeof found === "string" && found.toLowerCase() === id);
      }
      assert.equal(await status("X-Service-Token: s", "X-Nomad-Token: S"), 400);
      assert.equal(await status("X-Service-Token:", "X-Service-Token: s"), 400);
    });

    test("T-O01: a refusal never repeats what it refuses", async () => {
      front = await makeFront();
      const canary = "canary-7a1c";
      for (const headers of [
        [`X-Service-Token: ${canary}`, "X-Vault-Token: other"],
        [`X-Service-Wrap-TTL: ${canary}\xff`],
        [`X-Service-Policy-Override: ${canary}`],
        [`Expect: ${canary}`],
        [`Content-Length: ${canary}`],
        [`Transfer-Encoding: ${canary}`],
      ]) {
        const answer = await once(get("/v1/sys/a", ...headers));
        assert.equal(answer.status, 400);
        assert.ok(!JSON.stringify([answer.body, ...answer.headers]).includes(canary));
      }
      assert.ok(!front.world.lines.join("").includes(canary));
    });

    for (const name of [
      "Host: localhost",
      "X-Service-Namespace: a",
      "X-Service-Wrap-TTL: 5",
      "X-Service-Wrap-Format: jwt",
      "X-Service-Policy-Override: true",
      "X-Service-Index: 5",
      "X-Service-Inconsistent: fail",
      "X-Vault-Namespace: a",
      "Origin: http://localhost",
      "Content-Type: application/json",
      "Content-Encoding: identity",
    ]) {
      test(`the header ${name.split(":")[0]} may come only once`, async () => {
        front = await makeFront();
        const repeats = name.startsWith("Host") ? [name] : [name, name];
        const answer = await once(get("/v1/sys/a", ...repeats));
        assert.equal(answer.status, 400);
        assert.equal(answer.headers.get("x-service-error"), "header_repeated");
        assert.equal(front.seen.length, 0);
      });
    }

    test("states come once or twice, under either name, and are told apart by commas too", async () => {
      front = await makeFront();
      for (const headers of [
        ["X-Service-State: a", "X-Service-State: b"],
        ["X-Service-State: a", "X-Vault-Index: b"],
        ["X-Vault-Index: a, b"],
        ["X-Service-State: a,b", "X-Vault-Index: a"],
      ]) {
        await once(get("/v1/sys/a", ...headers));
        assert.deepEqual(front.seen.at(-1)?.states, ["a", "b"]);
        assert.equal(front.seen.at(-1)?.header("x-service-state"), "a, b");
      }
      const many = await once(get("/v1/sys/a", "X-Service-State: a, b, c"));
      assert.equal(many.status, 400);
    });

    test("namespace, wrapping and override are read, under our names and the aliases", async () => {
      front = await makeFront();
      await once(
        get(
          "/v1/sys/a",
          "X-Service-Namespace: /a/b/",
          "X-Service-Wrap-TTL: 90",
          "X-Service-Policy-Override: true",
        ),
      );
      await once(
        get(
          "/v1/sys/a",
          "X-Vault-Namespace: c",
          "X-Vault-Wrap-TTL: 1m",
          "X-Vault-Policy-Override: 1",
        ),
      );
      await once(get("/v1/sys/a", "X-Vault-Wrap-TTL: 365d", "X-Vault-Wrap-Format: JWT"));
      await once(get("/v1/sys/a"));
      const seen = front.seen.map(({ namespace, wrapTtl, wrapForm, policyOverride }) => [
        namespace,
        wrapTtl,
        wrapForm,
        policyOverride,
      ]);
      assert.deepEqual(seen, [
        ["/a/b/", 90n * SECOND, "token", true],
        ["c", 60n * SECOND, "token", true],
        [null, 365n * 86_400n * SECOND, "jwt", false],
        [null, null, "token", false],
      ]);
      for (const ttl of ["soon", "0", "0s", "-1s", "999ms", "366d", "31536001"]) {
        assert.equal(await status(`X-Service-Wrap-TTL: ${ttl}`), 400, ttl);
      }
      assert.equal(await status("X-Service-Wrap-Format: xml"), 400);
      assert.equal(await status("X-Service-Namespace: \xe4"), 400);
      assert.equal(await status("X-Service-Namespace: a", "X-Vault-Namespace: b"), 400);
    });

    test("the override is one of six words, and a refusal names the header that was sent", async () => {
      front = await makeFront();
      const words = ["true", "TRUE", "1", "t", "false", "0", "F", ""];
      for (const word of words) await once(get("/v1/sys/a", `X-Service-Policy-Override: ${word}`));
      assert.deepEqual(
        front.seen.map(({ policyOverride }) => policyOverride),
        [true, true, true, true, false, false, false, false],
      );
      for (const name of ["X-Service-Policy-Override", "X-Vault-Policy-Override"]) {
        const answer = await once(get("/v1/sys/a", `${name}: banana`));
        assert.equal(answer.status, 400);
        const text = `failed to parse ${name} header: it must be true, false, 1, 0, t or f`;
        assert.deepEqual(JSON.parse(answer.body).errors, [text]);
      }
      assert.equal(front.seen.length, words.length);
    });

    test("the pipeline finds headers by name, all values of them, and ours under an alias", async () => {
      front = await makeFront();
      await once(
        get("/v1/sys/a", "X-Forwarded-Proto: a", "x-forwarded-proto: b", "X-Vault-Index: state"),
      );
      const [incoming] = front.seen;
      assert.equal(incoming?.header("x-forwarded-proto"), "a, b");
      assert.equal(incoming?.header("x-service-state"), "state");
      assert.equal(incoming?.header("x-service-index"), undefined);
      assert.equal(incoming?.header("x-absent"), undefined);
    });

    test("with the aliases off, their headers are like any others", async () => {
      front = await makeFront({}, { compat: false });
      const answer = await once(
        get("/v1/sys/a", "X-Vault-Token: s", "X-Nomad-Token: t", "X-Vault-Namespace: n"),
      );
      assert.deepEqual([dataOf(answer).credential, dataOf(answer).namespace], [null, null]);
      assert.ok([...answer.headers.keys()].every((name) => !/^x-(vault|nomad)/.test(name)));
      assert.equal(front.seen[0]?.header("x-service-token"), undefined);
      assert.equal(front.seen[0]?.header("x-vault-token"), "s");
    });

    test("a listener can demand the mark that our own programs set", async () => {
      front = await makeFront({ requireRequestHeader: true });
      assert.equal(await status(), 403);
      assert.equal(await status("X-Service-Request: false"), 403);
      assert.equal(await status("X-Service-Request: true"), 200);
      assert.equal(await status("X-Vault-Request: true"), 200);
    });
  });

  describe("bodies", () => {
    const sent = async (type: string | null, body = '{"a":1}', verb = "POST") => {
      const types = type === null ? [] : [`Content-Type: ${type}`];
      const length = `Content-Length: ${Buffer.byteLength(body)}`;
      const client = await front.client();
      await client.send(request(verb, "/v1/sys/a", length, ...types) + body);
      const answer = await client.answer(verb === "HEAD");
      client.destroy();
      return answer.status;
    };

    test("JSON may come as JSON, under no type, and as what curl says by itself", async () => {
      front = await makeFront();
      for (const type of [
        null,
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json;charset="utf-8"',
        "application/x-www-form-urlencoded",
      ]) {
        assert.equal(await sent(type), 200, String(type));
        assert.equal(await sent(type, ' \r\n\t{"a":1}'), 200, String(type));
        assert.equal(await sent(type, '{"a":1}', "PUT"), 200);
        assert.equal(await sent(type, '{"a":1}', "DELETE"), 200);
      }
    });

    test("T-N12: real forms and all other types are 415", async () => {
      front = await makeFront();
      assert.equal(await sent("application/x-www-form-urlencoded", "a=1"), 415);
      assert.equal(
        await sent("application/x-www-form-urlencoded", ""),
        200,
        "nothing at all is not a form",
      );
      for (const type of [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json\ta",
        "application/json; charset=utf-16",
        "application/json, text/plain",
        "application/jsonx",
        "application/merge-patch+json",
        "application/octet-stream",
        "x",
      ]) {
        assert.equal(await sent(type), 415, type);
      }
    });

    test("PATCH needs the type of a merge patch", async () => {
      front = await makeFront();
      assert.equal(await sent("application/merge-patch+json", "{}", "PATCH"), 200);
      assert.equal(await sent("application/json", "{}", "PATCH"), 415);
      assert.equal(await sent(null, "{}", "PATCH"), 415);
      assert.equal(await sent(null, "", "PATCH"), 415);
    });

    test("T-N12: an encoded body is 415, whatever the encoding", async () => {
      front = await makeFront();
      for (const encoding of ["gzip", "br", "identity", "x"]) {
        const answer = await once(post("/v1/sys/a", "{}", `Content-Encoding: ${encoding}`));
        assert.equal(answer.status, 415);
      }
      assert.equal(front.seen.length, 0);
    });

    test("GET, LIST and HEAD take no body, in neither form", async () => {
      front = await makeFront();
      for (const verb of ["GET", "LIST", "HEAD"]) {
        assert.equal(await sent(null, "{}", verb), 400);
        const client = await front.client();
        await client.send(`${request(verb, "/v1/sys/a", "Transfer-Encoding: chunked")}0\r\n\r\n`);
        assert.equal((await client.answer(verb === "HEAD")).status, 400);
        client.destroy();
      }
      assert.equal(front.seen.length, 0);
      assert.equal(await status("Content-Length: 0"), 200);
    });

    test("a body that ends too soon is an error to its reader, and to nobody else", async () => {
      front = await makeFront();
      const outcome = Promise.withResolvers<unknown>();
      front.script = async (incoming) => {
        await incoming.body(1000).then(outcome.resolve, outcome.resolve);
        return {};
      };
      const client = await front.client();
      await client.send(`${request("POST", "/v1/sys/a", "Content-Length: 10")}{`);
      await front.settled();
      client.destroy();
      const error = await outcome.promise;
      assert.ok(error instanceof Failure);
      assert.equal(error.code, "body-incomplete");
      await nextTurn();
      assert.equal(await status(), 204);
    });
  });

  describe("what every answer carries", () => {
    test("no-store, nosniff, an id and a type, on refusals too", async () => {
      front = await makeFront();
      const answers = [
        await once(get("/v1/sys/a")),
        await once(get("/nowhere")),
        await once(get("/v1/sys/a", "X-Service-Token: a", "X-Vault-Token: b")),
        await once("RUBBISH\r\n\r\n"),
        await once(get("/ui")),
      ];
      assert.deepEqual(
        answers.map((answer) => answer.status),
        [200, 404, 400, 400, 307],
      );
      const ids = new Set<string | undefined>();
      for (const { headers, status: code } of answers) {
        assert.equal(headers.get("cache-control"), "no-store");
        assert.equal(headers.get("x-content-type-options"), "nosniff");
        assert.match(headers.get("x-service-request-id") ?? "", /^[0-9a-f-]{36}$/);
        ids.add(headers.get("x-service-request-id"));
        if (code !== 307) assert.equal(headers.get("content-type"), "application/json");
        assert.equal(headers.get("strict-transport-security"), undefined, "not without TLS");
      }
      assert.equal(ids.size, answers.length);
      assert.equal(JSON.parse(answers[0]?.body ?? "").request_id, front.seen[0]?.id);
    });

    test("our headers are said again in the family of names that the request used", async () => {
      front = await makeFront();
      front.script = () => ({
        result: new Reply([], { headers: { "X-Service-NextToken": "n", "X-Service-State": "s" } }),
        family: "acl",
        index: 9n,
      });
      const names = ({ headers }: RawAnswer) =>
        [...headers.keys()].filter((name) => name.startsWith("x-"));
      const own = [
        "x-content-type-options",
        "x-service-request-id",
        "x-service-nexttoken",
        "x-service-state",
        "x-service-index",
      ];
      const plain = await once(get("/v1/acl/tokens"));
      assert.deepEqual(names(plain), own);
      const nomad = await once(get("/v1/acl/tokens", "X-Nomad-Token: t"));
      assert.deepEqual(names(nomad), [
        ...own,
        "x-nomad-request-id",
        "x-nomad-nexttoken",
        "x-nomad-index",
      ]);
      assert.equal(nomad.headers.get("x-nomad-index"), "9");
      const vault = await once(get("/v1/acl/tokens", "X-Vault-Request: true"));
      assert.deepEqual(names(vault), [
        ...own,
        "x-vault-request-id",
        "x-vault-nexttoken",
        "x-vault-index",
      ]);
      assert.equal(vault.headers.get("x-vault-index"), "s", "the opaque state, not the number");
    });

    test("a request in two families is answered in both", () => {
      const headers = ["X-Service-Index", "1", "Content-Type", "x"];
      addAliases(headers, OWN | VAULT | NOMAD);
      assert.deepEqual(headers, [
        "X-Service-Index",
        "1",
        "Content-Type",
        "x",
        "X-Nomad-Index",
        "1",
      ]);
    });

    test("an operator's headers go by status, the narrower rule wins, and they can be replaced", async () => {
      front = await makeFront({
        responseHeaders: {
          default: { "X-Frame": "a", "X-Region": "eu" },
          "4xx": { "X-Frame": "b" },
          "404": { "x-frame": "c" },
        },
      });
      const frame = async (target: string, ...headers: string[]) => {
        const answer = await once(get(target, ...headers));
        assert.equal(answer.headers.get("x-region"), "eu");
        return answer.headers.get("x-frame");
      };
      assert.equal(await frame("/v1/sys/a"), "a");
      assert.equal(await frame("/v1/sys/a", "Expect: x"), "b");
      assert.equal(await frame("/nowhere"), "c");
      front.bound.setResponseHeaders({ default: { "X-Region": "eu" } });
      assert.equal(await frame("/v1/sys/a"), undefined);
      for (const headers of [
        { "X-Service-Token": "x" },
        { "Content-Length": "5" },
        { "X-A": "a\r\nb" },
        { "not a name": "x" },
      ]) {
        assert.throws(
          () => front.bound.setResponseHeaders({ default: headers }),
          /custom_response_headers/,
        );
      }
      assert.throws(() => front.bound.setResponseHeaders({ "7xx": {} }), /custom_response_headers/);
      assert.equal(await frame("/v1/sys/a"), undefined);
    });

    test("T-O02: an error that is our own says nothing but where to look", async () => {
      front = await makeFront();
      const secret = "cannot connect to 10.1.2.3:5432 /var/lib/x";
      front.script = () => {
        throw new Error(secret);
      };
      const answer = await once(get("/v1/sys/a"));
      assert.equal(answer.status, 500);
      const id = answer.headers.get("x-service-request-id") ?? "";
      assert.deepEqual(JSON.parse(answer.body), { errors: ["internal error"], request_id: id });
      const line = front.world.lines.find((text) => text.includes(id)) ?? "";
      assert.match(line, /headers\.test\.ts/, "the log knows where");
      assert.ok(!front.world.lines.join("").includes("10.1.2.3"), "and repeats nothing");
    });

    test("T-O02: an answer that cannot be written is a 500 as well, and the connection goes on", async () => {
      front = await makeFront();
      const client = await front.client();
      const broken = { number: 5n } as unknown as { number: number };
      front.script = () => ({ result: new Reply(broken) });
      assert.equal((await client.ask(get("/v1/sys/a"))).status, 500);
      front.script = () => ({
        result: new Failure("damaged", "entry-damaged", "an entry is damaged"),
      });
      const damaged = await client.ask(get("/v1/sys/a"));
      assert.deepEqual([damaged.status, errorsOf(damaged)], [500, ["an entry is damaged"]]);
      assert.ok(front.world.lines.some((line) => line.includes("an entry is damaged")));
      client.destroy();
    });

    test("HEAD is answered with the head alone", async () => {
      front = await makeFront();
      const client = await front.client();
      await client.send(request("HEAD", "/v1/sys/health"));
      const answer = await client.answer(true);
      assert.equal(answer.status, 200);
      assert.ok(Number(answer.headers.get("content-length")) > 100);
      assert.equal((await client.ask(get("/v1/sys/a"))).status, 200);
      client.destroy();
    });

    test("what was answered is told for the metrics, with the time it took", async () => {
      front = await makeFront();
      front.script = () => {
        front.world.clock.pass(5n * SECOND);
        return {
          result: new Failure("denied", "x", "permission denied"),
          mountType: "kv",
          operation: "list",
        };
      };
      await once(get("/v1/kv/a"));
      await once(get("/nowhere"));
      assert.deepEqual(front.facts, [
        { operation: "list", mountType: "kv", status: 403, nanos: 5n * SECOND },
        { operation: null, mountType: "", status: 404, nanos: 0n },
      ]);
    });
  });

  describe("who asks, behind a proxy", () => {
    const remote = async (...headers: string[]) => {
      assert.equal(await status(...headers), 200);
      const { address, loopback } = front.seen.at(-1)?.remote ?? assert.fail("it did not arrive");
      return [address, loopback];
    };

    test("X-Forwarded-For is believed from those who were named, and read from its end", async () => {
      front = await makeFront({ forwardedForAuthorized: ["127.0.0.1", "10.0.0.0/8"] });
      assert.deepEqual(await remote(), ["127.0.0.1", true]);
      assert.deepEqual(await remote("X-Forwarded-For: 192.0.2.7"), ["192.0.2.7", false]);
      assert.deepEqual(await remote("X-Forwarded-For: 203.0.113.9, 192.0.2.7, 10.1.1.1"), [
        "192.0.2.7",
        false,
      ]);
      assert.deepEqual(await remote("X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 192.0.2.7"), [
        "192.0.2.7",
        false,
      ]);
      assert.deepEqual(await remote("X-Forwarded-For: 10.2.2.2, 10.1.1.1"), ["10.2.2.2", false]);
      assert.deepEqual(await remote("X-Forwarded-For: 192.0.2.7:5000"), ["192.0.2.7", false]);
      assert.deepEqual(await remote("X-Forwarded-For: [2001:db8::1]:5000"), ["2001:db8::1", false]);
      assert.deepEqual(await remote("X-Forwarded-For: 2001:db8::1"), ["2001:db8::1", false]);
      assert.equal(await status("X-Forwarded-For: somewhere"), 400);
      assert.equal(await status("X-Forwarded-For: 1.2.3.4,,"), 400);
      assert.equal(await status(`X-Forwarded-For: ${"10.1.1.1,".repeat(40)}1.1.1.1`), 400);
    });

    test("from anybody else it is not, but nobody behind a proxy counts as being on this machine", async () => {
      front = await makeFront({ forwardedForAuthorized: ["10.0.0.0/8"] });
      assert.deepEqual(await remote("X-Forwarded-For: 192.0.2.7"), ["127.0.0.1", false]);
      assert.deepEqual(await remote("Via: 1.1 proxy"), ["127.0.0.1", false]);
      assert.deepEqual(await remote("Forwarded: for=192.0.2.7"), ["127.0.0.1", false]);
      assert.deepEqual(await remote(), ["127.0.0.1", true]);
    });

    test("what is no address or network is refused with the configuration", async () => {
      front = await makeFront();
      for (const entry of [
        "",
        "example.org",
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0.0/8/8",
        "::/129",
      ]) {
        assert.throws(() => new ForwardedFor([entry]), /x_forwarded_for_authorized_addrs/);
      }
      assert.equal(new ForwardedFor(["2001:db8::/32"]).believes("2001:db8::5"), true);
      assert.equal(new ForwardedFor(["2001:db8::/32"]).believes("192.0.2.1"), false);
    });
  });
});
