// When the other side counts as gone: a secondary for its primary, and a primary for its secondary.

import { SECOND } from "@holdfast/shared/text/duration";
import type { Nanos } from "@holdfast/shared/world";

/** After so long without a word. */
export const SILENCE: Nanos = 15n * SECOND;
