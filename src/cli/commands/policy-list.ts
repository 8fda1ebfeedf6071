// `holdfast policy list`

import { isObject, type JsonValue } from "@holdfast/shared/json/json";
import type { Instant } from "@holdfast/shared/world";
import { ApiError } from "@holdfast/client/api-error";
import type { Answer } from "@holdfast/client/client";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { KIND_FLAG, nounOf, POLICY_CALLS, type PolicyKind } from "../policy-kinds.ts";
import { shortTime } from "../relative-time.ts";
import type { View } from "../terminal/output.ts";
import { memberOf } from "../terminal/value.ts";

export const policyList = command({
  name: "policy list",
  summary: "List policies of one kind",
  description:
    "Those of the present namespace. EGPs are listed with the paths that they govern. Names may hold " +
    "slashes: with PREFIX only what lies in that folder is listed, folders in it with a slash.",
  examples: [
    "holdfast policy list",
    "holdfast policy list team/",
    "holdfast policy list -type egp -wide",
    "holdfast policy list -namespace team -format json",
  ],
  flags: {
    ...KIND_FLAG,
    wide: flag.switch("More columns: level, version, last change"),
  },
  args: { prefix: argument.optional("Only names below this folder") },
  async run({ client, out, clock }, { type, wide, prefix = "" }) {
    const folder = /^\/*$/.test(prefix) ? "" : prefix;
    const { list, listDetailed } = POLICY_CALLS[type];
    const data = await listing((wide ? listDetailed : list)(client, folder));
    const names = data === null ? [] : data.keys;
    if (names.length === 0) out.hint(`No ${nounOf(type)} found.`);
    if (names.length === 0 && out.forPeople) return 3;
    const view = wide ? wideView(type, names, data ?? {}, clock.now()) : viewOf(names, data ?? {});
    await out.show(wide ? (data ?? {}) : names, view, data ?? {});
    return names.length === 0 ? 3 : 0;
  },
});

/** Null for an empty list. */
async function listing<T>(asked: Promise<Answer<T>>): Promise<T | null> {
  try {
    return (await asked).data;
  } catch (error) {
    // The API answers an empty list as "not found" and gives no text with it.
    if (error instanceof ApiError && error.status === 404 && error.errors.length === 0) return null;
    throw error;
  }
}

function viewOf(names: readonly string[], data: JsonValue | undefined): View {
  const paths = memberOf(data, "name_path_map");
  if (!isObject(paths)) return { columns: ["Name"], rows: names.map((name) => [name]) };
  const rows = names.map((name) => [name, pathsText(paths[name])]);
  return { columns: ["Name", "Paths"], rows, whole: ["Name"] };
}

function wideView(
  kind: PolicyKind,
  names: readonly string[],
  data: JsonValue | undefined,
  now: Instant,
): View {
  const rows = names.map((name) => {
    const found = isObject(data) && isObject(data["key_info"]) ? data["key_info"][name] : undefined;
    const { enforcement_level, paths, version, modified } = isObject(found) ? found : {};
    const level = kind === "acl" ? [] : [enforcement_level];
    const guarded = kind === "egp" ? [Array.isArray(paths) ? paths.join(", ") : ""] : [];
    return [name, ...level, ...guarded, version, shortTime(modified, now)];
  });
  const level = kind === "acl" ? [] : ["Level"];
  const guarded = kind === "egp" ? ["Paths"] : [];
  return { columns: ["Name", ...level, ...guarded, "Version", "Changed"], rows, whole: ["Name"] };
}

/** As they were written: the API cuts the star off and says so beside the path. */
function pathsText(entries: JsonValue | undefined): string {
  const texts = (Array.isArray(entries) ? entries : []).filter(isObject).map(({ path, glob }) => {
    return `${typeof path === "string" ? path : ""}${glob === true ? "*" : ""}`;
  });
  return texts.join(", ");
}
