// What is signed of a drill: which snapshot, what was found, and that in a sentence.

import type { JsonObject } from "@holdfast/shared/json/json";
import { showTime } from "@holdfast/shared/text/time";
import type { Instant } from "@holdfast/shared/world";
import type { ReportInput } from "../../signed/report.ts";
import type { DrillEnd } from "./drill-book.ts";
import { showPlan } from "./drill-plan.ts";
import type { SnapshotConfig } from "../auto/config.ts";

/** A report of its kind, as evidence takes it. */
export interface DrillReport {
  readonly period: { readonly from: Instant; readonly to: Instant };
  readonly subject: JsonObject;
  readonly result: JsonObject & { readonly state: string };
  readonly inputs: readonly ReportInput[];
  readonly statement: string;
}

export function drillReport(
  name: string,
  { drill, settings }: Pick<SnapshotConfig, "drill" | "settings">,
  { start, end, outcome }: DrillEnd,
): DrillReport {
  const { result, url, size, archive, trees, problems } = outcome;
  const { storageType } = settings;
  const which = archive === null ? url : `${url} of ${archive.created}`;
  return {
    period: { from: start, to: end },
    subject: {
      configuration: name,
      drill: showPlan(drill),
      storage_type: storageType,
      url,
      size,
      snapshot: archive === null ? null : archive.id,
      index: archive === null ? null : archive.index,
      created: archive === null ? null : archive.created,
    },
    result: {
      state: result,
      problems,
      entries: archive === null ? null : archive.entries,
      opened: archive === null ? null : archive.opened,
      data_keys: archive === null ? null : archive.dataKeys,
      trees: trees === null ? null : { shared: trees.shared, local: trees.local },
    },
    inputs: archive === null ? [] : [{ name: "snapshot", digest: archive.sha256 }],
    statement:
      result === "proven" && archive !== null
        ? `On ${showTime(end)} the snapshot ${which} was read back whole: all ${archive.opened} sealed entries ` +
          "opened, and its sums, trees, index and counts were those that were written."
        : `On ${showTime(end)} a drill of ${url === "" ? `the configuration ${name}` : which} failed: ` +
          `${problems.join("; ")}.`,
  };
}
