import assert from "node:assert/strict";
import test from "node:test";
import { compareParsers, fuzzHttp } from "./fuzz-http.ts";

const say = () => {};

test("T-N08: 2,000 mutated raw requests end in answers below 500, and the server lives", async () => {
  const { ok, figure, detail } = await fuzzHttp({ count: 2_000, seed: 20_261_115, say });
  assert.ok(ok, `${figure}\n${detail}`);
  assert.match(figure, /200: \d{3,}.*400: \d{4,}/, "good ones among bad ones");
});

test("T-N05: whatever gets through here, a plain server of Node would have taken too", async () => {
  const { ok, figure, detail } = await compareParsers({ count: 2_000, seed: 7, say });
  assert.ok(ok, `${figure}\n${detail}`);
  assert.match(figure, /: \d{2,} accepted by both/);
});
