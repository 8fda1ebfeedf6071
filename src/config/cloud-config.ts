// What settings say of clouds: the engines that are mounted by themselves, names of things made
// outside, and other endpoints than the provider's own.

import { baseUrl, isLoopback } from "./address.ts";
import type { CloudConfig } from "./config.ts";
import type { Making } from "./build.ts";
import type { Settled } from "./schema.ts";
import type { SETTINGS } from "./settings.ts";

type Top = Settled<typeof SETTINGS>;

const MOUNTED = ["clouda", "cloudb"];
// Part of names of users, applications and passwords: what every one of them accepts.
const PREFIX = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,19}$/;

export function cloudsOf(top: Top, making: Making): CloudConfig {
  const { default_mounts: mounts, cloud_name_prefix: namePrefix } = top.values;
  const complain = (key: "default_mounts" | "cloud_name_prefix", text: string) =>
    making.problems.push({ place: top.place(key) ?? making.whole, text: `"${key}": ${text}` });
  if (!mounts.every((one) => MOUNTED.includes(one))) {
    complain("default_mounts", `expected a list of ${MOUNTED.join(", ")}; it may be empty`);
  }
  if (!PREFIX.test(namePrefix)) {
    complain(
      "cloud_name_prefix",
      "expected 1 to 20 letters, digits, dots, dashes and underscores, a letter or digit first",
    );
  }
  const defaultMounts = [...new Set(mounts)];
  return { defaultMounts, namePrefix, cloudbEndpoints: endpointsOf(top, making) };
}

/** All three or none: with one left out, secrets would go partly here and partly there. */
function endpointsOf(top: Top, making: Making): CloudConfig["cloudbEndpoints"] {
  const section = top.values.cloudb_endpoints;
  const { authority, graph, arm } = section.values;
  const urls = { authority, graph, arm };
  const keys = ["authority", "graph", "arm"] as const;
  const first = keys.find((key) => urls[key] !== null);
  if (first === undefined) return null;
  const complain = (key: (typeof keys)[number], text: string) => {
    const place = section.place(key) ?? section.place(first) ?? making.whole;
    making.problems.push({ place, text: `"cloudb_endpoints": ${key} ${text}` });
    return "";
  };
  const read = (key: (typeof keys)[number]): string => {
    const text = urls[key];
    if (text === null) return complain(key, `is missing; give all of ${keys.join(", ")}, or none`);
    return endpointUrl(text) ?? complain(key, EXPECTED);
  };
  return { authority: read("authority"), graph: read("graph"), arm: read("arm") };
}

const EXPECTED = "is not an address such as https://host, with http for loopback only";

/** https://host[:port][/path], without a slash at its end. */
function endpointUrl(text: string): string | null {
  const [, origin = "", path = ""] =
    /^([a-z]+:\/\/[^/?#@\s]+)((?:\/[\w.~-]+)*)\/?$/.exec(text) ?? [];
  const base = baseUrl(origin);
  if (base === null || path.split("/").some((part) => part === "." || part === "..")) return null;
  const plain = base.startsWith("http:");
  const host = new URL(base).hostname.replace(/^\[|\]$/g, "");
  return plain && !isLoopback(host) ? null : base + path;
}
