import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { access } from "./access.ts";
import { endpointsOf, type Method, type Served, serve } from "./endpoint.ts";
import { out } from "./output.ts";
import { wire } from "./wire.ts";
import { namedValues, Router } from "./router.ts";

const endpoint = endpointsOf<null>();

function declared(method: Method, path: string): Served {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "");
  const input = Object.fromEntries(names.map((name) => [name, wire.path(name).string("a part")]));
  const declaration = endpoint({
    name: `${method} ${path}`,
    method,
    path,
    summary: "for a test",
    access: access.open,
    belongs: "local",
    input,
    output: out.nothing,
    handler: () => undefined,
  });
  const [served] = serve(null, [declaration]);
  assert.ok(served);
  return served;
}

function found(router: Router, method: Method, path: string): string | null {
  const route = router.find(path.split("/"));
  const served = route.methods.get(method);
  if (served === undefined) return null;
  return `${served.path} ${JSON.stringify(namedValues(served, route))}`;
}

const router = new Router([
  declared("GET", "/sys/audit"),
  declared("POST", "/sys/audit/:path+"),
  declared("GET", "/sys/policies/acl/:name+"),
  declared("LIST", "/sys/policies/acl"),
  declared("GET", "/sys/rate/:name"),
  declared("GET", "/sys/rate/config"),
  declared("GET", "/sys/rate/:name/deep"),
]);

const TABLE: readonly [Method, string, string | null][] = [
  ["GET", "sys/audit", "/sys/audit {}"],
  ["POST", "sys/audit", null],
  ["POST", "sys/audit/file", '/sys/audit/:path+ {"path":"file"}'],
  ["POST", "sys/audit/file/two", '/sys/audit/:path+ {"path":"file/two"}'],
  ["LIST", "sys/policies/acl", "/sys/policies/acl {}"],
  ["GET", "sys/policies/acl/a/b", '/sys/policies/acl/:name+ {"name":"a/b"}'],
  ["GET", "sys/rate/config", "/sys/rate/config {}"],
  ["GET", "sys/rate/configs", '/sys/rate/:name {"name":"configs"}'],
  ["GET", "sys/rate/config/deep", '/sys/rate/:name/deep {"name":"config"}'],
  ["GET", "sys/rate/a/b", null],
  ["GET", "sys", null],
  ["GET", "nothing", null],
];

for (const [method, path, expected] of TABLE) {
  test(`${method} ${path} finds ${expected ?? "nothing"}`, () => {
    assert.equal(found(router, method, path), expected);
  });
}

test("two declarations of the same method and path are a mistake found at start", () => {
  const twice = [declared("GET", "/a/:x"), declared("GET", "/a/:y")];
  assert.throws(() => new Router(twice), /two declarations of GET/);
});

test("names of object members are not routes", () => {
  for (const name of ["__proto__", "constructor", "toString"]) {
    assert.equal(found(router, "GET", name), null);
    assert.equal(found(router, "GET", `sys/rate/${name}`), `/sys/rate/:name {"name":"${name}"}`);
  }
});

test("every declared path finds itself, whatever stands in its parameters", () => {
  const segment = fc.stringMatching(/^[a-z]{1,8}$/);
  fc.assert(
    fc.property(
      fc.constantFrom(...router.endpoints),
      fc.array(segment, { minLength: 8 }),
      (e, words) => {
        let at = 0;
        const path = e.path
          .slice(1)
          .split("/")
          .map((part) => (part.startsWith(":") ? `x${words[at++]}` : part))
          .join("/");
        assert.equal(router.find(path.split("/")).methods.get(e.method), e);
      },
    ),
  );
});

test("the top of a mount is found by no segment at all", () => {
  const mounted = new Router([declared("LIST", "/"), declared("GET", "/:path+")]);
  assert.equal(mounted.find([]).methods.get("LIST")?.path, "/");
  assert.equal(mounted.find([]).methods.get("GET"), undefined);
  assert.equal(mounted.find(["a"]).methods.get("GET")?.path, "/:path+");
});

test("words may follow a parameter that takes the rest; the most words win", () => {
  const mounts = new Router([
    declared("GET", "/sys/mounts/:path+"),
    declared("GET", "/sys/mounts/:path+/tune"),
    declared("GET", "/sys/mounts/auth/:path+/tune"),
  ]);
  const at = (path: string) => {
    const route = mounts.find(path.split("/"));
    return [route.methods.get("GET")?.path, ...route.values];
  };
  assert.deepEqual(at("sys/mounts/a/b"), ["/sys/mounts/:path+", "a/b"]);
  assert.deepEqual(at("sys/mounts/a/b/tune"), ["/sys/mounts/:path+/tune", "a/b"]);
  assert.deepEqual(at("sys/mounts/tune"), ["/sys/mounts/:path+", "tune"]);
  assert.deepEqual(at("sys/mounts/tune/tune"), ["/sys/mounts/:path+/tune", "tune"]);
  assert.deepEqual(at("sys/mounts/auth/x/tune"), ["/sys/mounts/auth/:path+/tune", "x"]);
  assert.deepEqual(at("sys/mounts/auth/x"), ["/sys/mounts/:path+", "auth/x"]);
});
