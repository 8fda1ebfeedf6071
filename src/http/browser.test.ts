import assert from "node:assert/strict";
import test, { afterEach, describe } from "node:test";
import {
  errorsOf,
  get,
  dataOf,
  makeFront,
  post,
  request,
  type Front,
  type RawAnswer,
} from "../../tests/support/http-front.ts";
import type { BrowserRules } from "./options.ts";
import { isOwnOrigin } from "./request/host-rule.ts";

describe("what browsers see", () => {
  let front: Front;
  afterEach(() => front.close());

  async function once(bytes: string): Promise<RawAnswer> {
    const client = await front.client();
    const answer = await client.ask(bytes);
    client.destroy();
    return answer;
  }

  const withHost = (host: string) => `GET /v1/sys/a HTTP/1.1\r\nHost: ${host}\r\n\r\n`;

  describe("T-M08: the host that a request names", () => {
    const status = async (host: string) => (await once(withHost(host))).status;

    test("T-M08: a loopback listener answers to its own names, under any port, and to no other", async () => {
      front = await makeFront({}, { apiAddress: "https://vault.example:8200" });
      for (const host of [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1",
        "127.0.0.1:8200",
        "[::1]:8200",
        "vault.example",
      ]) {
        assert.equal(await status(host), 200, host);
      }
      for (const host of [
        "evil.example",
        "evil.example:8200",
        "localhost.evil.example",
        "127.0.0.2",
        "localhost.",
      ]) {
        const answer = await once(withHost(host));
        assert.equal(answer.status, 421, host);
        assert.equal(answer.headers.get("x-service-error"), "host_unknown");
      }
      assert.equal(front.seen.length, 6);
    });

    test("T-M08: what is no host at all is 400", async () => {
      front = await makeFront();
      for (const host of [
        "",
        "a b",
        "a/b",
        "user@localhost",
        "localhost:x",
        "[::1",
        "a,b",
        "\xe4",
      ]) {
        assert.equal(await status(host), 400, host);
      }
    });

    test("T-M08: elsewhere the rule holds where hosts are listed, with their port if one is named", async () => {
      front = await makeFront({ host: "0.0.0.0" });
      assert.equal(await status("anything.example"), 200);
      await front.close();
      front = await makeFront({
        host: "0.0.0.0",
        allowedHosts: ["vault.example", "other.example:8200"],
      });
      assert.equal(await status("vault.example:99"), 200);
      assert.equal(await status("other.example:8200"), 200);
      assert.equal(await status("other.example:8201"), 421);
      assert.equal(await status("anything.example"), 421);
    });

    test("an entry that is no host is refused with the configuration", async () => {
      front = await makeFront();
      await assert.rejects(makeFront({ allowedHosts: ["https://vault.example"] }), /allowed_hosts/);
    });
  });

  describe("T-M09: pages of other origins", () => {
    const rules: BrowserRules = {
      allows: (origin) => origin === "https://app.example",
      corsHeaders: (origin, preflight) => ({
        "Access-Control-Allow-Origin": origin,
        Vary: "Origin",
        ...(preflight && { "Access-Control-Allow-Methods": "GET, LIST" }),
      }),
      consoleHeaders: () => ({}),
    };
    const cors = ({ headers }: RawAnswer) =>
      [...headers.keys()].filter((name) => name.startsWith("access-control"));

    test("T-M09: an origin that is not allowed is 403, without a CORS header, for reads and writes", async () => {
      front = await makeFront({}, { browser: rules });
      for (const origin of [
        "https://evil.example",
        "null",
        "https://app.example.evil.example",
        "https://app.example:444",
        "http://app.example",
        "*",
        "",
      ]) {
        for (const bytes of [
          get("/v1/sys/a", `Origin: ${origin}`),
          post("/v1/sys/a", "{}", `Origin: ${origin}`),
          request(
            "OPTIONS",
            "/v1/sys/a",
            `Origin: ${origin}`,
            "Access-Control-Request-Method: PUT",
          ),
          get("/ui/", `Origin: ${origin}`),
        ]) {
          const answer = await once(bytes);
          assert.deepEqual([answer.status, cors(answer)], [403, []], origin);
          assert.equal(answer.headers.get("x-service-error"), "origin_not_allowed");
        }
      }
      assert.equal(front.seen.length, 0);
    });

    test("an origin that is allowed is answered, refusals included", async () => {
      front = await makeFront({}, { browser: rules });
      const origin = "Origin: https://app.example";
      for (const [bytes, status] of [
        [get("/v1/sys/a", origin), 200],
        [get("/nowhere", origin), 404],
        [get("/v1/sys/a", origin, "Expect: x"), 400],
      ] as const) {
        const answer = await once(bytes);
        assert.equal(answer.status, status);
        assert.equal(answer.headers.get("access-control-allow-origin"), "https://app.example");
      }
    });

    test("a preflight is answered for an allowed origin, and reaches nobody", async () => {
      front = await makeFront({}, { browser: rules });
      const origin = "Origin: https://app.example";
      const answer = await once(
        request("OPTIONS", "/v1/sys/a", origin, "Access-Control-Request-Method: LIST"),
      );
      assert.equal(answer.status, 204);
      assert.equal(answer.headers.get("access-control-allow-methods"), "GET, LIST");
      assert.equal((await once(request("OPTIONS", "/v1/sys/a", origin))).status, 405);
      assert.equal((await once(request("OPTIONS", "/v1/sys/a"))).status, 405);
      const all = await once(request("OPTIONS", "*"));
      assert.deepEqual([all.status, all.headers.get("allow")], [405, "GET, HEAD"]);
      assert.equal(front.seen.length, 0);
    });

    test("our own pages need no permission", async () => {
      front = await makeFront();
      const host = `localhost:${front.port}`;
      const ask = (origin: string) =>
        once(`GET /v1/sys/a HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\n\r\n`);
      assert.equal((await ask(`http://${host}`)).status, 200);
      assert.equal((await ask(`https://${host}`)).status, 200, "a proxy may have ended TLS");
      assert.equal((await ask("http://localhost:1")).status, 403);
      assert.equal(isOwnOrigin("http://a", "a", true), false);
      assert.equal(isOwnOrigin("https://a", "a", true), true);
    });
  });

  describe("targets", () => {
    test("the API is under /v1/, sys and acl also without it, and the rest of the target is passed on untouched", async () => {
      front = await makeFront();
      for (const [target, passed] of [
        ["/v1/sys/health?standbyok=true", "/sys/health?standbyok=true"],
        ["/sys/health", "/sys/health"],
        ["/acl/tokens?prefix=%7E", "/acl/tokens?prefix=%7E"],
        ["/v1/secret/a%2Fb/../c//d?x=/y", "/secret/a%2Fb/../c//d?x=/y"],
        ["/v1/", "/"],
        ["/v1/v1/sys/a", "/v1/sys/a"],
      ] as const) {
        assert.equal((await once(get(target))).status, 200);
        assert.equal(front.seen.at(-1)?.target, passed);
      }
    });

    test("anything else is 404, in JSON", async () => {
      front = await makeFront();
      for (const target of [
        "/v1",
        "/v1?x",
        "/sys",
        "/v2/sys/a",
        "/secret/a",
        "/V1/sys/a",
        "/index.html",
        "/ui/../v1/x",
        "/ui/none.js",
      ]) {
        const answer = await once(get(target));
        assert.ok(answer.status === 404 || answer.status === 400, target);
        assert.equal(errorsOf(answer).length, 1);
      }
      assert.equal(front.seen.length, 0);
    });

    test("T-A02: a needless escape in front of the API's name is 400, like one behind it", async () => {
      front = await makeFront();
      for (const target of [
        "/%61cl/tokens",
        "/%73ys/health",
        "/%76%31/sys/a",
        "/v1%2Fsys/a",
        "/%00",
        "/%u002e",
        "/%c0%af",
      ]) {
        assert.equal((await once(get(target))).status, 400, target);
      }
    });

    test("a target is a path, or a whole address of this server: no authority, no asterisk", async () => {
      front = await makeFront();
      for (const whole of ["http://localhost/v1/sys/a?b=c", "HTTPS://localhost/v1/sys/a?b=c"]) {
        assert.equal(dataOf(await once(get(whole))).target, "/sys/a?b=c");
      }
      for (const foreign of ["http://evil.example/v1/sys/a", "http://a@localhost/v1/sys/a"]) {
        assert.notEqual((await once(get(foreign))).status, 200, foreign);
      }
      assert.equal((await once(get("http://localhost//v1/sys/a"))).status, 400);
      assert.equal(front.seen.length, 2);
      front.seen.length = 0;
      for (const target of ["localhost:80", "*", "v1/sys/a", "?x", "ftp://localhost/v1/sys/a"]) {
        assert.equal((await once(get(target))).status, 400, target);
      }
      assert.equal((await once(get("//localhost/v1/sys/a"))).status, 400);
      assert.equal(front.seen.length, 0);
    });
  });

  describe("the console", () => {
    const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'";
    const browser: BrowserRules = {
      allows: () => false,
      corsHeaders: () => ({}),
      consoleHeaders: () => ({
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
      }),
    };

    test("/ and /ui lead to /ui/, which is a page with its own headers", async () => {
      front = await makeFront({}, { browser });
      for (const target of ["/", "/ui", "/?x=1"]) {
        const answer = await once(get(target));
        assert.deepEqual([answer.status, answer.headers.get("location")], [307, "/ui/"]);
      }
      const page = await once(get("/ui/"));
      assert.equal(page.status, 200);
      assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
      assert.equal(page.headers.get("content-security-policy"), policy);
      assert.equal(page.headers.get("x-content-type-options"), "nosniff", "once");
      assert.equal(page.headers.get("cache-control"), "no-store");
      const api = await once(get("/v1/sys/a"));
      assert.equal(api.headers.get("content-security-policy"), undefined);
    });

    test("the page keeps to its policy: nothing inline, nothing from elsewhere, and its files are there", async () => {
      front = await makeFront({}, { browser });
      const { body } = await once(get("/ui/"));
      assert.ok(!/<script(?![^>]* src=)|<style|style=|\son[a-z]+=|https?:\/\//.test(body));
      const linked = Array.from(
        body.matchAll(/(?:src|href)="([^"]+)"/g),
        (match) => match[1] ?? "",
      );
      assert.deepEqual(linked, ["/ui/style.css", "/ui/page.js"]);
      for (const file of linked) {
        const answer = await once(get(file));
        assert.equal(answer.status, 200);
        assert.ok(!/innerHTML|eval\(|https?:\/\//.test(answer.body));
      }
      const script = await once(get("/ui/page.js"));
      const requests = Array.from(script.body.matchAll(/ask\("([^"]+)"\)/g), (match) => match[1]);
      assert.deepEqual(requests, ["/v1/sys/health", "/v1/sys/seal-status"]);
    });

    test("it is read only, and gone when it is switched off or the listener is for metrics", async () => {
      front = await makeFront();
      assert.equal((await once(post("/ui/", "{}"))).status, 405);
      await front.close();
      for (const [settings, options] of [
        [{}, { ui: false }],
        [{ metricsOnly: true }, {}],
      ] as const) {
        front = await makeFront(settings, options);
        assert.equal((await once(get("/ui/"))).status, 404);
        assert.equal((await once(get("/"))).status, 404);
        if ("metricsOnly" in settings) continue;
        await front.close();
      }
    });
  });
});
