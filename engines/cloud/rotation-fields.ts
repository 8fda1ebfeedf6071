// The fields by which something is rotated by itself, as requests and answers have them.

import { out } from "@holdfast/shared/endpoint/output";
import * as fields from "./fields.ts";
import { type RootTerms, type RotationStanding, showNext } from "./rotation-terms.ts";

const MAX_SCHEDULE = 256;

export const scheduleFields = {
  rotationSchedule: fields
    .text(
      "rotation_schedule",
      'When it is rotated: five fields of cron, in UTC, such as "0 3 * * SUN". Excludes rotation_period.',
      "body",
      MAX_SCHEDULE,
    )
    .optional(),
  rotationWindow: fields
    .seconds(
      "rotation_window",
      "How long after a time of rotation_schedule it may still be done, at least an hour; 0: until the next.",
    )
    .optional(),
};

export const rootRotationFields = {
  rotationPeriod: fields
    .seconds("rotation_period", "How often rotate-root is done by itself; 0: never.")
    .optional(),
  ...scheduleFields,
  disableAutomatedRotation: fields
    .toggle("disable_automated_rotation", "Whether it is not rotated by itself for now.")
    .optional(),
};

export const scheduleOutput = {
  rotation_schedule: out.string("Fields of cron, in UTC; empty: there is none."),
  rotation_window: out.integer("Seconds after a time of the schedule; 0: until the next."),
};

export const rootRotationOutput = {
  rotation_period: out.integer("Seconds between two rotations; 0: there is no period."),
  ...scheduleOutput,
  disable_automated_rotation: out.boolean("Whether it is not rotated by itself."),
  next_rotation: out.nullable(
    out.time("When it is rotated by itself, or that is tried again; null: never."),
  ),
  rotation_error: out.string("Why the last rotation by itself failed; empty: it did not."),
};

export function showRotation(terms: RootTerms, standing: RotationStanding) {
  return {
    rotation_period: terms.rotationPeriod,
    rotation_schedule: terms.rotationSchedule,
    rotation_window: terms.rotationWindow,
    disable_automated_rotation: terms.disableAutomatedRotation,
    next_rotation: showNext(standing),
    rotation_error: standing.error,
  };
}
